"""Which code folds: a digest of the sources that turn events into states."""

import hashlib
from functools import cache
from pathlib import Path

FOLDING = ("domain", "event_log")
PACKAGE = Path(__file__).parents[2]


@cache
def fold_version() -> str:
    """Changes with every change of the folding code, so that no cache of other code is read."""
    digest = hashlib.sha256()
    for folder in FOLDING:
        for source in sorted((PACKAGE / folder).rglob("*.py")):
            digest.update(str(source.relative_to(PACKAGE)).encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
