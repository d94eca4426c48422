"""Cached folds in memory."""


class MemoryStateCache:
    """Fills the port `StateCache`."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, int], bytes] = {}

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

    def put(self, name: str, fold_version: str, position: int, body: bytes) -> None:
        """Keep a fold."""
        self._kept[name, fold_version, position] = body
