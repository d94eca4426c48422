"""Text recorded before messages had codes, as the message that stands for it."""

from collections.abc import Callable
from typing import Any

Fields = dict[str, Any]
Step = Callable[[Fields], Fields]


def as_recorded(text: str) -> Fields:
    """Returns the stored message of a sentence that was recorded as text."""
    return {"type": "message", "code": "AsRecorded", "arguments": {"text": text}}
