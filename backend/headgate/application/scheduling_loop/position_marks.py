"""Answers that name the position of the append they are recorded in, before it is known.

An idempotency key's answer is written down in the same transaction as its events, so it leaves the
position open with a byte that JSON never contains, and whoever sends it fills the position in.
"""

import msgspec

MARK = b"\x1e"
OPEN_POSITION = msgspec.Raw(MARK)
"""Stands for the position as a number."""
OPEN_RESOURCE_VERSION = msgspec.Raw(b'"' + MARK + b'"')
"""Stands for the position as a string."""


def filled(body: bytes, position: int) -> bytes:
    """The answer with its position."""
    return body.replace(MARK, b"%d" % position)
