"""Cached folds in memory."""

from headgate.application.live_state.snapshot_store import NO_PARTS, Parts


class MemoryStateCache:
    """Fills the port `StateCache`."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, int], bytes] = {}
        self._parts: dict[str, bytes] = {}

    def newest(
        self, name: str, fold_version: str, *, at_most: int | None = None
    ) -> tuple[int, bytes] | None:
        """The latest cached fold not past `at_most`, with its position."""
        positions = [
            position
            for known, version, position in self._kept
            if (known, version) == (name, fold_version) and (at_most is None or position <= at_most)
        ]
        if not positions:
            return None
        return max(positions), self._kept[name, fold_version, max(positions)]

    def put(
        self, name: str, fold_version: str, position: int, body: bytes, parts: Parts = NO_PARTS
    ) -> bool:
        """Keep a fold and its parts; false if a part is neither given nor there."""
        if any(given is None and known not in self._parts for known, given in parts.items()):
            return False
        self._parts |= {known: given for known, given in parts.items() if given is not None}
        self._kept[name, fold_version, position] = body
        return True

    def part(self, name: str) -> bytes | None:
        """A part of some fold that is kept."""
        return self._parts.get(name)
