"""The port for folds that are kept, and the parts they share."""

from collections.abc import Mapping
from typing import Protocol

Parts = Mapping[str, bytes | None]
"""Parts of a fold by name; None for one that is there already."""
NO_PARTS: Parts = {}


class StateCache(Protocol):
    """Folds kept at a position so that starting is fast; always safe to delete."""

    def newest(
        self, name: str, fold_version: str, *, at_most: int | None = None
    ) -> tuple[int, bytes] | None:
        """The latest cached fold not past `at_most`, with its position."""

    def put(
        self, name: str, fold_version: str, position: int, body: bytes, parts: Parts = NO_PARTS
    ) -> bool:
        """Keep a fold and its parts; false, and nothing is kept, if one is not given nor there."""

    def part(self, name: str) -> bytes | None:
        """A part of some fold that is kept."""
