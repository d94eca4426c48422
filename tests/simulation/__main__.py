"""`python -m tests.simulation`: one simulated day for each seed until an invariant is broken."""

import argparse

from tests.simulation.scenario_run import run_day


def main() -> None:
    """Run the days of one seed, or of a range of seeds."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this one day")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--days", type=int, default=100, help="how many seeds from the first")
    parser.add_argument("--steps", type=int, default=250, help="how long a day is")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.days)
    for seed in seeds if options.seed is None else [options.seed]:
        day = run_day(seed, options.steps)
        events = sum(day.seen.values())
        print(f"seed {seed}: {events} events, {day.crashes} crashes survived")  # noqa: T201 - talk


if __name__ == "__main__":
    main()
