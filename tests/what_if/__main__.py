"""`python -m tests.what_if`: predict and make random submits, and compare each."""

import argparse
from collections import Counter

from tests.what_if.submits import SUBMITS_PER_DAY, compare_day


def main() -> None:
    """Compare the submits of a range of seeded days."""
    parser = argparse.ArgumentParser(prog="python -m tests.what_if", description=__doc__)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--days", type=int, default=50, help=f"{SUBMITS_PER_DAY} submits each")
    options = parser.parse_args()
    verdicts: Counter[str] = Counter()
    wrong = 0
    for seed in range(options.first_seed, options.first_seed + options.days):
        for predicted, happened in compare_day(seed):
            verdicts[happened.verdict] += 1
            if predicted != happened:
                wrong += 1
                print(f"seed {seed}: {predicted} became {happened}")  # noqa: T201 - talk
    print(f"{sum(verdicts.values())} submits, {wrong} foretold wrongly: {dict(verdicts)}")  # noqa: T201
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
