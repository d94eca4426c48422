"""Whether preemption terminates in random cohorts without arrivals, whenever victims stop.

`python -m tests.simulation.termination` runs 20,000 of them with the rules in force, and as many
with the cycle guard and the rules of post-validation switched off, which must find loops, so that
the check is known to detect them (preemption.md §6.9).
"""

import argparse
from dataclasses import dataclass, field
from random import Random
from unittest.mock import patch

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.kinds.configuration import DEFAULT_FAIR_STRATEGIES
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.queue_settings import BorrowWithinCohort, ClusterQueuePreemption
from headgate.domain.object_set import ObjectSet
from headgate.domain.rounds.state import Round, RoundVictim
from headgate.domain.scheduling.partition.eviction_graph import Epoch, EvictionGraph
from headgate.domain.scheduling.preemption import victim_plan
from headgate.domain.scheduling.preemption.capacity_view import CapacityView
from headgate.domain.scheduling.preemption.fair_sharing import FairSharingStrategies
from headgate.domain.scheduling.preemption.request import Candidate, PreemptionRequest, Victim
from headgate.domain.scheduling.preemption.victim_plan import SearchRules, plan_victims
from headgate.domain.scheduling.quota.tree import build_tree
from headgate.domain.scheduling.quota.usage import (
    QuotaUsage,
    add_usage,
    available,
    empty_usage,
    remove_usage,
)
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.domain.workloads.state import Workload
from tests.builders.world import quotas

GPU: FlavorResource = ("default", "gpu")
MAX_PREEMPTIONS = 150
"""More evictions of a handful of workloads are a loop; with the rules none came near."""

RUNNING, WAITING, LEAVING = "running", "waiting", "leaving"


@dataclass
class SimulatedCohort:
    """Workloads with their ClusterQueues, requests and states.

    `actual` is the usage now; that of `view` the projected usage, after all open rounds. `held`
    are the admitted workloads by ClusterQueue.
    """

    view: CapacityView
    actual: QuotaUsage
    policies: dict[str, ClusterQueuePreemption]
    workloads: dict[str, Workload]
    asks: dict[str, Candidate]
    strategies: FairSharingStrategies
    held: dict[str, dict[str, Candidate]] = field(default_factory=dict)
    stands: dict[str, str] = field(default_factory=dict)
    kept_for: dict[str, list[str]] = field(default_factory=dict)
    rounds: int = 0
    eviction_graph: EvictionGraph = field(default_factory=EvictionGraph)


@dataclass(frozen=True)
class TerminationResult:
    """How one cohort ended: after so many evictions, or never."""

    evictions: int
    settled: bool


def run(seed: int, *, guarded: bool) -> TerminationResult:
    """Runs one random cohort until no more decisions follow, or to the limit."""
    random = Random(seed)
    cohort = a_cohort(random)
    if guarded:
        return run_cohort(cohort, random, rules_of(cohort))
    with patch.object(victim_plan, "invalid_victims", lambda *_: {}):
        return run_cohort(cohort, random, SearchRules(cohort.strategies))


def run_cohort(cohort: SimulatedCohort, random: Random, rules: SearchRules) -> TerminationResult:
    """One cohort under these rules; victims stop in an order of chance."""
    evictions = 0
    while evictions < MAX_PREEMPTIONS:
        moved, evicted = _serve(cohort, rules)
        evictions += evicted
        leaving = sorted(key for key, stand in cohort.stands.items() if stand == LEAVING)
        if leaving:
            _stop(cohort, random.choice(leaving))
        elif not moved:
            return TerminationResult(evictions, settled=True)
    return TerminationResult(evictions, settled=False)


def a_cohort(random: Random) -> SimulatedCohort:
    """Two or three queues, some under a cohort of their own, with up to nine workloads."""
    names = ["q0", "q1", "q2"][: random.choice((2, 3, 3))]
    config = ObjectSet()
    for name in names:
        config.cluster_queues[name] = _queue(random, name)
    tree = build_tree(config, names)
    view = CapacityView(tree, empty_usage(tree))
    policies = {f"clusterqueue/{n}": config.cluster_queues[n].spec.preemption for n in names}
    workloads, asks = {}, {}
    for number in range(random.randint(3, 9)):
        key = f"team/w{number}"
        queue = random.choice(names)
        most = sum(tree.nominal(node, GPU) for node in policies)
        spec = WorkloadSpec(pod_sets=(), priority=random.randint(0, 2))
        created = random.randint(0, 9)
        workloads[key] = Workload(
            uid=key, namespace="team", name=f"w{number}", created_at=created, spec=spec
        )
        size = random.randint(1, max(1, most))
        asks[key] = Candidate(workloads[key], f"clusterqueue/{queue}", {GPU: size})
    strategies: FairSharingStrategies = DEFAULT_FAIR_STRATEGIES if random.random() < 0.5 else ()
    cohort = SimulatedCohort(view, empty_usage(tree), policies, workloads, asks, strategies)
    cohort.stands = dict.fromkeys(workloads, WAITING)
    for key in sorted(workloads, key=lambda _: random.random()):
        if random.random() < 0.7 and _fits(cohort, key):
            _start(cohort, key)
    return cohort


def _queue(random: Random, name: str) -> Configured[ClusterQueueSpec]:
    preemption = ClusterQueuePreemption(
        within_cluster_queue=random.choice(("Never", "LowerPriority", "LowerOrNewerEqualPriority")),
        reclaim_within_cohort=random.choice(("Never", "LowerPriority", "Any", "Any")),
        borrow_within_cohort=BorrowWithinCohort(policy=random.choice(("Never", "LowerPriority"))),
    )
    spec = ClusterQueueSpec(
        cohort_name="all",
        resource_groups=quotas(default=random.randint(0, 6)),
        preemption=preemption,
    )
    return Configured(name=name, uid=name, created_at=0, spec=spec)


def rules_of(cohort: SimulatedCohort) -> SearchRules:
    """The rules in force, with the evictions so far."""
    epoch = Epoch(cohort.workloads, "")
    return SearchRules(cohort.strategies, evictions=cohort.eviction_graph, epoch=epoch)


def _serve(cohort: SimulatedCohort, rules: SearchRules) -> tuple[bool, int]:
    """Serves all pending workloads in order: start, begin a round, or stay pending."""
    moved, evicted = False, 0
    for key in sorted(cohort.workloads, key=lambda k: _order(cohort.workloads[k])):
        if cohort.stands[key] != WAITING:
            continue
        if key in cohort.kept_for:
            if not _is_used_up(cohort, key):
                continue
            _take_kept(cohort, key)
            moved = True
        elif _fits(cohort, key):
            _start(cohort, key)
            moved = True
        else:
            victims = plan_for(cohort, key, rules)
            evicted += len(victims)
            moved = moved or bool(victims)
            if victims:
                commit(cohort, key, victims)
    return moved, evicted


def _order(workload: Workload) -> tuple[int, int, str]:
    return -workload.spec.priority, workload.created_at, workload.uid


def _fits(cohort: SimulatedCohort, key: str) -> bool:
    ask = cohort.asks[key]
    tree = cohort.view.tree
    return all(
        ask.amounts[GPU] <= available(tree, usage, ask.node, GPU)
        for usage in (cohort.actual, cohort.view.usage)
    )


def plan_for(cohort: SimulatedCohort, key: str, rules: SearchRules) -> tuple[Victim, ...]:
    """The victims that a pending workload needs; none if it need only wait."""
    ask = cohort.asks[key]
    if cohort.view.available(ask.node, GPU) >= ask.amounts[GPU]:
        return ()
    cohort.view.candidates = {node: tuple(held.values()) for node, held in cohort.held.items()}
    return plan_victims(cohort.view, a_request(cohort, key), rules).victims


def a_request(cohort: SimulatedCohort, key: str) -> PreemptionRequest:
    """The preemption request of a workload."""
    ask = cohort.asks[key]
    return PreemptionRequest(
        cohort.workloads[key],
        ask.node,
        cohort.policies[ask.node],
        lambda workload: workload.created_at,
        ask.amounts,
        (GPU,),
    )


def commit(cohort: SimulatedCohort, key: str, victims: tuple[Victim, ...]) -> None:
    """Evict the victims and reserve their capacity for the preemptor."""
    ask = cohort.asks[key]
    for victim in victims:
        cohort.view.remove(victim.candidate)
        del cohort.held[victim.candidate.node][victim.workload.key]
        cohort.stands[victim.workload.key] = LEAVING
    cohort.view.add_usage(ask.node, ask.amounts)
    cohort.kept_for[key] = [victim.workload.key for victim in victims]
    cohort.rounds += 1
    cohort.eviction_graph.put(_round(cohort, key, victims))


def _round(cohort: SimulatedCohort, key: str, victims: tuple[Victim, ...]) -> Round:
    named = tuple(
        RoundVictim(
            workload=victim.workload.key,
            cluster_queue=victim.candidate.node,
            reason=victim.reason,
            priority=victim.workload.spec.priority,
            protection=victim.workload.spec.priority,
            pods=1,
            freed={},
            running_seconds=0,
        )
        for victim in victims
    )
    return Round(
        id=f"r{cohort.rounds}",
        stage="Draining",
        preemptor=key,
        preemptor_priority=cohort.workloads[key].spec.priority,
        cluster_queue=cohort.asks[key].node,
        admission=Admission(cluster_queue=cohort.asks[key].node, pod_set_assignments=()),
        victims=named,
        considered=len(named),
        basis_position=0,
        committed_at=0,
    )


def _is_used_up(cohort: SimulatedCohort, key: str) -> bool:
    ask = cohort.asks[key]
    free = available(cohort.view.tree, cohort.actual, ask.node, GPU)
    return ask.amounts[GPU] <= free


def _start(cohort: SimulatedCohort, key: str) -> None:
    cohort.view.add_usage(cohort.asks[key].node, cohort.asks[key].amounts)
    _take_kept(cohort, key)


def _take_kept(cohort: SimulatedCohort, key: str) -> None:
    """Acquires what is nominated for it: it already counts in the projected view."""
    ask = cohort.asks[key]
    cohort.kept_for.pop(key, None)
    add_usage(cohort.view.tree, cohort.actual, ask.node, ask.amounts)
    cohort.held.setdefault(ask.node, {})[key] = ask
    cohort.stands[key] = RUNNING


def _stop(cohort: SimulatedCohort, key: str) -> None:
    ask = cohort.asks[key]
    remove_usage(cohort.view.tree, cohort.actual, ask.node, ask.amounts)
    cohort.stands[key] = WAITING


def main() -> int:
    """Exit code 1 if a guarded cohort never settled, or no unguarded one was a loop."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation.termination", description=__doc__
    )
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--cohorts", type=int, default=20_000)
    options = parser.parse_args()
    cohorts = options.cohorts
    seeds = range(options.first_seed, options.first_seed + cohorts)
    guarded = [run(seed, guarded=True) for seed in seeds]
    open_ended = [run(seed, guarded=False) for seed in seeds]
    endless = sum(not outcome.settled for outcome in guarded)
    loops = sum(not outcome.settled for outcome in open_ended)
    most = max(outcome.evictions for outcome in guarded)
    print(f"guarded: {endless} of {cohorts} endless, at most {most} evictions in one")  # noqa: T201
    print(f"unguarded: {loops} of {cohorts} endless")  # noqa: T201
    return 1 if endless or not loops else 0


if __name__ == "__main__":
    raise SystemExit(main())
