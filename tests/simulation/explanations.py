"""`python -m tests.simulation.explanations`: checks the pending reason of every pending workload.

A day of submits, preemption, holds and lost hosts; at random positions every explanation is
compared with independent accounting.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import get_args

from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.scheduling.pending_reasons import current_reason, unschedulable
from headgate.domain.values.instants import Instant
from headgate.domain.workloads import commands as c
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.state import Phase, phase_of
from headgate.messages.catalogue import TEXTS, text_of
from tests.simulation import simulated_cluster
from tests.simulation.cluster import SECONDS, Cluster
from tests.simulation.explanation_checks import contradictions
from tests.simulation.independent_accounting import account
from tests.simulation.scenario_run import apply_action

ENDED_OR_RUNS = {"Starting", "Running", "Evicting", "Succeeded", "Failed", "Cancelled"}
WAITING = set(get_args(Phase)) - ENDED_OR_RUNS

PACE = 24 * 3600 * SECONDS // 20_000
"""The time between submits, so that 20,000 make a day."""

MAX_WORKLOADS = 300
REBUILD_EVERY = 40_000
"""Slow checks run less often in a day this long."""


class Checker:
    """Counts explanations by dominant reason, and collects contradictions to the accounting."""

    def __init__(self) -> None:
        self.checked: Counter[str] = Counter()
        self.contradictions: list[str] = []

    def look_at(self, cluster_state: ClusterState, at: Instant) -> None:
        """Checks every pending workload's explanation at one position."""
        now = account(cluster_state, projected=False)
        for key, workload in sorted(cluster_state.workloads.items()):
            if phase_of(workload) not in WAITING:
                continue
            found = current_reason(cluster_state, workload, at)
            if found is None or not has_text(found) or not found.dominant:
                self._contradict(cluster_state, key, "it is pending without a reason")
                continue
            self.checked[found.dominant] += 1
            for what in contradictions(cluster_state, workload, found, now):
                self._contradict(cluster_state, key, f"{found.dominant}: {what}")
            if found.is_unschedulable != (unschedulable(cluster_state, workload) is not None):
                self._contradict(cluster_state, key, "overview and reason differ")

    def _contradict(self, cluster_state: ClusterState, key: str, what: str) -> None:
        self.contradictions.append(f"at {cluster_state.position} {key}: {what}")


def run_cluster(seed: int, workloads: int) -> Cluster:
    """Runs a day of a number of workloads."""
    cluster = Cluster(seed)
    cluster.witness.rebuild_every = REBUILD_EVERY
    simulated_cluster.install(cluster)
    dawn, possible = cluster.now, simulated_cluster.actions()
    while cluster.submitted < workloads:
        cluster.now = max(cluster.now, dawn + PACE * cluster.submitted)
        cluster.now += cluster.chance.randint(0, SECONDS)
        apply_action(cluster, possible)
        _delete_finished(cluster)
    return cluster


def check(log: Sequence[RecordedEvent], seed: int, positions: int) -> Checker:
    """Folds the log and checks a number of its positions, in the middle of decisions too."""
    checker, cluster_state = Checker(), ClusterState()
    chosen = set(Random(seed).sample(range(1, len(log) + 1), positions))
    for recorded in log:
        cluster_state.apply(recorded)
        if recorded.position in chosen:
            checker.look_at(cluster_state, recorded.at)
    return checker


def _delete_finished(cluster: Cluster) -> None:
    """Delete finished workloads, as retention does, and the oldest pending ones."""
    known = cluster.witness.cluster_state.workloads
    if len(known) <= MAX_WORKLOADS:
        return
    for key in sorted(known, key=lambda key: known[key].created_at)[: len(known) // 4]:
        cluster.order(key, c.DeleteWorkload(eviction=f"tidy-{key}"))


def has_text(found: Explanation) -> bool:
    """Whether the catalogue has the text of every message, with its arguments."""
    messages = [found.reason_message, *(blocker.full_message for blocker in found.blockers)]
    return all(each.code in TEXTS and text_of(each) for each in messages)


def main() -> None:
    """Runs the whole day and prints the result."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.explanations")
    parser.add_argument("--workloads", type=int, default=20_000)
    parser.add_argument("--positions", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    cluster = run_cluster(options.seed, options.workloads)
    print(f"the day: {dict(sorted(cluster.witness.seen.items()))}")  # noqa: T201 - talk
    checker = check(cluster.database.events, options.seed, options.positions)
    for line in checker.contradictions[:50]:
        print(line)  # noqa: T201 - talk
    total, wrong = sum(checker.checked.values()), len(checker.contradictions)
    print(  # noqa: T201 - talk
        f"{total} explanations at {options.positions} positions, {wrong} contradictions: "
        f"{dict(checker.checked.most_common())}"
    )
    raise SystemExit(bool(checker.contradictions))


if __name__ == "__main__":
    main()
