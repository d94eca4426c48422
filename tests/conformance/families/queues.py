"""The pending workloads of a ClusterQueue and their order (`pkg/cache/queue`)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headgate.application.queries.queue_status import pending_order
from headgate.domain.kinds.queue_activity import cluster_queue_activity
from headgate.domain.scheduling.lifecycle.transitions import due_events
from headgate.domain.scheduling.ordering.pending_queue import PendingQueue
from headgate.domain.workloads.events import WorkloadDeleted, WorkloadSpecChanged
from headgate.domain.workloads.predicates import has_quota_reservation, is_admissible
from headgate.domain.workloads.state import Workload
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.consumption import first_by_usage
from tests.conformance.families.family import Family
from tests.conformance.installed import NAMESPACE, Installed, key_of, read

QUEUE = "cq"
NAMESPACES = {"ns1": "eng", "ns2": "sales", "ns3": "marketing"}
"""The namespaces that the body of TestClusterQueueImpl makes, with their label `dep`."""


def add_workload(case: Case) -> Iterator[str]:
    """Whether a workload gets in line, and through which LocalQueue."""
    installed = _with_queues(case)
    installed.add("Workload", case.inputs["workload"])
    (workload,) = installed.cluster_state.workloads.values()
    waits = _waits(installed, workload)
    yield from differences("refused", case.want["wantErr"] is not None, not waits)
    yield from differences("assigned", _keys(case.want["wantAssigned"]), _assigned(installed))


def backoff_is_over(case: Case) -> Iterator[str]:
    """Whether a workload may compete at the test's time."""
    installed = _alone([case.inputs["workloadInfo"]["obj"]])
    (key,) = installed.cluster_state.workloads
    _let_time_pass(installed, key)
    yield from differences(
        "over", case.want["want"], is_admissible(installed.cluster_state.workloads[key])
    )


def push_or_update(case: Case) -> Iterator[str]:
    """Whether a workload stands in line, or waits beside it."""
    value = case.inputs["workload"]
    installed = _alone([value])
    (key,) = installed.cluster_state.workloads
    if not _waits_to_be_told(value):
        _let_time_pass(installed, key)
    in_line = _in_line(installed, key)
    yield from differences("in line", case.want["wantWorkload"] is not None, in_line)
    yield from differences("beside", bool(case.want["wantInAdmissibleWorkloads"]), not in_line)


def _waits_to_be_told(value: dict[str, Any]) -> bool:
    """Whether only Kueue's other controller says that the workload is requeued."""
    conditions = (value.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Requeued" and c["status"] == "False" for c in conditions)


def line_after_changes(case: Case) -> Iterator[str]:
    """A ClusterQueue after workloads were added, set apart, changed and deleted."""
    apart = [_object(found) for found in case.listed("inadmissibleWorkloadsToRequeue")]
    again = [_object(found) for found in case.listed("admissibleWorkloadsToRequeue")]
    updated = case.listed("workloadsToUpdate")
    (made,) = [found for found in case.setup() if found["kind"] == "ClusterQueue"]
    installed = _alone(
        _of_own_shape([*case.listed("workloadsToAdd"), *apart, *again]),
        spec=made["object"]["spec"],
        doors=updated,
        namespaces=NAMESPACES,
    )
    for value in apart:
        if _key(value) not in {_key(found) for found in again}:
            _line(installed).mark_inadmissible(_key(value))
    _change(installed, updated, case.listed("workloadsToDelete"))
    before = _active(_line(installed))
    if case.given("queueInadmissibleWorkloads"):
        installed.partition_of(QUEUE).requeue_inadmissible()
    active = _active(_line(installed))
    moved = [key for key in active if key not in before]
    wanted = sorted(key_of(key) for key in case.want["wantActiveWorkloads"] or ())
    yield from differences("active", wanted, active)
    yield from differences("moved", case.want["wantInadmissibleWorkloadsRequeued"], len(moved))
    yield from differences(
        "pending", case.want["wantPending"], len(installed.cluster_state.workloads)
    )


def _of_own_shape(values: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each of the workloads once, none like another, so that none is set apart with another."""
    found = {}
    for value in values:
        own = {"own": value["metadata"]["name"]}
        pod_sets = [_with_selector(pod_set, own) for pod_set in value["spec"].get("podSets") or ()]
        found[_key(value)] = {**value, "spec": {**value["spec"], "podSets": pod_sets}}
    return list(found.values())


def _with_selector(pod_set: dict[str, Any], selector: dict[str, str]) -> dict[str, Any]:
    template = pod_set.get("template") or {}
    pod = {**(template.get("spec") or {}), "nodeSelector": selector}
    return {**pod_set, "template": {**template, "spec": pod}}


def _change(
    installed: Installed, updated: Iterable[dict[str, Any]], deleted: Iterable[dict[str, Any]]
) -> None:
    for value in _of_own_shape(updated):
        desired = read("Workload", _queued(value))
        known = installed.cluster_state.workloads.get(_key(value))
        if known is None:
            installed.add("Workload", _queued(value))
            continue
        changed = WorkloadSpecChanged(spec=desired.spec)
        installed.record(f"workload/{_key(value)}", changed)
        installed.report(known, desired, value)
    for value in deleted:
        installed.record(f"workload/{_key(value)}", WorkloadDeleted())


def heads(case: Case) -> Iterator[str]:
    """The first of every active ClusterQueue."""
    installed = Installed()
    installed.add("ClusterQueue", *(_as_active_as_named(q) for q in case.shared["clusterQueues"]))
    installed.add("LocalQueue", *case.shared["queues"])
    installed.add("Workload", *case.listed("workloads"))
    cluster_state = installed.cluster_state
    found = [
        cluster_state.workloads[key]
        for name in cluster_state.config.cluster_queues
        if (line := installed.partition_of(name).pending.get(name)) is not None
        and cluster_queue_activity(cluster_state.config, name).active
        and (key := line.head()) is not None
    ]
    wanted = sorted(case.want["wantWorkloads"] or ())
    yield from differences("heads", wanted, sorted(workload.name for workload in found))
    yield from differences("assigned", _keys(case.want["wantAssigned"]), _assigned(installed))


def _as_active_as_named(queue: dict[str, Any]) -> dict[str, Any]:
    """The body of TestHeads lets those be active that are called so; the others are stopped."""
    is_active = queue["metadata"]["name"].startswith("active-")
    return queue if is_active else {**queue, "spec": {**queue["spec"], "stopPolicy": "Hold"}}


def back_in_line(case: Case) -> Iterator[str]:
    """The workloads requeued after capacity of some ClusterQueues was freed."""
    installed = Installed()
    installed.add_setup(case.setup())
    installed.add("Cohort", *case.listed("cohorts"))
    installed.add("ClusterQueue", *case.listed("clusterQueues"))
    installed.add("LocalQueue", *case.listed("localQueues"))
    installed.add("Workload", *case.listed("workloads"))
    queues = sorted(installed.cluster_state.config.cluster_queues)
    before = {name: _parked(installed, name) for name in queues}
    for name in case.listed("cqNames"):
        if name in before:
            installed.partition_of(name).requeue_inadmissible()
    lines = {name: installed.partition_of(name).pending[name] for name in queues}
    active = {name: found for name, line in lines.items() if (found := _active(line))}
    apart = {name: left for name in queues if (left := _missing(before[name], active.get(name)))}
    yield from differences("active", _lists(case.want["wantActive"]), active)
    yield from differences("inadmissible", _lists(case.want["wantInadmissible"]), apart)
    moved = sum(len(keys) for keys in active.values())
    yield from differences("moved", case.want["wantMovedCount"], moved)


def requeued(case: Case) -> Iterator[str]:
    """Whether a workload that was looked at gets in line anew."""
    installed = _with_queues(case)
    added = bool(case.given("inClient"))
    if added:
        installed.add("Workload", case.inputs["workload"])
    in_line = added and _in_line(installed, _key(case.inputs["workload"]))
    anew = not case.given("inQueue") and in_line
    yield from differences("requeued", case.want["wantRequeued"], anew)


def first_of_two(case: Case) -> Iterator[str]:
    """Which of two workloads a StrictFIFO queue takes first."""
    ordering = case.mapped("workloadOrdering")
    installed = _alone(
        [case.inputs["w1"], case.inputs["w2"]],
        spec={
            "queueingStrategy": "StrictFIFO",
            "waitForPodsReady": {
                "timeout": "5m",
                "requeuingStrategy": {
                    "timestamp": ordering.get("podsReadyRequeuingTimestamp", "Eviction")
                },
            },
        },
    )
    for key in installed.cluster_state.workloads:
        _let_time_pass(installed, key)
    head = _line(installed).head() or ""
    yield from differences("first", case.want["expected"], head.partition("/")[2])


def shown_in_order(case: Case) -> Iterator[str]:
    """The order in which all that wait are shown."""
    values = [*case.listed("workloads"), *case.listed("inadmissibleWorkloads")]
    installed = _alone(values)
    wanted = [_key(found["obj"]) for found in case.checked["firstSnap"]]
    yield from differences(
        "order", wanted, list(pending_order(installed.cluster_state, QUEUE).keys)
    )


def _alone(
    values: Iterable[dict[str, Any]],
    *,
    spec: dict[str, Any] | None = None,
    doors: Iterable[dict[str, Any]] = (),
    namespaces: Mapping[str, str] | None = None,
) -> Installed:
    """One ClusterQueue open to all namespaces, with a LocalQueue for every name that is used."""
    installed = Installed()
    for namespace, department in (namespaces or {}).items():
        metadata = {"name": namespace, "labels": {"dep": department}}
        installed.add("Namespace", {"metadata": metadata})
    installed.add(
        "ClusterQueue",
        {"metadata": {"name": QUEUE}, "spec": {"namespaceSelector": {}, **(spec or {})}},
    )
    workloads = [_queued(value) for value in values]
    names = {
        (value["metadata"].get("namespace", NAMESPACE), value["spec"]["queueName"])
        for value in (*workloads, *(_queued(door) for door in doors))
    }
    for namespace, name in sorted(names):
        metadata = {"name": name, "namespace": namespace}
        installed.add("LocalQueue", {"metadata": metadata, "spec": {"clusterQueue": QUEUE}})
    installed.add("Workload", *workloads)
    return installed


def _queued(value: dict[str, Any]) -> dict[str, Any]:
    spec = value.get("spec") or {}
    return {**value, "spec": {**spec, "queueName": spec.get("queueName") or "lq"}}


def _with_queues(case: Case) -> Installed:
    installed = Installed()
    installed.add("ClusterQueue", case.shared["cq"])
    installed.add("LocalQueue", *case.shared["queues"])
    return installed


def _let_time_pass(installed: Installed, key: str) -> None:
    """What follows for the workload from the time of the test."""
    cluster_state = installed.cluster_state
    while found := due_events(
        cluster_state.config, cluster_state.workloads[key], installed.at, "e"
    ):
        for event in found:
            installed.record(f"workload/{key}", event)


def _line(installed: Installed) -> PendingQueue:
    return installed.partition_of(QUEUE).pending[QUEUE]


def _waits(installed: Installed, workload: Workload) -> bool:
    """Whether it is in the line of its ClusterQueue, be it that it backs off."""
    cluster_state = installed.cluster_state
    local = cluster_state.config.local_queues.get(_door(workload))
    name = local.spec.cluster_queue if local else ""
    is_there = name in cluster_state.config.cluster_queues
    return is_there and workload.key in pending_order(cluster_state, name).keys


def _assigned(installed: Installed) -> dict[str, str]:
    """The LocalQueue of every workload that wants quota and names one that exists."""
    local_queues = installed.cluster_state.config.local_queues
    return {
        key: _door(workload)
        for key, workload in installed.cluster_state.workloads.items()
        if _door(workload) in local_queues
        and workload.spec.active
        and workload.finished_at is None
        and not has_quota_reservation(workload)
    }


def _in_line(installed: Installed, key: str) -> bool:
    cluster_state = installed.cluster_state
    return any(
        key in line.in_heap
        for name in cluster_state.partition_keys()
        for line in cluster_state.partition(name).pending.values()
    )


def _active(line: PendingQueue) -> list[str]:
    return sorted(
        key for key, way in line.in_heap.items() if way.equivalence_class not in line.inadmissible
    )


def _parked(installed: Installed, name: str) -> list[str]:
    line = installed.partition_of(name).pending[name]
    for key in tuple(line.in_heap):
        line.mark_inadmissible(key)
    return sorted(line.in_heap)


def _missing(before: list[str], active: list[str] | None) -> list[str]:
    return [key for key in before if key not in (active or ())]


def _object(value: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = value.get("obj") or value
    return found


def _key(value: dict[str, Any]) -> str:
    metadata = value["metadata"]
    return f"{metadata.get('namespace') or NAMESPACE}/{metadata['name']}"


def _door(workload: Workload) -> str:
    return f"{workload.namespace}/{workload.spec.queue_name}"


def _keys(assigned: dict[str, str] | None) -> dict[str, str]:
    return {key_of(key): key_of(queue) for key, queue in (assigned or {}).items()}


def _lists(found: dict[str, list[str]] | None) -> dict[str, list[str]]:
    return {name: sorted(key_of(key) for key in keys) for name, keys in (found or {}).items()}


FAMILIES = {
    "TestAddWorkload": Family(add_workload),
    "TestBackoffWaitingTimeExpired": Family(backoff_is_over),
    "Test_PushOrUpdate": Family(push_or_update),
    "TestClusterQueueImpl": Family(line_after_changes),
    "TestHeads": Family(heads),
    "TestQueueInadmissibleWorkloads": Family(
        back_in_line, unread={"want.wantMoveWorkloadsLogCount": "the number of lines of a log"}
    ),
    "TestRequeueWorkloadStrictFIFO": Family(requeued),
    "TestStrictFIFO": Family(first_of_two),
    "TestSnapshotDeterministicOrder": Family(shown_in_order),
    "TestFsAdmission": Family(first_by_usage),
}
