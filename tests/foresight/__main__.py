"""`python -m tests.foresight`: foretell and make 1,000 random submits, and compare each."""

import argparse
from collections import Counter

from tests.foresight.submits import SUBMITS_PER_DAY, compare_day


def main() -> None:
    """Day after day until so many submits were compared."""
    parser = argparse.ArgumentParser(prog="python -m tests.foresight", description=__doc__)
    parser.add_argument("--submits", type=int, default=1_000)
    options = parser.parse_args()
    verdicts: Counter[str] = Counter()
    wrong = 0
    for seed in range(-(-options.submits // SUBMITS_PER_DAY)):
        for foretold, happened in compare_day(seed):
            verdicts[happened.verdict] += 1
            if foretold != happened:
                wrong += 1
                print(f"seed {seed}: {foretold} became {happened}")  # noqa: T201 - talk
    print(f"{sum(verdicts.values())} submits, {wrong} foretold wrongly: {dict(verdicts)}")  # noqa: T201
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
