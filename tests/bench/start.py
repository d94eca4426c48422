"""`python -m tests.bench.start`: seconds from the start of a worker to its first decision.

With the snapshot that the release before left; after an upgrade that changes a comment of the code
that folds; after one that adds a field to the state of workloads, with a state version and a step
of its own; and after one that reads no snapshot of before, as every upgrade was once. The upgrades
are copies of the packages with that change, so that nothing is pretended.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import headgate
from headgate.application.run_partition import Scheduler, run_partition, sweep
from headgate.application.snapshot_store import CACHE_NAME, SnapshotRule
from headgate.bootstrap import Platform, open_platform
from headgate.event_log.folds import STATE_VERSIONS
from headgate.settings import Settings
from tests.bench.children import measured, tell
from tests.bench.population import Population, filled_database

Upgrade = Literal["none", "comment", "column", "unreadable"]
UPGRADES: tuple[Upgrade, ...] = ("none", "comment", "column")
"""Those after which a snapshot of before is gone on from."""
STATE = Path("headgate/domain/workloads/state.py")
FIELD = "    finished_at: Instant | None = None\n"
EDITS: dict[Upgrade, str] = {
    "none": FIELD,
    "comment": f"    # An upgrade says more about it.\n{FIELD}",
    "column": f"{FIELD}    column_of_an_upgrade: int = 0\n",
    "unreadable": FIELD,
}
FOLDS = Path("headgate/event_log/folds.py")
RAISED = f"STATE_VERSIONS = StateVersions({STATE_VERSIONS.current + 1}, "
VERSIONS: dict[Upgrade, str] = {
    "column": f"{RAISED}{{{STATE_VERSIONS.current}: StateStep()}})\n",
    "unreadable": f"{RAISED}{{}})\n",
}
"""The last lines of the module of an upgrade that raises the state version."""


def main() -> None:
    """Fills a log, writes a snapshot, and prints a line for each kind of start."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.start", description=__doc__)
    parser.add_argument("--pending", type=int, default=20_000)
    parser.add_argument("--finished", type=int, default=0)
    parser.add_argument("--child", choices=["settle", "decide"], help=argparse.SUPPRESS)
    parser.add_argument("--database", help=argparse.SUPPRESS)
    parser.add_argument("--partition", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child == "settle":
        _settle(options.database)
    elif options.child == "decide":
        _decide(options.database, options.partition)
    else:
        _measure(options.pending, options.finished)


def _measure(pending: int, finished: int) -> None:
    with filled_database() as (_, platform, population):
        population.add_finished("training", finished)
        population.add_pending("training", pending)
        settle(platform)
        for upgrade in get_args(Upgrade):
            found = first_decision(platform, population, upgrade)
            print(
                f"start, upgrade: {upgrade:10} {found.seconds:7.1f} s to the first decision, "
                f"{found.processor_seconds:5.1f} s of processor time, from a snapshot at "
                f"{found.snapshot} of {found.head} events"
            )


def settle(platform: Platform) -> int:
    """Lets a worker decide what there is to decide and write a snapshot; returns its position."""
    url = platform.settings.database_url
    told = measured("tests.bench.start", "--child", "settle", "--database", url)
    return int(told["position"])


class FirstDecision(NamedTuple):
    """The time to the first decision, that of the processor, and the snapshot gone on from."""

    seconds: float
    processor_seconds: float
    snapshot: int
    head: int


def first_decision(platform: Platform, population: Population, upgrade: Upgrade) -> FirstDecision:
    """Returns how a fresh worker comes to admit the only workload that can be admitted."""
    partition = population.add_to_open_queue()
    child = ("--child", "decide", "--partition", partition)
    database = ("--database", platform.settings.database_url)
    with tempfile.TemporaryDirectory(prefix="headgate-upgrade-") as directory:
        packages = upgraded(Path(directory), upgrade) if upgrade != "none" else None
        began = time.monotonic()
        told = measured("tests.bench.start", *child, *database, packages=packages)
        seconds = time.monotonic() - began
    assert told["decisions"] > 0, told
    assert packages is None or Path(told["package"]).is_relative_to(packages), told
    return FirstDecision(seconds, told["processor"], told["snapshot"], told["head"])


def upgraded(directory: Path, upgrade: Upgrade) -> Path:
    """Copies the packages into a directory, with the change of an upgrade."""
    package = Path(headgate.__file__).parent
    shutil.copytree(package, directory / "headgate", ignore=shutil.ignore_patterns("static"))
    state, folds = directory / STATE, directory / FOLDS
    source = state.read_text()
    assert source.count(FIELD) == 1, "the field at which upgrades are made is gone"
    state.write_text(source.replace(FIELD, EDITS[upgrade]))
    folds.write_text(folds.read_text() + VERSIONS.get(upgrade, ""))
    return directory


def _settle(url: str) -> None:
    scheduler = _scheduler(url)
    while not sweep(scheduler, frozenset(), lambda: False).idle_seconds:
        pass
    scheduler.live.keep_rule = SnapshotRule(events=1)
    scheduler.live.keep()
    tell({"position": scheduler.live.cluster_state.position})


def _decide(url: str, partition: str) -> None:
    decisions = 0
    scheduler = _scheduler(url)
    kept = scheduler.live.state_cache.newest(CACHE_NAME, STATE_VERSIONS.readable)
    found = {"snapshot": kept.position if kept else 0, "head": scheduler.live.event_log.head()}
    while not decisions:
        decisions = run_partition(scheduler, partition).decisions
    processor, package = time.process_time(), headgate.__file__
    tell({**found, "decisions": decisions, "processor": processor, "package": package})


def _scheduler(url: str) -> Scheduler:
    def fail(partition: str, failure: Exception) -> None:
        raise RuntimeError(f"{partition} cannot be planned") from failure

    settings = Settings(database_url=url, broker_url="memory://")
    return open_platform(settings, name="bench worker").scheduler(fail)


if __name__ == "__main__":
    main()
