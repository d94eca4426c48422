"""Sets of small numbers as sorted ranges: a hundred thousand indices in order are one range."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

IndexRanges = tuple[tuple[int, int], ...]
"""Ranges `(first, last)`, both included, in order and with a gap between any two."""

MAX_INDEX_DIGITS = 10
"""Of an index: as many as an int32 of Kubernetes has."""


def ranges_of(indices: Iterable[int]) -> IndexRanges:
    """The ranges of numbers, given in any order and any number of times."""
    found: list[tuple[int, int]] = []
    for index in sorted(set(indices)):
        if found and found[-1][1] == index - 1:
            found[-1] = (found[-1][0], index)
        else:
            found.append((index, index))
    return tuple(found)


def ranges_from_text(text: str) -> IndexRanges | None:
    """The ranges of a text like `0-4,7`; None for any other text."""
    found: list[tuple[int, int]] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        numbers = (first, last) if dash else (first,)
        if not all(_is_index(number) for number in numbers):
            return None
        found.append((int(numbers[0]), int(numbers[-1])))
        if found[-1][0] > found[-1][1]:
            return None
    return joined((), tuple(found))


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= MAX_INDEX_DIGITS


def joined(ranges: IndexRanges, other: IndexRanges) -> IndexRanges:
    """The ranges of the numbers in either."""
    found: list[tuple[int, int]] = []
    for first, last in sorted((*ranges, *other)):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def intersection(ranges: IndexRanges, other: IndexRanges) -> IndexRanges:
    """The ranges of the numbers in both."""
    return ranges_of(index for index in members(ranges) if contains(other, index))


def without(ranges: IndexRanges, indices: Iterable[int]) -> IndexRanges:
    """The ranges of the numbers that are not among `indices`."""
    gone = frozenset(index for index in indices if contains(ranges, index))
    return ranges if not gone else ranges_of(i for i in members(ranges) if i not in gone)


def contains(ranges: IndexRanges, index: int) -> bool:
    """Whether the number is in a range."""
    place = bisect_right(ranges, (index, float("inf")))
    return place > 0 and ranges[place - 1][1] >= index


def absent(ranges: IndexRanges, end: int, begin: int = 0) -> Iterator[int]:
    """The numbers from `begin` and below `end` that are in no range, in order."""
    for first, last in ranges:
        yield from range(begin, min(first, end))
        begin = max(begin, last + 1)
    yield from range(begin, end)


def count_of(ranges: IndexRanges) -> int:
    """How many numbers there are."""
    return sum(last - first + 1 for first, last in ranges)


def count_between(ranges: IndexRanges, begin: int, end: int) -> int:
    """How many of the numbers are at least `begin` and below `end`."""
    return sum(max(0, min(last + 1, end) - max(first, begin)) for first, last in ranges)


def members(ranges: IndexRanges) -> Iterator[int]:
    """The numbers in order."""
    return (index for first, last in ranges for index in range(first, last + 1))


def text_of_ranges(ranges: IndexRanges) -> str:
    """The ranges as people and Kubernetes write them: `0-4,7`."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
