"""Where a workload waits after a cycle has looked at it, by what came of the look.

Kueue's cases name the reason in a call of its queue. Here each reason is brought about: quota,
namespaces and competitors are such that a cycle of the engine comes to it.
"""

from collections.abc import Callable, Iterator
from typing import Any

from headgate.application.queries.queue_status import pending_order
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.scheduling.pending_reasons import recorded_reason
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Family
from tests.conformance.families.reasons import differing_reasons
from tests.conformance.installed import Installed

QUEUE = "cq"
HOST_LEVELS = [{"nodeLabel": "kubernetes.io/hostname"}]
Manifest = dict[str, Any]
Situation = Callable[[Installed, Manifest, Manifest], str]
"""Brings about a reason for a workload in a ClusterQueue of this spec; the workload's key."""


def best_effort(case: Case) -> Iterator[str]:
    """Whether a requeued workload is looked at again at once, and whether it is kept first."""
    made, reason = _requeued(case)
    reason = reason or _by_flavors(case.mapped("lastAssignment"))
    installed = Installed()
    key = brought_about(reason)(installed, made, {})
    yield from differences("inadmissible", case.want["wantInadmissible"], _is_apart(installed, key))
    yield from differences("sticky", case.want["wantSticky"], _is_kept_first(installed, key))


def strict(case: Case) -> Iterator[str]:
    """Whether a workload requeued in a strict line is looked at again at once."""
    made, reason = _requeued(case)
    installed = Installed()
    spec = {"queueingStrategy": "StrictFIFO"}
    key = brought_about(reason or "NoFit")(installed, made, spec)
    yield from differences("inadmissible", case.want["wantInadmissible"], _is_apart(installed, key))


def entry_of_a_cycle(case: Case) -> Iterator[str]:
    """Where an entry lies after its cycle, and what is said of it."""
    installed = Installed()
    entry = case.mapped("e")
    reason = entry.get("quotaReservedReason", "")
    status = entry.get("status") or entry.get("requeueReason") or TOLD.get(reason, "NoFit")
    key = brought_about(status)(installed, case.shared["w1"], {})
    is_apart = _is_apart(installed, key)
    yield from differences("inadmissible", bool(_all(case.want["wantInadmissible"])), is_apart)
    yield from differences("in line", bool(_all(case.want["wantWorkloads"])), not is_apart)
    conditions = (case.want["wantStatus"] or {}).get("conditions") or ()
    found = recorded_reason(
        installed.cluster_state, installed.cluster_state.workloads[key], installed.at
    )
    for condition in conditions:
        if condition["type"] == "QuotaReserved" and reason:
            told = found.condition_reason if found else ""
            yield from differing_reasons("reason", condition["reason"], told)


def _requeued(case: Case) -> tuple[Manifest, str]:
    """The workload that the body requeues, and the reason that it gives for it."""
    (made,) = [found for found in case.setup() if found["kind"] == "Workload"]
    reason: str = next(iter(made.get("args") or ()), "") or case.text("reason")
    return made["object"], reason


def _all(lists: dict[str, list[str]] | None) -> list[str]:
    return [key for keys in (lists or {}).values() for key in keys or ()]


def brought_about(reason: str) -> Situation:
    """What brings about a reason; ValueError for one that nothing here comes to."""
    if reason not in SITUATIONS:
        raise ValueError(f"no situation comes to the reason {reason!r}")
    return SITUATIONS[reason]


def second_passes(case: Case) -> Iterator[str]:
    """The workloads with quota that still need hosts, after one of them was updated."""
    installed = Installed()
    installed.add("AdmissionCheck", {"metadata": {"name": "prov-check"}})
    installed.add("Topology", {"metadata": {"name": "hosts"}, "spec": {"levels": HOST_LEVELS}})
    spec = {"topologyName": "hosts", "nodeLabels": {"kind": "tas"}}
    installed.add("ResourceFlavor", {"metadata": {"name": "tas-default"}, "spec": spec})
    checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": "prov-check"}]}}
    _add_queue(installed, "tas-main", [("tas-default", "9")], checks)
    updated = case.given("updateWorkload")
    for value in case.listed("workloads"):
        is_updated = updated and value["metadata"]["name"] == updated["metadata"]["name"]
        installed.add("Workload", updated if is_updated else value)
    ready = sorted(installed.partition_of("tas-main").watch.second_pass_pending)
    yield from differences("ready", sorted(case.want["wantReady"] or ()), ready)


def making_room(installed: Installed, value: Manifest, spec: Manifest) -> str:
    """It fits once the victims of its cycle have stopped."""
    preempting = {"preemption": {"withinClusterQueue": "LowerPriority"}, **spec}
    _add_queue(installed, QUEUE, [("only", "2")], preempting)
    _add_workload(installed, QUEUE, {"metadata": {"name": "low"}}, priority=-1)
    _cycle(installed)
    key = _add_workload(installed, QUEUE, value)
    _cycle(installed)
    return key


def not_recorded(installed: Installed, value: Manifest, spec: Manifest) -> str:
    """What its cycle decided could not be recorded."""
    _add_queue(installed, QUEUE, [("only", "2")], spec)
    key = _add_workload(installed, QUEUE, value)
    with installed.cluster_state.overlay():
        plan = plan_cycle(installed.cluster_state, f"clusterqueue/{QUEUE}", installed.at, "refused")
        assert plan.decisions, "it fits"
    return key


def wrong_namespace(installed: Installed, value: Manifest, spec: Manifest) -> str:
    """Its namespace is none that the ClusterQueue takes work from."""
    selector = {"namespaceSelector": {"matchLabels": {"taken": "yes"}}}
    _add_queue(installed, QUEUE, [("only", "2")], {**selector, **spec})
    key = _add_workload(installed, QUEUE, value)
    _cycle(installed)
    return key


def nothing_fits(installed: Installed, value: Manifest, spec: Manifest) -> str:
    """None of its flavors has so much quota, and all of them were looked at."""
    _add_queue(installed, QUEUE, [("one", "1"), ("other", "1")], spec)
    key = _add_workload(installed, QUEUE, value)
    _cycle(installed)
    return key


def no_candidates(installed: Installed, value: Manifest, spec: Manifest) -> str:
    """It would fit if others left, and none of them may be preempted for it."""
    preempting = {"preemption": {"withinClusterQueue": "LowerPriority"}, **spec}
    _add_queue(installed, QUEUE, [("only", "2")], preempting)
    _add_workload(installed, QUEUE, {"metadata": {"name": "high"}}, priority=1)
    _cycle(installed)
    key = _add_workload(installed, QUEUE, value)
    _cycle(installed)
    return key


def outrun(installed: Installed, value: Manifest, spec: Manifest) -> str:
    """Another of its cohort took the room it was nominated for; in another flavor there is some."""
    pool = _groups([("one", "2"), ("other", "2")])
    installed.add("Cohort", {"metadata": {"name": "both"}, "spec": {"resourceGroups": pool}})
    for name in (QUEUE, "quicker"):
        in_cohort = {"cohortName": "both", **spec}
        _add_queue(installed, name, [("one", "0"), ("other", "0")], in_cohort)
    key = _add_workload(installed, QUEUE, value)
    _add_workload(installed, "quicker", {"metadata": {"name": "quick"}}, priority=9)
    _cycle(installed, "cohort/both")
    return key


def gate_closed(installed: Installed, value: Manifest, spec: Manifest) -> str:
    """It would preempt, and its preemption gate is closed."""
    gates = {"preemptionGates": [{"name": "example.com/gate"}]}
    return making_room(installed, {**value, "spec": {**value["spec"], **gates}}, spec)


def _add_queue(
    installed: Installed, name: str, flavors: list[tuple[str, str]], spec: Manifest
) -> None:
    for flavor, _ in flavors:
        if flavor not in installed.cluster_state.config.resource_flavors:
            installed.add("ResourceFlavor", {"metadata": {"name": flavor}})
    given = {"namespaceSelector": {}, "resourceGroups": _groups(flavors), **spec}
    installed.add("ClusterQueue", {"metadata": {"name": name}, "spec": given})
    installed.add("LocalQueue", {"metadata": {"name": name}, "spec": {"clusterQueue": name}})


def _groups(flavors: list[tuple[str, str]]) -> list[Manifest]:
    listed = [
        {"name": flavor, "resources": [{"name": "cpu", "nominalQuota": nominal}]}
        for flavor, nominal in flavors
    ]
    return [{"coveredResources": ["cpu"], "flavors": listed}]


def _add_workload(installed: Installed, queue: str, value: Manifest, priority: int = 0) -> str:
    """It asks for two cores."""
    pod = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}
    pod_sets = [{"name": "main", "count": 1, "template": {"spec": pod}}]
    spec = {**value.get("spec", {}), "podSets": pod_sets, "queueName": queue, "priority": priority}
    metadata = {**value["metadata"], "namespace": "default"}
    installed.add("Workload", {**value, "metadata": metadata, "spec": spec})
    return f"default/{metadata['name']}"


def _cycle(installed: Installed, partition: str = f"clusterqueue/{QUEUE}") -> None:
    """One cycle; its decisions stay."""
    cluster_state = installed.cluster_state
    with cluster_state.overlay() as overlay:
        plan_cycle(cluster_state, partition, installed.at, f"at-{cluster_state.position}")
        overlay.keep(cluster_state.position)


def _is_apart(installed: Installed, key: str) -> bool:
    """Whether it waits for something to change before it is looked at again."""
    line = installed.partition_of(QUEUE).pending[QUEUE]
    return key not in line.in_heap or line.in_heap[key].equivalence_class in line.inadmissible


def _is_kept_first(installed: Installed, key: str) -> bool:
    """Whether it goes before one of higher priority that came later."""
    _add_workload(installed, QUEUE, {"metadata": {"name": "urgent"}}, priority=9)
    return pending_order(installed.cluster_state, QUEUE).keys[0] == key


def _by_flavors(last: Manifest) -> str:
    """Whether flavors were left that had not been tried when nothing fitted."""
    tried = [
        index for pod_set in last.get("lastTriedFlavorIdx") or () for index in pod_set.values()
    ]
    return "PendingFlavors" if any(index >= 0 for index in tried) else "NoFit"


SITUATIONS: dict[str, Situation] = {
    "PendingPreemption": making_room,
    "PreemptionFailed": not_recorded,
    "PreemptionGated": gate_closed,
    "PreemptionNoCandidates": no_candidates,
    "FailedAfterNomination": not_recorded,
    "SnapshotFailed": not_recorded,
    "NamespaceMismatch": wrong_namespace,
    "NoFit": nothing_fits,
    "PendingFlavors": nothing_fits,
    "nominated": not_recorded,
    "assumed": not_recorded,
    "skipped": outrun,
    "preemptionGated": gate_closed,
}
"""By Kueue's reason of a requeue, or by the status of an entry of its cycle."""

TOLD = {"WaitingForQuota": "PreemptionNoCandidates", "Misconfigured": "NamespaceMismatch"}
"""What brings about a reason of an entry that was not nominated; else nothing ever fits."""

FAMILIES = {
    "TestBestEffortFIFORequeueIfNotPresent": Family(
        best_effort, unread={"inputs.reason": "the setup has it with the workload"}
    ),
    "TestStrictFIFORequeueIfNotPresent": Family(strict),
    "TestQueueSecondPassIfNeeded": Family(
        second_passes,
        unread={
            "want.wantUpdateQueued": "here nothing is queued: a second pass follows from the state",
            "inputs.passTime": "a second pass waits for nothing",
        },
    ),
}
CYCLE_FAMILIES = {
    "TestRequeueAndUpdate": Family(
        entry_of_a_cycle,
        unread={
            "shared.cq": "each situation makes its own",
            "shared.q1": "each situation makes its own",
            "shared.setup": "the namespace that objects are in",
            "want.wantStatusUpdates": "the number of calls of the Kubernetes API",
        },
    )
}
