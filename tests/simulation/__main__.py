"""`python -m tests.simulation`: day after day by seed until one goes wrong."""

import argparse

from tests.simulation.scenario_run import run_day


def main() -> None:
    """Live one seed, or many."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="live this one day")
    parser.add_argument("--days", type=int, default=100, help="how many seeds from 0")
    parser.add_argument("--steps", type=int, default=250, help="how long a day is")
    options = parser.parse_args()
    for seed in range(options.days) if options.seed is None else [options.seed]:
        day = run_day(seed, options.steps)
        events = sum(day.seen.values())
        print(f"seed {seed}: {events} events, {day.crashes} crashes survived")  # noqa: T201 - talk


if __name__ == "__main__":
    main()
