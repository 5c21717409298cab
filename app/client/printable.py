"""Text that others wrote, made safe for a terminal: what would move the cursor or hide text is spelled out."""

from __future__ import annotations

import json
import re
from typing import Any

# C0 and C1 controls, line and paragraph separators, and what turns the direction of writing around.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# In a log, lines, tabs, progress bars and colours are what the program meant.
_UNSAFE_IN_LOG = re.compile("(\x1b\\[[0-9;:]*m)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_CUT_COLOUR = re.compile("\x1b(?:\\[[0-9;:]{0,40})?\\Z")


def _spelled(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()


def printable(text: str) -> str:
    """One line in which every character is to be seen."""
    return _UNSAFE.sub(lambda found: _spelled(found[0]), text)


def as_json(value: Any) -> str:
    """Indented JSON with letters of all languages as they are."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return "\n".join(_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in text.split("\n"))


class TerminalLog:
    """Makes a log safe piece by piece; a colour that a piece was cut in waits for the next one."""

    def __init__(self) -> None:
        self._held = ""

    def pass_on(self, text: str) -> str:
        text = self._held + text
        cut = _CUT_COLOUR.search(text)
        self._held = cut[0] if cut else ""
        return _shown(text.removesuffix(self._held))

    def rest(self) -> str:
        held, self._held = self._held, ""
        return _shown(held)


def _shown(text: str) -> str:
    return _UNSAFE_IN_LOG.sub(lambda found: found[1] or _spelled(found[0]), text)
