"""One scheduling cycle over everything that waits (`pkg/scheduler`)."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from headgate.domain.cluster_state import ClusterState
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.fair_sharing_orders import order_entries
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.scheduling.results import Mode
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload, condition
from headgate.messages.catalogue import worded
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.consumption import share_by_usage, used_for_ages
from tests.conformance.families.family import Family
from tests.conformance.families.placements import other_pods, used_by_others
from tests.conformance.families.reasons import differing_reasons
from tests.conformance.families.replacements import host_of, unhealthy_hosts
from tests.conformance.installed import CREATED, NAMESPACE, Installed, key_of, kind_of
from tests.conformance.statuses import admission_of

WAITS_FOR_HOSTS = "TASFailedNodeReplacementFailFast=false"
"""A workload without a replacement host waits for one."""

SHARES_NOTHING = "AdmissionFairSharing=false"
REFUSED_WRITES = ("admissionError", "patchStatusErr")
"""Errors that the API answers when the decisions of a cycle are written to it."""

ENTRIES = "entries"
"""The ClusterQueue of entries that name none."""

TELL_WHY = ("Evicted", "Preempted")
"""The conditions that name the preemptor of a victim."""

FIXTURES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Topology", ("topologies",)),
    ("ResourceFlavor", ("resourceFlavors",)),
    ("AdmissionCheck", ("admissionChecks",)),
    ("Cohort", ("cohorts",)),
    ("ClusterQueue", ("clusterQueues", "additionalClusterQueues", "cqs")),
    ("LocalQueue", ("queues", "additionalLocalQueues")),
)


def cycle(case: Case) -> Iterator[str]:
    """The admissions, the preemptions with their reasons, and the workloads left pending."""
    installed = fixtures(case)
    before = _holders(installed.cluster_state)
    if any(case.given(name) for name in REFUSED_WRITES):
        # What the cycle decides is not recorded: all stays as it was.
        yield from _admissions(case, installed.cluster_state, before)
        yield from _waiting(case, installed.cluster_state)
        return
    with one_cycle(installed) as cluster_state:
        yield from _admissions(case, cluster_state, before)
        yield from _preemptions(case, cluster_state)
        yield from _waiting(case, cluster_state)
        yield from _reasons(case, installed)


def two_cycles(case: Case) -> Iterator[str]:
    """The same again after workloads were deleted."""
    installed = fixtures(case)
    with one_cycle(installed) as cluster_state:
        yield from _preemptions(case, cluster_state)
    for stream, event in installed.made:
        installed.record(stream, event)
    for name in case.listed("deleteWorkloads"):
        installed.delete_workload(f"{name.get('namespace') or NAMESPACE}/{name['name']}")
    with one_cycle(installed) as cluster_state:
        wanted = _wanted(case.want["wantAdmissionsOnSecondSchedule"], cluster_state)
        yield from differences("second", wanted, _holders(cluster_state))


def turns(case: Case) -> Iterator[str]:
    """In which order the entries of one cycle are settled."""
    installed = Installed()
    ordering = case.mapped("workloadOrdering")
    timestamp = ordering.get("podsReadyRequeuingTimestamp", "Eviction")
    waits = {"timeout": "5m", "requeuingStrategy": {"timestamp": timestamp}}
    spec = {"namespaceSelector": {}, "waitForPodsReady": waits}
    installed.add("ClusterQueue", {"metadata": {"name": ENTRIES}, "spec": spec})
    entries = []
    for number, entry in enumerate(case.listed("input")):
        # Equal entries keep their order in Kueue; here the uid decides between them.
        value = {**entry["obj"], "metadata": {**entry["obj"]["metadata"], "uid": f"{number:03}"}}
        pod_sets = [{"name": "main", "count": 1}]
        installed.add("Workload", {**value, "spec": {"podSets": pod_sets, **value.get("spec", {})}})
        workload = installed.cluster_state.workloads[key_of(f"/{value['metadata']['name']}")]
        level = (entry.get("assignment") or {}).get("borrowing", 0)
        entries.append(Evaluation(workload, ENTRIES, Mode.FIT, level))
    found = [
        entry.workload.name for entry in order_entries(installed.partition_of(ENTRIES), entries)
    ]
    yield from differences("order", case.want["wantOrder"], found)


def fixtures(case: Case) -> Installed:
    """Everything the case has, as manifests."""
    installed = Installed()
    rules: dict[str, Any] = {"fairSharing": {}} if case.given("enableFairSharing") else {}
    if case.given("resourceTransformations"):
        rules["resources"] = {"transformations": case.given("resourceTransformations")}
    if WAITS_FOR_HOSTS in case.gates:
        rules["topology"] = {"failFast": False}
    if rules:
        installed.configure(**rules)
    install(case, installed)
    return installed


def install(case: Case, installed: Installed) -> None:
    """The objects of a case."""
    installed.add_setup([made for made in case.setup() if made["kind"] != "Workload"])
    for kind, names in FIXTURES:
        for name in names:
            installed.add(kind, *(_listed(case.shared.get(name)) + _listed(case.given(name))))
    for kind, value in _further(case.listed("objects")):
        installed.add(kind, value)
    others = used_by_others(other_pods(case.listed("pods")))
    workloads = [*case.listed("workloads"), *_workloads_of(case.setup())]
    failed = unhealthy_hosts(workloads)
    for node in case.listed("nodes"):
        used = others.get(node["metadata"]["name"], {})
        status = {**(node.get("status") or {}), "usedByOthers": used}
        if host_of(node) in failed:
            status["conditions"] = [{"type": "Ready", "status": "False"}]
        installed.add("Node", {**node, "status": status})
    for value in workloads:
        installed.add("Workload", _with_a_queue(installed, value))


def _workloads_of(setup: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [made["object"] for made in setup if made["kind"] == "Workload" and "object" in made]


def _with_a_queue(installed: Installed, value: dict[str, Any]) -> dict[str, Any]:
    """A workload that runs came through some LocalQueue, which the cases may leave out."""
    admission = (value.get("status") or {}).get("admission")
    if not admission or not admission.get("clusterQueue"):
        return value
    name = value["spec"].get("queueName") or f"to-{admission['clusterQueue']}".lower()
    metadata = {"name": name, "namespace": value["metadata"].get("namespace") or NAMESPACE}
    if f"{metadata['namespace']}/{name}" not in installed.cluster_state.config.local_queues:
        spec = {"clusterQueue": admission["clusterQueue"]}
        installed.add("LocalQueue", {"metadata": metadata, "spec": spec})
    return {**value, "spec": {**value["spec"], "queueName": name}}


def cycles_by_usage(case: Case) -> Iterator[str]:
    """The same once nothing is left to decide, LocalQueues having used unequally before."""
    installed = Installed()
    config, usage = case.shared["afsConfig"], case.mapped("initialUsage")
    if SHARES_NOTHING in case.gates:
        config, usage = None, {}
    if config:
        share_by_usage(installed, config)
    install(case, installed)
    for name, amounts in usage.items():
        used_for_ages(installed, f"{NAMESPACE}/{name}", amounts, installed.at)
    before = _holders(installed.cluster_state)
    with one_cycle(installed) as cluster_state:
        _go_on(installed)
        yield from _admissions(case, cluster_state, before)
        yield from _reasons(case, installed)


def _go_on(installed: Installed) -> None:
    """Further cycles until nothing is decided; inside the trial of the first."""
    for key in installed.cluster_state.partition_keys():
        number = 0
        while plan_cycle(
            installed.cluster_state, key, installed.at, f"more-{key}-{number}"
        ).decisions:
            number += 1


@contextmanager
def one_cycle(installed: Installed) -> Iterator[ClusterState]:
    """The cell as it is after one cycle of every partition; undone on leaving."""
    cluster_state = installed.cluster_state
    installed.made = []
    with cluster_state.overlay():
        for number, key in enumerate(cluster_state.partition_keys()):
            plan = plan_cycle(cluster_state, key, installed.at, f"cycle-{number}")
            installed.made += [fact for decision in plan.decisions for fact in decision.events]
        yield cluster_state


def _admissions(case: Case, cluster_state: ClusterState, before: dict[str, Any]) -> Iterator[str]:
    found = _holders(cluster_state)
    if "wantAssignments" in case.want:
        yield from differences(
            "admitted", _wanted(case.want["wantAssignments"], cluster_state), found
        )
    elif "wantNewAssignments" not in case.want:
        yield from differences("admitted", _wanted(_admissions_in(case), cluster_state), found)
    if "wantNewAssignments" in case.want:
        new = {
            key: given
            for key, given in found.items()
            if before.get(key) != given or _lost_its_hosts(cluster_state.workloads[key])
        }
        yield from differences(
            "admitted", _wanted(case.want["wantNewAssignments"], cluster_state), new
        )


def _lost_its_hosts(workload: Workload) -> bool:
    """Whether its hosts failed and no others were found; Kueue lists its admission among the new.

    It was evicted for that in this cycle, or goes on waiting for other hosts.
    """
    is_evicted = workload.eviction is not None and workload.eviction.reason == "NodeFailures"
    return is_evicted or bool(workload.unhealthy_nodes)


def _admissions_in(case: Case) -> dict[str, Any]:
    """The admissions of the workloads that are wanted."""
    return {
        f"{value['metadata'].get('namespace', '')}/{value['metadata']['name']}": admission
        for value in case.want.get("wantWorkloads") or ()
        if (admission := (value.get("status") or {}).get("admission"))
    }


def _preemptions(case: Case, cluster_state: ClusterState) -> Iterator[str]:
    wanted = case.derived.get("preempted")
    if wanted is None and "wantWorkloads" not in case.want:
        return
    keyed = {key_of(key): reason for key, reason in (wanted or {}).items()}
    yield from differences("preempted", keyed, preempted_in(cluster_state))
    for value in case.want.get("wantWorkloads") or ():
        yield from _told(value, cluster_state)


def _told(value: dict[str, Any], cluster_state: ClusterState) -> Iterator[str]:
    """What a victim of the cycle is told, without what a gate that is off would add."""
    metadata = value["metadata"]
    workload = cluster_state.workloads.get(
        key_of(f"{metadata.get('namespace', '')}/{metadata['name']}")
    )
    if workload is None or not _preempted(workload):
        return
    for wanted in (value.get("status") or {}).get("conditions") or ():
        if wanted["type"] in TELL_WHY and wanted["status"] == "True":
            found = condition(workload, wanted["type"])
            text = wanted["message"].partition("; preemptor effective priority")[0]
            told = worded(found.message) if found else ""
            yield from differences(f"{wanted['type']}.{workload.key}", text, told)


def preempted_in(cluster_state: ClusterState) -> dict[str, str]:
    """The workloads that the cycle preempted, with the reasons."""
    return {key: reason for key, w in cluster_state.workloads.items() if (reason := _preempted(w))}


def _waiting(case: Case, cluster_state: ClusterState) -> Iterator[str]:
    if "wantLeft" not in case.want:
        return
    wanted: dict[str, list[str]] = {}
    for place in ("wantLeft", "wantInadmissibleLeft"):
        for name, keys in (case.want.get(place) or {}).items():
            if keys:
                wanted.setdefault(name, []).extend(key_of(key) for key in keys)
    found: dict[str, list[str]] = {}
    for key, workload in sorted(cluster_state.workloads.items()):
        name = _waits_in(cluster_state, workload)
        if name:
            found.setdefault(name, []).append(key)
    yield from differences("waiting", {name: sorted(wanted[name]) for name in wanted}, found)


def _reasons(case: Case, installed: Installed) -> Iterator[str]:
    """The kind of reason for each workload that the cycle looked at in vain."""
    cluster_state = installed.cluster_state
    for value in case.want.get("wantWorkloads") or ():
        metadata, status = value["metadata"], value.get("status") or {}
        waiting = [c for c in status.get("conditions") or () if c["type"] == "QuotaReserved"]
        workload = cluster_state.workloads.get(
            key_of(f"{metadata.get('namespace', '')}/{metadata['name']}")
        )
        if workload is None or not waiting or waiting[0]["status"] == "True":
            continue
        found = recorded_reason(cluster_state, workload, installed.at)
        told = found.condition_reason if found else ""
        yield from differing_reasons(f"reason.{workload.key}", waiting[0]["reason"], told)


def _waits_in(cluster_state: ClusterState, workload: Workload) -> str:
    """The ClusterQueue in which it waits; empty if it does not."""
    local = cluster_state.config.local_queues.get(
        f"{workload.namespace}/{workload.spec.queue_name}"
    )
    is_there = local is not None and local.spec.cluster_queue in cluster_state.config.cluster_queues
    waits = (
        not has_quota_reservation(workload)
        and workload.finished_at is None
        and workload.spec.active
    )
    return local.spec.cluster_queue if local and is_there and waits else ""


def _holders(cluster_state: ClusterState) -> dict[str, Any]:
    return {
        key: shown(workload.admission)
        for key, workload in cluster_state.workloads.items()
        if workload.admission is not None
        and (has_quota_reservation(workload) or _is_replaced(workload))
    }


def _is_replaced(workload: Workload) -> bool:
    """Whether it ended in favour of a larger slice; what it had stays on record, as in Kueue."""
    finished = condition(workload, "Finished")
    return finished is not None and finished.reason == "WorkloadSliceReplaced"


def _wanted(assignments: dict[str, Any] | None, cluster_state: ClusterState) -> dict[str, Any]:
    found = {}
    for key, value in (assignments or {}).items():
        workload = cluster_state.workloads.get(key_of(key))
        pod_sets = workload.spec.pod_sets if workload else ()
        counts = {pod_set.name: pod_set.count for pod_set in pod_sets}
        found[key_of(key)] = shown(admission_of(value, counts))
    return found


def shown(admission: Admission) -> dict[str, Any]:
    """An admission as plain values that compare."""
    pod_sets = {
        given.name: {
            "count": given.count,
            "flavors": given.flavors,
            "usage": {name: n for name, n in given.resource_usage.items() if n},
            "hosts": [[d.values, d.count] for d in given.topology_assignment.domains]
            if given.topology_assignment
            else None,
        }
        for given in admission.pod_set_assignments
    }
    return {"clusterQueue": admission.cluster_queue, "podSets": pod_sets}


def _preempted(workload: Workload) -> str:
    """Why it was preempted in this cycle; empty if it was not."""
    if workload.eviction is None or workload.eviction.id == "before":
        return ""
    counted = [c for c in workload.evictions if c.reason == "Preempted"]
    return counted[-1].underlying_cause if counted else ""


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    found: list[Any] = list(value.values()) if isinstance(value, dict) else list(value)
    return found


def _further(objects: Iterable[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for value in objects:
        kind = kind_of(value)
        if kind in CREATED:
            yield kind, value


def _knows(case: Case, gate: str) -> bool:
    """Preemption gates are of every workload; how lost hosts are waited for is a rule."""
    return gate in {WAITS_FOR_HOSTS, "MultiKueueOrchestratedPreemption=true"}


NOT_COMPARED = {
    "want.wantEvents": "the workloads tell the same: their quota, preemptions and reasons",
    "want.eventMessagesCompared": "events are not compared",
    "want.wantSkippedPreemptions": "a metric; the preemptions themselves are compared",
    "want.wantPreemptionTargetRecomputations": "a metric; the preemptions themselves are compared",
    "want.wantWorkloadUseMergePatch": "another way of writing to the Kubernetes API",
    "want.wantWorkloads": "compared where the cycle is recorded",
    "derived.newQuotaReservations": "part of the assignments that are compared",
    "derived.preempted": "compared where the cycle is recorded",
    "shared.schedulingTimeout": "how long Kueue's test waits",
}
CYCLES = Family(cycle, _knows, NOT_COMPARED)

FAMILIES = {
    "TestSchedule": CYCLES,
    "TestScheduleForTAS": CYCLES,
    "TestScheduleForTASCohorts": CYCLES,
    "TestScheduleForTASPreemption": CYCLES,
    "TestScheduleForFairSharing": CYCLES,
    "TestScheduleRecomputePreemptionTargets": CYCLES,
    "TestScheduleConcurrentAdmission": CYCLES,
    "TestScheduleForAFS": Family(
        cycles_by_usage,
        lambda _, gate: gate == SHARES_NOTHING,
        {
            **NOT_COMPARED,
            "inputs.deleteQueue": "it is gone for the API server, not for the cycle, which goes on",
        },
    ),
    "TestEntryOrdering": Family(turns),
    "TestLastSchedulingContext": Family(two_cycles),
}
