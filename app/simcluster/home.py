"""The data folder: lock, token, port, certificate and kubeconfig, all kept over restarts."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from app.simcluster.certificate import make_certificate

_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters:
- name: simcluster
  cluster:
    server: {url}
    certificate-authority-data: {authority}
users:
- name: simcluster
  user:
    token: {token}
contexts:
- name: simcluster
  context:
    cluster: simcluster
    user: simcluster
    namespace: default
current-context: simcluster
"""


class LockedError(Exception):
    """Another simulated cluster works on this data folder."""


@dataclass(slots=True)
class Home:
    folder: Path
    token: str
    port: int  # the one used last; 0 the first time
    _lock: TextIO

    @classmethod
    def open(cls, folder: Path) -> Home:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (folder / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise LockedError(f"{folder} is in use by another simulated cluster") from None
        path = folder / "identity.json"
        known = json.loads(path.read_text()) if path.exists() else {}
        home = cls(folder, known.get("token") or secrets.token_urlsafe(32), known.get("port", 0), lock)
        home._save()
        home._certify()
        return home

    @property
    def state(self) -> Path:
        path = self.folder / "state"
        path.mkdir(mode=0o700, exist_ok=True)
        return path

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def server_pem(self) -> Path:
        return self.folder / "server.pem"

    @property
    def ca_pem(self) -> Path:
        return self.folder / "ca.pem"

    def serves_at(self, url: str, port: int) -> None:
        self.port = port
        self._save()
        authority = base64.b64encode(self.ca_pem.read_bytes()).decode()
        text = _KUBECONFIG.format(url=url, authority=authority, token=json.dumps(self.token))
        write_private(self.kubeconfig, text)

    def close(self) -> None:
        self._lock.close()

    def _certify(self) -> None:
        if self.server_pem.exists() and self.ca_pem.exists():
            return
        self.server_pem.unlink(missing_ok=True)  # and written last: where both are, they belong together
        made = make_certificate(datetime.now(UTC))
        write_private(self.ca_pem, made.authority)
        write_private(self.server_pem, made.server)

    def _save(self) -> None:
        write_private(self.folder / "identity.json", json.dumps({"token": self.token, "port": self.port}))


def write_private(path: Path, text: str) -> None:
    """Whole or not at all, and for the owner's eyes only."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    draft.replace(path)
