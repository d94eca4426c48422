"""`python -m tests.manifests.fields`: what becomes of each field of each kind, and a count.

`--all` prints a line for each field; without it only those are named that are passed over.
"""

import argparse
import sys
from collections import Counter

from tests.manifests.fields.walk import findings, kinds


def main() -> int:
    """0 if no field is passed over in silence."""
    parser = argparse.ArgumentParser(prog="python -m tests.manifests.fields", description=__doc__)
    parser.add_argument("--all", action="store_true", help="a line for each field")
    parser.add_argument("--kind", action="append", help="only this kind; may be repeated")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    for kind in arguments.kind or kinds():
        for found in findings(kind):
            counts[found.outcome] += 1
            if arguments.all or found.outcome == "silent":
                print(f"{found.outcome:<9} {found.kind} {found.pointer}")
    unmeant = counts.pop("unmeant", 0)
    print(f"beside {unmeant} that mean nothing to Kueue or Kubernetes either (samples.py says why)")
    print(
        f"fields {counts.total()}: honoured {counts['honoured']}, warned {counts['warned']},"
        f" refused {counts['refused']}, silent {counts['silent']}"
    )
    return 1 if counts["silent"] else 0


if __name__ == "__main__":
    sys.exit(main())
