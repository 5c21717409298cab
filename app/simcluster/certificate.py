"""The certificate that the simulated cluster is known by. Used by its data folder, once in a folder's life.

An authority signs the server's certificate and its key is then forgotten: whoever trusts the authority trusts this one
server and nothing else. Two certificates rather than a single one that signed itself, because some clients (those on
rustls) refuse a server that shows an authority's certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=3653)
CLOCK_SLACK = timedelta(days=1)  # a clock that is set back must not make it one of the future
NAMES, ADDRESSES = ("localhost",), ("127.0.0.1", "::1")

_NO_USE = dict.fromkeys(
    (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    ),
    False,
)


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """Their PEM texts."""

    server: str  # a secret: the private key, and its certificate
    authority: str  # what a client verifies the server with


def make_certificate(now: datetime) -> CertificateFiles:
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = _authority(root_key, now)
    certificate = _server(key.public_key(), root, root_key, now)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return CertificateFiles(secret.decode() + _pem(certificate), _pem(root))


def _authority(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    name = _named("simcluster authority")
    return (
        _begun(name, name, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**{**_NO_USE, "key_cert_sign": True}), critical=True)
        .sign(key, hashes.SHA256())
    )


def _server(
    key: ec.EllipticCurvePublicKey, root: x509.Certificate, root_key: ec.EllipticCurvePrivateKey, now: datetime
) -> x509.Certificate:
    subjects = [*map(x509.DNSName, NAMES), *(x509.IPAddress(ip_address(address)) for address in ADDRESSES)]
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key())
    return (
        _begun(_named("simcluster"), root.subject, key, now)
        .add_extension(issuer, critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**{**_NO_USE, "digital_signature": True}), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(subjects), critical=False)
        .sign(root_key, hashes.SHA256())
    )


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    """What both certificates have in common."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SLACK)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
