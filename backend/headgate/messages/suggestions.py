"""The known name that a mistyped one is nearest to."""

from collections.abc import Collection

from rapidfuzz import fuzz, process

MAX_LENGTH = 316
"""Longer texts are not compared: no name is longer (`MAX_LEVEL_KEY_LENGTH`)."""
MIN_LIKENESS = 60
"""In per cent of the characters of both names that stand in both in the same order."""


def nearest(name: str, known: Collection[str], min_likeness: int = MIN_LIKENESS) -> str | None:
    """The first of the known names that are most like `name`; None where none is like it.

    Time grows with the number of known names times the length of `name`, a machine word of
    characters at a time, whatever the names are: texts of hostile requests come here.
    """
    if len(name) > MAX_LENGTH:
        return None
    found = process.extractOne(name, known, scorer=fuzz.ratio, score_cutoff=min_likeness)
    return found[0] if found else None
