"""A day with many flavors, nested cohorts, checks, gates and quota changes.

It adds to `scenario_run`; queues stand for their LocalQueues of the same name.
"""

from msgspec.structs import replace

from headgate.domain.kinds.admission_check import (
    AdmissionCheckCreated,
    AdmissionCheckReported,
    AdmissionCheckSpec,
)
from headgate.domain.kinds.cluster_queue import (
    AdmissionCheckRule,
    ClusterQueueChanged,
    ClusterQueueCreated,
    ClusterQueueSpec,
    CohortCreated,
    CohortSpec,
    FlavorFungibility,
)
from headgate.domain.kinds.local_queue import (
    LocalQueueCreated,
    LocalQueueResumed,
    LocalQueueSpec,
    LocalQueueStopped,
)
from headgate.domain.kinds.queue_settings import (
    BorrowWithinCohort,
    ClusterQueuePreemption,
    PreemptionRate,
)
from headgate.domain.kinds.queue_stop import Stop
from headgate.domain.kinds.resource_flavor import ResourceFlavorCreated, ResourceFlavorSpec
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads import commands as c
from headgate.domain.workloads.events import CheckStateName
from headgate.domain.workloads.specs import (
    ADMISSION_GATES,
    PodSet,
    Scheduling,
    TopologyRequest,
    WorkloadSpec,
)
from headgate.domain.workloads.state import phase_of
from tests.builders.world import quotas
from tests.simulation import scenario_run
from tests.simulation.cluster import SECONDS, Cluster

GATE = "example.com/data"
CHECK = "budget"
ANSWERS: dict[CheckStateName, int] = {"Ready": 70, "Retry": 15, "Rejected": 10, "Pending": 5}
"""The weights of the check controller's reports, in percent."""
RECLAIM_ANY = ClusterQueuePreemption(
    within_cluster_queue="LowerPriority",
    reclaim_within_cohort="Any",
    borrow_within_cohort=BorrowWithinCohort(policy="LowerPriority"),
)
SPECS = {
    "mixed": ClusterQueueSpec(
        resource_groups=quotas(spot=6, reserved=(10, 6, None)),
        cohort_name="pool",
        preemption=RECLAIM_ANY,
        wait_for_pods_ready=scenario_run.WAITS,
    ),
    "lender": ClusterQueueSpec(
        resource_groups=quotas(spot=(8, None, 5), reserved=(4, 2, 2)),
        cohort_name="guests",
        preemption=RECLAIM_ANY,
        flavor_fungibility=FlavorFungibility(when_can_borrow="TryNextFlavor"),
    ),
    "checked": ClusterQueueSpec(
        resource_groups=quotas(reserved=12),
        cohort_name="pool",
        preemption=scenario_run.LOWER,
        admission_checks=(AdmissionCheckRule(name=CHECK),),
    ),
    "slow": ClusterQueueSpec(
        resource_groups=quotas(plain=8),
        preemption=replace(scenario_run.LOWER, rate_limit=PreemptionRate(per_minute=1)),
    ),
    "either": ClusterQueueSpec(
        resource_groups=quotas(tas=10, spot=3), preemption=scenario_run.LOWER
    ),
}
COHORTS = {
    "campus": CohortSpec(resource_groups=quotas(reserved=4)),
    "pool": CohortSpec(parent_name="campus"),
    "guests": CohortSpec(parent_name="campus"),
}


def install(cluster: Cluster) -> None:
    """Installs what `scenario_run` has, and the rest."""
    scenario_run.install(cluster)
    facts: list[tuple[str, DomainEvent]] = [
        (f"resourceflavor/{name}", ResourceFlavorCreated(uid=name, name=name, spec=_PLAIN))
        for name in ("spot", "reserved")
    ]
    facts += [
        (f"cohort/{name}", CohortCreated(uid=name, name=name, spec=spec))
        for name, spec in COHORTS.items()
    ]
    controlled = AdmissionCheckSpec(controller_name="example.com/accounts")
    facts.append(
        (f"admissioncheck/{CHECK}", AdmissionCheckCreated(uid=CHECK, name=CHECK, spec=controlled))
    )
    for name, given in SPECS.items():
        spec = replace(given, namespace_selector=LabelSelector())
        local = LocalQueueSpec(cluster_queue=name)
        created = LocalQueueCreated(uid=name, name=name, namespace="team", spec=local)
        facts.append((f"clusterqueue/{name}", ClusterQueueCreated(uid=name, name=name, spec=spec)))
        facts.append((f"localqueue/team/{name}", created))
    for fact in facts:
        cluster.record(fact)


_PLAIN = ResourceFlavorSpec()


def actions() -> scenario_run.Actions:
    """Returns the possible actions with their weights."""
    return {
        **scenario_run.actions(),
        Cluster.execute: 55,
        submit: 25,
        _check: 12,
        _open_a_gate: 3,
        _change_a_quota: 1,
        _stop_a_local_queue: 1,
        _serve_or_leave: 1,
    }


def submit(cluster: Cluster) -> None:
    """A workload of random size for one of the queues that this day adds."""
    cluster.submitted += 1
    chance, name = cluster.chance, f"w{cluster.submitted}"
    queue = chance.choice(sorted(SPECS))
    spec = WorkloadSpec(
        queue_name=queue, pod_sets=_pod_sets(cluster, queue), priority=chance.randint(0, 3)
    )
    gates = {ADMISSION_GATES: GATE} if chance.random() < 0.05 else {}
    cluster.order(
        f"team/{name}",
        c.Submit(uid=f"uid-{name}", namespace="team", name=name, spec=spec, annotations=gates),
    )


def _pod_sets(cluster: Cluster, queue: str) -> tuple[PodSet, ...]:
    names = ["main"]
    if queue == "checked":
        names = cluster.chance.choice([["main"], ["leader", "workers"]])
    wanted = None
    if queue == "either":
        wanted = cluster.chance.choice([None, TopologyRequest(required="rack")])
    return tuple(
        PodSet(
            name=name,
            count=cluster.chance.randint(1, 4),
            scheduling=Scheduling(requests={"gpu": cluster.chance.randint(1, 4)}),
            topology_request=wanted,
        )
        for name in names
    )


def _check(cluster: Cluster) -> None:
    """Reports the check of a workload."""
    known = cluster.witness.cluster_state.workloads
    asked = [key for key in sorted(known) if phase_of(known[key]) == "QuotaReserved"]
    if not asked:
        return
    found = known[cluster.chance.choice(asked)]
    state = cluster.chance.choices(list(ANSWERS), list(ANSWERS.values()))[0]
    told = c.ReportCheckState(
        uid=found.uid,
        attempt=found.attempt,
        check=CHECK,
        state=state,
        message=f"the account says {state}",
        requeue_after_seconds=20 if state == "Retry" else None,
    )
    cluster.order(found.key, told)


def _open_a_gate(cluster: Cluster) -> None:
    """An external controller removes an admission gate."""
    known = cluster.witness.cluster_state.workloads
    gated = [key for key in sorted(known) if ADMISSION_GATES in known[key].annotations]
    if gated:
        found = known[cluster.chance.choice(gated)]
        number = cluster.chance.randint(0, 10**9)
        change = c.ChangeSpec(annotations={}, spec=found.spec, eviction=f"g{number}")
        cluster.order(found.key, change)


def _change_a_quota(cluster: Cluster) -> None:
    """An admin changes the quotas of a queue, and after a while restores them."""
    name = cluster.chance.choice(sorted(SPECS))
    known = cluster.witness.cluster_state.config.cluster_queues[name]
    groups = SPECS[name].resource_groups
    if known.spec.resource_groups == groups:
        (group,) = groups
        groups = quotas("gpu", **{f.name: cluster.chance.randint(0, 14) for f in group.flavors})
    spec = replace(known.spec, resource_groups=groups)
    cluster.record((f"clusterqueue/{name}", ClusterQueueChanged(spec=spec)))


def _stop_a_local_queue(cluster: Cluster) -> None:
    """An admin stops a LocalQueue for a while, or resumes it."""
    name = cluster.chance.choice(sorted(SPECS))
    known = cluster.witness.cluster_state.config.local_queues[f"team/{name}"]
    if known.spec.stop_policy != "None":
        cluster.record((f"localqueue/team/{name}", LocalQueueResumed()))
        return
    until = cluster.now + 40 * SECONDS
    stop = Stop(owner="x", reason="y", stopped_at=cluster.now, expires_at=until)
    cluster.record((f"localqueue/team/{name}", LocalQueueStopped(policy="Hold", stop=stop)))


def _serve_or_leave(cluster: Cluster) -> None:
    """The controller of the check stops, or starts again."""
    known = cluster.witness.cluster_state.config.admission_checks[CHECK]
    gone = known.spec.active and cluster.chance.random() < 0.3
    if known.spec.active == gone:
        cluster.record((f"admissioncheck/{CHECK}", AdmissionCheckReported(active=not gone)))
