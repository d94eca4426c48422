"""`python -m tests.bench`: submits, admissions and replay, each as a ratio to its yardstick.

Nothing here passes or fails: absolute numbers belong to the machine, ratios can be compared.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path

from tests.bench.admissions import measure_admissions
from tests.bench.commits import measure_bare_commits
from tests.bench.grouping import measure_grouped_appends
from tests.bench.installation import running_installation
from tests.bench.replay import measure_bare_decoding, measure_replay
from tests.bench.report import Measured, as_json, as_table
from tests.bench.settling import until_nothing_waits
from tests.bench.submits import measure_batches, measure_submits


def main() -> None:
    """Starts an installation in a directory of its own, measures, and prints."""
    options = parse_options()
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as directory:
        measured = measure(Path(directory), options.seconds)
    print(as_json(measured) if options.output == "json" else as_table(measured))


def parse_options() -> argparse.Namespace:
    """Returns the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="how long each part runs")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    return parser.parse_args()


def measure(directory: Path, seconds: int) -> Measured:
    """Measures all parts, the yardstick of each before it."""
    with running_installation(directory) as services:
        commits = measure_bare_commits(services.database_url, seconds)
        submits = asyncio.run(measure_submits(services, seconds))
        batches = asyncio.run(measure_batches(services))
        asyncio.run(until_nothing_waits(services))
        grouped = asyncio.run(measure_grouped_appends(services.database_url))
        waits = asyncio.run(measure_admissions(services, seconds))
        decoded = measure_bare_decoding(services.database_url)
        replayed = measure_replay(services.database_url)
    return Measured(
        commits_per_second=commits,
        submits=submits,
        batches=batches,
        grouped_per_second=grouped,
        waits_milliseconds=waits,
        decoded_per_second=decoded,
        replayed_per_second=replayed,
    )


if __name__ == "__main__":
    main()
