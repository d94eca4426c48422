"""`python -m tests.simulation.cells --seeds A-B`: a day of several cells for each seed.

Of every tenth seed a day is run with the directory and without it, and every fiftieth runs a day on
the real scheduler as well. One line sums up; exit code 1 if a day broke a rule.
"""

import argparse
import sys
from collections import Counter

from tests.simulation.cells.run import compare_without_directory, run_day, stormy

COMPARED, SCHEDULED = 10, 50


def main() -> int:
    """Runs the seeds; a failed one is named with what it broke."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.cells", description=__doc__)
    parser.add_argument("--seeds", required=True, help="the first and the last seed, as in 0-99")
    first, last = (int(text) for text in parser.parse_args().seeds.split("-"))
    sums, broken = Counter[str](), []
    for seed in range(first, last + 1):
        try:
            _run(seed, sums)
        except AssertionError as error:
            broken.append(seed)
            sys.stdout.write(f"seed {seed}: {error}\n")
    sys.stdout.write(summary(last + 1 - first, len(broken), sums) + "\n")
    return 1 if broken else 0


def summary(seeds: int, broken: int, sums: Counter[str]) -> str:
    """What the days had in them; shares are of nominal quota times time."""
    nominal = max(1, sums["nominal"])
    idle = (sums["in_no_cell"] + sums["unused"]) / nominal
    return (
        f"cells: {seeds} seeds, {broken} broken; {sums['events']} events, "
        f"{sums['submits']} submits, {sums['moved']} moves, {sums['aborted']} aborted, "
        f"{sums['crashed']} crashes, "
        f"{sums['lost']} messages lost, {sums['doubled']} doubled, {sums['late']} late; "
        f"of quota {sums['lent'] / nominal:.1%} lent, {idle:.1%} idle by leases "
        f"({sums['in_no_cell'] / nominal:.1%} in no cell, {sums['unused'] / nominal:.1%} unused); "
        f"{sums['refused']} of {sums['sent']} sent submits refused by moves; "
        f"{sums['compared']} compared, {sums['scheduled']} scheduled"
    )


def _run(seed: int, sums: Counter[str]) -> None:
    day = run_day(seed)
    sums.update(day.faults)
    for name in (
        "events", "submits", "moved", "aborted", "nominal", "in_no_cell", "unused", "lent",
        "refused", "sent",
    ):  # fmt: skip
        sums[name] += getattr(day, name)
    if seed % COMPARED == 0:
        compare_without_directory(seed)
        sums["compared"] += 1
    if seed % SCHEDULED == 0:
        run_day(seed, stormy(seed), is_scheduled=True)
        sums["scheduled"] += 1


if __name__ == "__main__":
    raise SystemExit(main())
