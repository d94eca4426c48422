"""Pages of lists: which rows stand on one, and opaque tokens for where the next one begins."""

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from litestar.params import QueryParameter

from headgate.api.parameters import whole_number
from headgate.api.problems import BAD_CONTINUE, ApiFailure
from headgate.domain.values.instants import Instant

Limit = Annotated[
    int, QueryParameter(name="limit", ge=1, le=1000, description="At most so many items")
]
Continue = Annotated[
    str | None,
    QueryParameter(name="continue", description="The `metadata.continue` of the page before"),
]
Key = TypeVar("Key")
Row = TypeVar("Row")
MAX_ROWS_PER_READ = 500
"""How many rows are read at once where many do not belong into the list."""


async def collect_page(
    read: Callable[[Key, int], Sequence[Row]],
    belongs: Callable[[Row], bool],
    key_of: Callable[[Row], Key],
    start: Key,
    limit: int,
) -> tuple[list[Row], bool]:
    """Up to `limit` of the rows that `belongs` lets into the list, and whether there are more.

    `read` gives so many rows after a place. A list that hardly any row belongs into takes few
    questions however short its pages are.
    """
    found: list[Row] = []
    size = limit + 1
    while True:
        page = await asyncio.to_thread(read, start, size)
        found += filter(belongs, page)
        if len(found) > limit or len(page) < size:
            return found[:limit], len(found) > limit
        start = key_of(page[-1])
        size = max(size, MAX_ROWS_PER_READ)


def continue_token(key: Any, question: str) -> str:  # noqa: ANN401 - any small JSON value
    """A token to go on after `key` in the list that answers `question`."""
    raw = msgspec.json.encode([_mark(question), key])
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def after_token(token: str | None, question: str, kind: type[Key]) -> Key | None:
    """The key a token was made with, if it was made for this question."""
    if not token:
        return None
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        mark, key = msgspec.json.decode(raw, type=tuple[str, kind])  # type: ignore[valid-type]
    except (ValueError, binascii.Error, msgspec.MsgspecError) as failure:
        raise ApiFailure(BAD_CONTINUE, "It cannot be read.") from failure
    if mark != _mark(question):
        raise ApiFailure(BAD_CONTINUE, "It was made for a list with other filters.")
    return key


def start_of(before: str | None) -> tuple[Instant, str] | None:
    """Where a list that is ordered by time goes on, from `instant:id`, the `next` of a page."""
    if before is None:
        return None
    text, _, name = before.partition(":")
    at = whole_number(text)
    if at is None or not name:
        raise ApiFailure(BAD_CONTINUE, "It is the `next` of a page before.")
    return at, name


def _mark(question: str) -> str:
    return hashlib.sha256(question.encode()).hexdigest()[:12]
