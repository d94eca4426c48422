"""Assignments as an executor reads them, the environment of their pods, and the view of all.

Ranks count the pods of all pod sets of a workload, as they were when its attempt began.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from headgate.domain.field_rules import MAX_LABEL_LENGTH
from headgate.executor.substrate import NodeLossPolicy, Object, PodPlan, RunKey, StopOrder

SUBMITTED_AS = "headgate.dev/submitted-as"
"""The annotation with the kind of manifest a workload was submitted as (registry.SUBMITTED_AS)."""
JOB_NAMES = ("batch.kubernetes.io/job-name", "job-name")
JOB_SET_NAME = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB_NAME = "jobset.sigs.k8s.io/replicatedjob-name"


class Rendezvous(msgspec.Struct, frozen=True, kw_only=True):
    """Where the ranks of a workload meet: the node of rank 0 and a port of its executor."""

    host: str = ""
    port: int = 0


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """The user who submitted a workload."""

    user: str = ""


class AssignedPod(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A pod of this executor with its current run; an empty node leaves the choice to it.

    `started` is whether this run was reported to have started, perhaps by an earlier process.
    """

    index: int
    rank: int
    run: int
    node: str = ""
    started: bool = False


class PodIndexLabels(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The labels of a pod's index in its subgroup, and of the subgroup among as large ones."""

    label: str
    sub_group_label: str | None = None
    sub_group_size: int = 0


class AssignedPodSet(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The pods of one pod set, and the template as it was submitted."""

    name: str
    template: Object = {}
    pods: tuple[AssignedPod, ...] = ()
    pod_index: PodIndexLabels | None = None


class Order(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An order to stop all pods, or those that are left after `deadline`."""

    id: str = ""
    reason: str = ""
    message: str = ""
    deadline: str | None = None
    preemptor: str | None = None


class PodIndices(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Pods of a pod set by ranges, as `0-3,6`."""

    pod_set: str
    indices: str


class PodEviction(Order, frozen=True, kw_only=True, rename="camel"):
    """An order to stop some pods alone."""

    pods: tuple[PodIndices, ...] = ()


class Assignment(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One workload with the pods that this executor runs or stops; `ended` when it has none."""

    workload: str
    uid: str
    attempt: int
    owner: Owner | None = None
    node_loss_policy: NodeLossPolicy = "Replace"
    world_size: int | None = None
    rendezvous: Rendezvous | None = None
    hosts: tuple[str, ...] = ()
    pod_sets: tuple[AssignedPodSet, ...] = ()
    eviction: Order | None = None
    stop: Order | None = None
    pod_evictions: tuple[PodEviction, ...] = ()
    annotations: dict[str, str] = {}
    ended: bool = False


class DesiredRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that the server has assigned, and the order to stop it if there is one.

    A run that `awaits_port` is not started: the ports of the executor of rank 0 are all in use. One
    that `has_started`, as the log has it, is not started again.
    """

    plan: PodPlan
    order: StopOrder | None = None
    awaits_port: bool = False
    has_started: bool = False


def desired_runs(
    assignments: Iterable[Assignment], *, log_id: str, max_output_bytes: int
) -> dict[str, DesiredRun]:
    """Returns the assigned runs by name."""
    found = {}
    for assignment in assignments:
        for desired in _runs_of(assignment, log_id, max_output_bytes):
            found[desired.plan.key.name] = desired
    return found


def _runs_of(assignment: Assignment, log_id: str, max_output_bytes: int) -> Iterator[DesiredRun]:
    whole = _whole_order(assignment)
    single = _single_orders(assignment)
    for pod_set in assignment.pod_sets:
        for pod in pod_set.pods:
            key = RunKey(
                workload=assignment.workload,
                uid=assignment.uid,
                attempt=assignment.attempt,
                pod_set=pod_set.name,
                index=pod.index,
                run=pod.run,
            )
            plan = PodPlan(
                key=key,
                log_id=log_id,
                owner=assignment.owner.user if assignment.owner else "",
                node=pod.node,
                template=_with_labels(pod_set.template, _labels_of(assignment, pod_set, pod.index)),
                environment=environment_of(assignment, pod_set, key, pod),
                hosts=assignment.hosts,
                node_loss_policy=assignment.node_loss_policy,
                max_output_bytes=max_output_bytes,
            )
            order = whole or single.get((key.pod_set, key.index))
            yield DesiredRun(
                plan=plan,
                order=order,
                awaits_port=_awaits_port(assignment),
                has_started=pod.started,
            )


def _awaits_port(assignment: Assignment) -> bool:
    meeting = assignment.rendezvous
    return meeting is not None and not meeting.port and len(assignment.hosts) > 1


RELIST_SECONDS = 60.0
RELIST_FOR_PORT_SECONDS = 5.0


def seconds_to_relist(items: Iterable[Mapping[str, Any]]) -> float:
    """Returns when to list assignments again; sooner where one awaits its port, as no event is."""
    meetings = [each.get("rendezvous") for each in items]
    awaits_port = any(each is not None and not each.get("port") for each in meetings)
    return RELIST_FOR_PORT_SECONDS if awaits_port else RELIST_SECONDS


def environment_of(
    assignment: Assignment, pod_set: AssignedPodSet, key: RunKey, pod: AssignedPod
) -> dict[str, str]:
    """Returns the variables of a run but for those of its host: files, node and devices.

    A pod has one rank, and so the local rank 0 of 1 (names of torchrun). With more completions than
    pods run at a time there is no world size, as pods come one after another, and the rank is the
    completion index.
    """
    namespace, _, name = assignment.workload.partition("/")
    rank = str(key.index if assignment.world_size is None else pod.rank)
    world = "" if assignment.world_size is None else str(assignment.world_size)
    meeting = assignment.rendezvous or Rendezvous()
    host, port = meeting.host, meeting.port
    found = {
        "HEADGATE_NAMESPACE": namespace,
        "HEADGATE_WORKLOAD": name,
        "HEADGATE_UID": assignment.uid,
        "HEADGATE_ATTEMPT": str(assignment.attempt),
        "HEADGATE_RUN": str(key.run),
        "HEADGATE_POD_SET": key.pod_set,
        "HEADGATE_POD_INDEX": str(key.index),
        "HEADGATE_RANK": rank,
        "HEADGATE_WORLD_SIZE": world,
        "HEADGATE_RENDEZVOUS": f"{host}:{port}" if port else "",
        "RANK": rank,
        "WORLD_SIZE": world,
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "NODE_RANK": rank,
        "MASTER_ADDR": host,
        "MASTER_PORT": str(port) if port else "",
        "JOB_COMPLETION_INDEX": str(_index_in_sub_group(pod_set, key.index)[1]),
    }
    return {variable: value for variable, value in found.items() if value}


def _index_in_sub_group(pod_set: AssignedPodSet, index: int) -> tuple[int, int]:
    """The subgroup of a pod (JobSet: its Job among the replicas), and its index in that."""
    known = pod_set.pod_index
    return divmod(index, known.sub_group_size) if known and known.sub_group_size else (0, index)


def _labels_of(assignment: Assignment, pod_set: AssignedPodSet, index: int) -> dict[str, str]:
    """The labels that controllers of Kubernetes give the pods of Jobs and JobSets."""
    found: dict[str, str] = {}
    group, position = _index_in_sub_group(pod_set, index)
    if pod_set.pod_index is not None:
        found[pod_set.pod_index.label] = str(position)
        if pod_set.pod_index.sub_group_label:
            found[pod_set.pod_index.sub_group_label] = str(group)
    kind = assignment.annotations.get(SUBMITTED_AS, "").rpartition(" ")[2]
    name = assignment.workload.rpartition("/")[2]
    if kind == "JobSet":
        found |= {JOB_SET_NAME: name, REPLICATED_JOB_NAME: pod_set.name}
        name = f"{name}-{pod_set.name}-{group}"
    if kind in {"Job", "JobSet"}:
        found |= dict.fromkeys(JOB_NAMES, name)
    return {label: value for label, value in found.items() if len(value) <= MAX_LABEL_LENGTH}


def _with_labels(template: Object, labels: dict[str, str]) -> Object:
    """The template with labels, as annotations too; what it says itself stays."""
    if not labels:
        return template
    metadata = template.get("metadata") or {}
    added = {part: {**labels, **(metadata.get(part) or {})} for part in ("labels", "annotations")}
    return {**template, "metadata": {**metadata, **added}}


def _whole_order(assignment: Assignment) -> StopOrder | None:
    order = assignment.eviction or assignment.stop
    if order is None:
        return None
    return _stop_order(order, assignment.attempt, is_eviction=assignment.eviction is not None)


def _single_orders(assignment: Assignment) -> dict[tuple[str, int], StopOrder]:
    found = {}
    for eviction in assignment.pod_evictions:
        order = _stop_order(eviction, assignment.attempt, is_eviction=True)
        for pods in eviction.pods:
            for index in indices_of(pods.indices):
                found[pods.pod_set, index] = order
    return found


def _stop_order(order: Order, attempt: int, *, is_eviction: bool) -> StopOrder:
    return StopOrder(
        id=order.id,
        attempt=attempt,
        reason=order.reason,
        message=order.message,
        deadline=order.deadline or "",
        preemptor=order.preemptor or "",
        is_eviction=is_eviction,
    )


def indices_of(ranges: str) -> Iterator[int]:
    """Returns the numbers of ranges as `0-3,6`."""
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


class AssignmentView:
    """All assignments of an executor at a position of the log."""

    def __init__(self) -> None:
        self._by_workload: dict[str, Assignment] = {}
        self.position = 0
        self.log_id = ""

    def replace(self, position: int, log_id: str, assignments: Iterable[Assignment]) -> None:
        """Sets the view to a whole list."""
        self._by_workload = {each.workload: each for each in assignments}
        self.position, self.log_id = position, log_id

    def apply(self, position: int, assignment: Assignment) -> None:
        """Replaces what is known of one workload."""
        self.position = max(self.position, position)
        if not assignment.ended:
            self._by_workload[assignment.workload] = assignment
            return
        known = self._by_workload.get(assignment.workload)
        if known is not None and known.uid == assignment.uid:
            del self._by_workload[assignment.workload]

    def of(self, workload: str) -> list[Assignment]:
        """Returns the assignment of a workload, if there is one."""
        found = self._by_workload.get(workload)
        return [] if found is None else [found]

    def assignments(self) -> list[Assignment]:
        """Returns the assignments in order of workloads."""
        return [self._by_workload[name] for name in sorted(self._by_workload)]
