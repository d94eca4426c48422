"""JSON pointers (RFC 6901) into objects as their callers wrote them.

Rules name the place of everything they look at, and most objects have the same places: what was
put together once is kept.
"""

from functools import lru_cache


@lru_cache(maxsize=16_384)
def child(pointer: str, *steps: str | int) -> str:
    """The pointer to what lies `steps` below `pointer`."""
    return pointer + "".join(f"/{_escaped(str(step))}" for step in steps)


def lies_within(pointer: str, outer: str) -> bool:
    """Whether `pointer` is `outer` or lies below it."""
    return pointer == outer or pointer.startswith(f"{outer}/")


def moved(pointer: str, places: tuple[tuple[str, str], ...]) -> str:
    """`pointer` after the first of `places` (from, to) that it lies within has moved it."""
    for source, target in places:
        if lies_within(pointer, source):
            return target + pointer[len(source) :]
    return pointer


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")
