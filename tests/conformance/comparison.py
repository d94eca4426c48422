"""Wanted beside got: only where they differ, and short."""

import json
from collections.abc import Iterator
from typing import Any

MAX_LENGTH = 160


def differences(place: str, wanted: Any, got: Any) -> Iterator[str]:
    """Where two values differ, by their place; nothing for equal ones."""
    if wanted == got:
        return
    if isinstance(wanted, dict) and isinstance(got, dict):
        for key in sorted({*wanted, *got}, key=str):
            yield from differences(f"{place}.{key}", wanted.get(key), got.get(key))
    else:
        yield f"{place}: wanted {_short(wanted)}, got {_short(got)}"


def _short(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}…"
