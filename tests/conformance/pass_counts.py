"""The number of cases that pass, per file, as it was written down: it may grow, never shrink."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.conformance.verdicts import Verdict

PASSING = Path(__file__).parent / "passing.json"


def recorded() -> dict[str, int]:
    """How many cases of each file passed when it was last written down."""
    found: dict[str, int] = json.loads(PASSING.read_text(encoding="utf-8"))
    return found


def passing(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """How many cases of each file pass now."""
    found = Counter(verdict.file for verdict in verdicts if verdict.outcome == "passed")
    return dict(sorted(found.items()))


def record(verdicts: Iterable[Verdict]) -> None:
    """Write down what passes now, leaving files that were not looked at."""
    known = recorded() if PASSING.exists() else {}
    merged = {**known, **passing(verdicts)}
    PASSING.write_text(json.dumps(dict(sorted(merged.items())), indent=1) + "\n", encoding="utf-8")
