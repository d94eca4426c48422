"""What a check of `doctor` found, and how it is shown."""

from typing import Literal

import msgspec

Level = Literal["ok", "warn", "fail"]


class Finding(msgspec.Struct, frozen=True):
    """One line of the report; `remedy` says what to do where all is not well."""

    level: Level
    name: str
    text: str
    remedy: str = ""


def ok(name: str, text: str) -> Finding:
    """All is well."""
    return Finding("ok", name, text)


def warn(name: str, text: str, remedy: str) -> Finding:
    """It works, but not as it should."""
    return Finding("warn", name, text, remedy)


def fail(name: str, text: str, remedy: str) -> Finding:
    """It does not work."""
    return Finding("fail", name, text, remedy)
