"""Environment variables of a submission, from `--env` and `--env-file`, in docker's spelling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def variables(files: Iterable[tuple[str, str]], given: Iterable[str], own: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names and values; `given` wins over files, a later one over an earlier. Raises ValueError.

    `files` are names and contents. `NAME=value` keeps the value as it is, quotes too; `NAME` alone takes it from `own`.
    """
    found: dict[str, str] = {}
    for name, content in files:
        for number, line in enumerate(content.removeprefix("\ufeff").split("\n"), 1):
            text = line.removesuffix("\r")
            if text.strip() and not text.lstrip().startswith("#"):
                found.update([_variable(text.lstrip(), own, f"{name}, line {number}: ")])
    found.update(_variable(text, own, "") for text in given)
    return list(found.items())


def _variable(text: str, own: Mapping[str, str], where: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name.strip():
        msg = f"{where}{text[:80]!r} has no name; write NAME=value"
        raise ValueError(msg)
    if equals:
        return name, value
    if (inherited := own.get(name)) is None:
        msg = f"{where}{name[:80]!r} has no '=', and no variable of that name is set here to take the value from"
        raise ValueError(msg)
    return name, inherited
