"""What LocalQueues used of late, and how it orders them (`pkg/util/admissionfairsharing`)."""

from collections.abc import Iterator, Mapping
from typing import Any

from headgate.application.queries.queue_status import consumed_by, pending_order
from headgate.domain.kinds.configuration import AdmissionFairSharing
from headgate.domain.scheduling.fair_sharing_orders import (
    DEFAULT_WEIGHT_MILLI,
    rank_of,
    weighted_usage,
)
from headgate.domain.scheduling.queueing.local_queue_usage import (
    AMOUNT_SCALE,
    Consumption,
    decayed,
    summed,
)
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.quantities import amount_of, nano_quantity, quantity_of
from headgate.domain.workloads.admission import Admission, PodSetAssignment
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadFinished,
    WorkloadQuotaReserved,
    WorkloadSubmitted,
)
from headgate.domain.workloads.specs import PodSet, Scheduling, WorkloadSpec
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Family
from tests.conformance.installed import NAMESPACE, Installed, read
from tests.conformance.instants import instant_of, seconds_of

AGES = 200
"""Half-lives after which usage counts as if it had always been so, to the last bit."""

LONG_AGO = "2015-01-01T00:00:00Z"

SOME_HALF_LIFE = "1h0m0s"
"""Where a case leaves the half-life out, although it is about usage that is remembered."""


def share_by_usage(installed: Installed, config: Mapping[str, Any], since: str = "") -> None:
    """Switch admission fair sharing on as a case has it, with times that the product accepts."""
    half_life, interval = (
        config[name] if seconds_of(config.get(name)) else SOME_HALF_LIFE
        for name in ("usageHalfLifeTime", "usageSamplingInterval")
    )
    weights = config.get("resourceWeights") or {}
    # The cases are older than the gate AdmissionFairSharingAnchorAtQuotaReservation.
    anchor = {"usageAnchor": "Admitted"}
    shares = {"usageHalfLifeTime": half_life, "usageSamplingInterval": interval, **anchor}
    weighed = {"resourceWeights": {name: str(weight) for name, weight in weights.items()}}
    installed.configure(since, admissionFairSharing={**shares, **(weighed if weights else {})})


def used_for_ages(
    installed: Installed, local_queue: str, amounts: Mapping[str, str], until: Instant
) -> None:
    """A workload that used these amounts for so long that they were all that its queue used."""
    rules = installed.cluster_state.usage_history.rules
    assert rules is not None, "nobody counts"
    namespace, _, name = local_queue.partition("/")
    start = until - AGES * rules.usage_half_life_seconds * MICROSECONDS_PER_SECOND
    stream = f"workload/{namespace}/past-{name}"
    installed.record(stream, _submitted(namespace, name), start)
    usage = {resource: amount_of(resource, amount) for resource, amount in amounts.items()}
    flavors = dict.fromkeys(usage, "past")
    given = PodSetAssignment(name="main", flavors=flavors, resource_usage=usage, count=1)
    local = installed.cluster_state.config.local_queues[local_queue].spec
    admission = Admission(cluster_queue=local.cluster_queue, pod_set_assignments=(given,))
    installed.record(stream, WorkloadQuotaReserved(admission=admission), start)
    installed.record(stream, WorkloadAdmitted(waited_seconds=0), start)
    installed.record(stream, WorkloadFinished(reason="Succeeded"), until)


def first_by_usage(case: Case) -> Iterator[str]:
    """The first workload of a ClusterQueue after unequal usage by its LocalQueues."""
    installed = Installed()
    if case.given("afsConfig"):
        share_by_usage(installed, case.inputs["afsConfig"])
    queue = case.inputs["cq"]
    name = queue["metadata"]["name"]
    installed.add("ClusterQueue", queue)
    for local in case.listed("lqs"):
        spec = {**(local.get("spec") or {}), "clusterQueue": name}
        installed.add("LocalQueue", {**local, "spec": spec})
    for key, amounts in (case.given("initConsumedResources") or {}).items():
        used_for_ages(installed, key, amounts, installed.at)
    installed.add("Workload", *case.listed("wls"))
    wanted = case.want["wantWl"]["metadata"]
    first = pending_order(installed.cluster_state, name).keys[0]
    wanted_key = f"{wanted.get('namespace') or NAMESPACE}/{wanted['name']}"
    yield from differences("first", wanted_key, first)


def consumed_until_now(case: Case) -> Iterator[str]:
    """What a LocalQueue has consumed, by what it had consumed before and what runs ever since.

    The consumed usage is brought about by workloads that have run for ages, beside one that ended
    when Kueue last sampled. Where nothing had been counted, counting begins now.
    """
    installed = Installed()
    before = _consumed_before(case)
    known = case.given("initialConsumedResources")
    if known:
        share_by_usage(installed, case.mapped("afsConfig"))
    installed.add("ClusterQueue", case.given("clusterQueue"))
    local = case.inputs["localQueue"]
    installed.add("LocalQueue", local)
    key = f"{local['metadata'].get('namespace') or NAMESPACE}/{local['metadata']['name']}"
    running = case.listed("runningWls")
    installed.add("Workload", *(_since_ages(value) for value in running))
    if known:
        for value in running:
            for resource, amount in _usage_of(value).items():
                before[resource] = before.get(resource, 0) - amount
        used = {name: quantity_of(name, amount) for name, amount in before.items()}
        used_for_ages(installed, key, used, instant_of(known["lastUpdate"], installed.at))
    else:
        share_by_usage(installed, case.mapped("afsConfig"), case.shared["now"])
    status = case.want["wantLocalQueue"]["status"]["fairSharing"]["admissionFairSharingStatus"]
    wanted = {name: n for name, n in (status.get("consumedResources") or {}).items() if n != "0"}
    found = consumed_by(installed.cluster_state, key, installed.at)
    nanos = found.nanos if found else {}
    got = {name: nano_quantity(amount) for name, amount in nanos.items()}
    yield from differences("consumed", wanted, got)


def _consumed_before(case: Case) -> dict[str, int]:
    """What the cache had counted, and what the status had that the cache had not."""
    known = case.given("initialConsumedResources") or {}
    local = (case.inputs["localQueue"].get("status") or {}).get("fairSharing") or {}
    persisted = (local.get("admissionFairSharingStatus") or {}).get("consumedResources") or {}
    total: dict[str, int] = {}
    for amounts in (
        known.get("resources") or {},
        {} if known.get("statusAccounted") else persisted,
    ):
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount_of(name, amount)
    return total


def _since_ages(value: dict[str, Any]) -> dict[str, Any]:
    status = value["status"]
    conditions = [{**c, "lastTransitionTime": LONG_AGO} for c in status["conditions"]]
    metadata = {**value["metadata"], "creationTimestamp": LONG_AGO}
    return {**value, "metadata": metadata, "status": {**status, "conditions": conditions}}


def _usage_of(value: dict[str, Any]) -> dict[str, int]:
    total: dict[str, int] = {}
    for given in value["status"]["admission"]["podSetAssignments"]:
        for name, amount in (given.get("resourceUsage") or {}).items():
            total[name] = total.get(name, 0) + amount_of(name, str(amount))
    return total


def stays_positive(case: Case) -> Iterator[str]:
    """Large amounts fade little by little."""
    rules = AdmissionFairSharing(usage_half_life_seconds=case.shared["longHalfLifeTime"])
    size = amount_of("memory", case.inputs["size"]) * AMOUNT_SCALE
    known = Consumption(at=0, consumed={"memory": size})
    later = decayed(known, case.shared["samplingElapsed"] * MICROSECONDS_PER_SECOND, rules)
    yield from differences("less and more than nothing", True, 0 < later.consumed["memory"] < size)


def weighted(case: Case) -> Iterator[str]:
    """The usage by which a LocalQueue is ordered, with weights of resources and its own."""
    found = rank_of(_counted(case), _rules(case), _weight_milli(case))[1]
    yield from differences("usage", case.want["wantUsage"], float(found))


def last_without_weight(case: Case) -> Iterator[str]:
    """A LocalQueue without weight comes after all others, whatever it used."""
    rank = rank_of(_counted(case), _rules(case), _weight_milli(case))
    much = (False, weighted_usage({"cpu": 10**12 * AMOUNT_SCALE}, _rules(case)))
    yield from differences("last", True, rank > much)


def own_weight(case: Case) -> Iterator[str]:
    """The weight of a LocalQueue, also of one that is not there."""
    value = case.given("localQueue")
    weight = read("LocalQueue", value).spec.fair_weight_milli if value else DEFAULT_WEIGHT_MILLI
    yield from differences("weight", case.want["wantWeight"], weight / 1000)


def _submitted(namespace: str, queue: str) -> WorkloadSubmitted:
    spec = WorkloadSpec(
        queue_name=queue, pod_sets=(PodSet(count=1, scheduling=Scheduling(requests={})),)
    )
    name = f"past-{queue}"
    return WorkloadSubmitted(uid=name, namespace=namespace or NAMESPACE, name=name, spec=spec)


def _counted(case: Case) -> dict[str, int]:
    consumed, penalty = (
        {
            name: amount_of(name, amount) * AMOUNT_SCALE
            for name, amount in (case.given(part) or {}).items()
        }
        for part in ("consumed", "penalty")
    )
    return summed(consumed, penalty)


def _rules(case: Case) -> AdmissionFairSharing:
    weights = case.given("resWeights") or {}
    milli = {name: int(weight * 1000) for name, weight in weights.items()}
    return AdmissionFairSharing(resource_weights_milli=milli)


def _weight_milli(case: Case) -> int:
    return int((case.given("lqWeight") or 0) * 1000)


FAMILIES = {
    "TestCalculateDecayedConsumedKeepsLargeQuantitiesPositive": Family(stays_positive),
    "TestCalculateUsageWithDRA": Family(weighted),
    "TestCalculateUsageWithNonPositiveWeight": Family(last_without_weight),
    "TestResolveLQWeight": Family(own_weight),
}
