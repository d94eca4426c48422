"""The expected start of a workload, a range from past waits, and the edits that make it start.

Only waits that were lived through count: those of workloads of the same ClusterQueue and about the
same size. How well such ranges held before is told with them. An edit changes the workload, or the
quota of its ClusterQueue, so that a constraint is met.
"""

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from headgate.application.ports import ReadModels
from headgate.application.queries.views import Free, Schema, Timestamp, timestamp
from headgate.application.workload_filter import Waits, size_class
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.evaluation.unschedulable import PER_POD
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import Amount, Message, message
from headgate.domain.values.quantities import is_gpu, quantity_of
from headgate.domain.workloads.explanation import UNSCHEDULABLE, Blocker, Explanation
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload, condition, phase_of
from headgate.messages.catalogue import text_of

MIN_SAMPLES = 8
MAX_SAMPLES = 500
TENTH, HALF, NINE_TENTHS = 10, 50, 90
UNPREDICTABLE_REASONS = {
    UNSCHEDULABLE: message("WorkloadUnschedulable"),
    "OnHold": message("IsOnHold"),
    "Deactivated": message("IsInactive"),
    "AdmissionGated": message("AdmissionGatesClosed"),
    "Stopped": message("QueueIsStopped"),
    "LocalQueueStopped": message("QueueIsStopped"),
    "Quarantined": message("WorkloadQuarantined"),
}
INACTIVE_QUEUE = message("QueueIsInactive")
UNSCHEDULABLE_HEAD = message("HeadCannotStart")


class Calibration(Schema, kw_only=True, frozen=True):
    """Of so many earlier starts, how many fell within the range that would have been told.

    Told at their submission, from the starts before that; eight in ten are aimed at.
    """

    predictions: int
    held: int


class ExpectedStart(Schema, kw_only=True, frozen=True):
    """The median and the 10th to 90th percentile of past waits, or why there is no estimate.

    `code` is that of `cannot_say`. Of a workload that has started, the range is the one that would
    have been told at its submission, and `startedAt` is when it did.
    """

    about: Timestamp | None = None
    earliest: Timestamp | None = None
    latest: Timestamp | None = None
    basis: str = ""
    cannot_say: str = ""
    code: str = ""
    samples: int = 0
    calibration: Calibration | None = None
    started_at: Timestamp | None = None


def expected_start(
    cluster_state: ClusterState, workload: Workload, waits: Waits, why: Explanation, at: Instant
) -> ExpectedStart | None:
    """Returns the range or the reason for none; of a started workload the range of its submission.

    `waits` are those of workloads like it. None for one that ended without a start.
    """
    if workload.admission is not None:
        return _kept(workload, waits)
    if phase_of(workload) not in {"Pending", "Nominated", "Retrying", "OnHold", "Inactive"}:
        return None
    reason = _unforeseeable(cluster_state, why)
    if reason is not None:
        return _no_estimate(reason)
    waited = at - workload.created_at
    longer = sorted(wait for _, wait in waits if wait > waited)
    if len(waits) < MIN_SAMPLES:
        return _no_estimate(_too_few(len(waits)))
    if len(longer) < MIN_SAMPLES // 2:
        reason = message("PendingLongerThanSimilar", workloads=len(waits))
        return _no_estimate(reason, calibration_of(waits))
    again = workload.requeue.requeue_at or 0
    about, earliest, latest = (
        timestamp(max(again, workload.created_at + _percentile(longer, percent)))
        for percent in (HALF, TENTH, NINE_TENTHS)
    )
    told = message(
        "WaitOfSimilarWorkloads", workloads=len(longer), waited=waited // MICROSECONDS_PER_SECOND
    )
    return ExpectedStart(
        about=about,
        earliest=earliest,
        latest=latest,
        basis=text_of(told),
        samples=len(longer),
        calibration=calibration_of(waits),
    )


def _kept(workload: Workload, waits: Sequence[tuple[Instant, int]]) -> ExpectedStart | None:
    """The range that would have been told at the submission, beside the start."""
    reserved = condition(workload, "QuotaReserved")
    before = sorted(wait for start, wait in waits if start < workload.created_at)
    if len(before) < MIN_SAMPLES or reserved is None:
        return None
    created = workload.created_at
    return ExpectedStart(
        about=timestamp(created + _percentile(before, HALF)),
        earliest=timestamp(created + _percentile(before, TENTH)),
        latest=timestamp(created + _percentile(before, NINE_TENTHS)),
        samples=len(before),
        calibration=calibration_of(waits),
        started_at=timestamp(reserved.last_transition_at),
    )


def _no_estimate(reason: Message, calibration: Calibration | None = None) -> ExpectedStart:
    text = text_of(message("NoStartEstimate", reason=reason))
    return ExpectedStart(cannot_say=text, code=reason.code, calibration=calibration)


def _unforeseeable(cluster_state: ClusterState, why: Explanation) -> Message | None:
    """The reason that only a user can end, of the workload or of its queue's head; often None."""
    if why.dominant in UNPREDICTABLE_REASONS:
        return UNPREDICTABLE_REASONS[why.dominant]
    if any(blocker.type == "Queue" for blocker in why.blockers):
        return INACTIVE_QUEUE
    if why.dominant == "BehindHead":
        head = cluster_state.workloads.get(why.blockers[0].held_by[0])
        if head and head.explanation and head.explanation.dominant in UNPREDICTABLE_REASONS:
            return UNSCHEDULABLE_HEAD
    return None


def _too_few(count: int) -> Message:
    if not count:
        return message("NoSimilarWorkloadStarted")
    return message("FewSimilarWorkloadsStarted", workloads=count, needed=MIN_SAMPLES)


WaitKey = tuple[str, str]
"""A ClusterQueue and a size class, within which waits are alike."""


def wait_key(config: ObjectSet, workload: Workload) -> WaitKey:
    """Where the waits of workloads like this one are."""
    return cluster_queue_of(config, workload), size_class(workload)


def past_waits(models: ReadModels, keys: Iterable[WaitKey]) -> dict[WaitKey, Waits]:
    """The latest waits of each; read from the database."""
    return {key: models.waits_like(*key, limit=MAX_SAMPLES) for key in dict.fromkeys(keys)}


def calibration_of(waits: Sequence[tuple[Instant, int]]) -> Calibration:
    """How many starts fell between the 10th and the 90th percentile of the waits before them.

    Each is given as start and wait, in the order of the starts. What started after a workload was
    submitted did not count for its range.
    """
    known: list[int] = []
    started, predictions, held = 0, 0, 0
    for submitted_at, wait in sorted((start - wait, wait) for start, wait in waits):
        while started < len(waits) and waits[started][0] < submitted_at:
            insort(known, waits[started][1])
            started += 1
        if len(known) >= MIN_SAMPLES:
            predictions += 1
            held += _percentile(known, TENTH) <= wait <= _percentile(known, NINE_TENTHS)
    return Calibration(predictions=predictions, held=held)


def _percentile(ordered: Sequence[int], percent: int) -> int:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


class PatchOperation(Schema, kw_only=True, frozen=True):
    """One step of a JSON Patch (RFC 6902)."""

    op: Literal["test", "add", "replace", "remove"]
    path: str
    value: int | str | Free | None = None


EditCode = Literal["FewerPods", "PartialAdmission", "SmallerPods", "AnyDomain", "RaiseQuota"]


class SpecEdit(Schema, kw_only=True, frozen=True):
    """An edit of the spec of `kind` `name` that ends a constraint, with the role it needs.

    `text` says it in a few words. `patch` applies to the manifest; whether the workload then starts
    is for a simulation to say.
    """

    code: EditCode
    text: str
    kind: Literal["Workload", "ClusterQueue"]
    name: str
    requires: Literal["submitter", "admin"]
    patch: list[PatchOperation]


def edits_of(cluster_state: ClusterState, workload: Workload, why: Explanation) -> list[SpecEdit]:
    """The edits that end constraints of a pending workload, those of the workload itself first."""
    if workload.admission is not None or workload.finished_at is not None:
        return []
    own = [
        edit
        for number, pod_set in enumerate(workload.spec.pod_sets)
        for edit in _pod_set_edits(workload, number, pod_set, why)
    ]
    return own + list(_quota_edits(cluster_state, workload, why))


def _pod_set_edits(
    workload: Workload, number: int, pod_set: PodSet, why: Explanation
) -> Iterator[SpecEdit]:
    path = f"/spec/podSets/{number}"
    blockers = [each for each in why.blockers if each.pod_set in {"", pod_set.name}]
    count = _fitting_pods(pod_set, blockers)
    if 0 < count < pod_set.count:
        fewer = PatchOperation(op="replace", path=f"{path}/count", value=count)
        yield _own_edit(
            workload, "FewerPods", fewer, message("EditFewerPods", pods=count, of=pod_set.count)
        )
        if pod_set.min_count is None and len(workload.spec.pod_sets) == 1:
            part = PatchOperation(op="add", path=f"{path}/minCount", value=count)
            yield _own_edit(
                workload,
                "PartialAdmission",
                part,
                message("EditPartialAdmission", pods=count, of=pod_set.count),
            )
    for each in blockers:
        if each.message.code == PER_POD and each.have and _has_one_container(pod_set):
            resource = each.resource.replace("~", "~0").replace("/", "~1")
            place = f"{path}/template/spec/containers/0/resources/requests/{resource}"
            amount = quantity_of(each.resource, each.have)
            smaller = PatchOperation(op="replace", path=place, value=amount)
            have = Amount(each.resource, each.have)
            yield _own_edit(workload, "SmallerPods", smaller, message("EditSmallerPods", have=have))
    asked = pod_set.topology_request
    if asked is not None and asked.required and any(b.type == "Topology" for b in blockers):
        anywhere = PatchOperation(
            op="replace", path=f"{path}/topologyRequest", value={"preferred": asked.required}
        )
        if not asked.slice_layers and asked.pod_set_group_name is None:
            yield _own_edit(
                workload, "AnyDomain", anywhere, message("EditAnyDomain", level=asked.required)
            )


def _fitting_pods(pod_set: PodSet, blockers: Sequence[Blocker]) -> int:
    """So many pods of the set meet every constraint with an amount; all of them without one."""
    fitting = pod_set.count
    for each in blockers:
        if each.have is None or not each.need or each.message.code == PER_POD:
            continue
        if each.type == "Quota":
            requested = pod_set.scheduling.requests.get(each.resource, 0)
            fitting = min(fitting, each.have // requested if requested else fitting)
        elif each.type == "Topology" and each.need == pod_set.count:
            fitting = min(fitting, each.have)
    return fitting


def _has_one_container(pod_set: PodSet) -> bool:
    spec = pod_set.template.get("spec", {})
    return len(spec.get("containers", ())) == 1 and not spec.get("initContainers")


def _own_edit(workload: Workload, code: EditCode, step: PatchOperation, told: Message) -> SpecEdit:
    return SpecEdit(
        code=code,
        text=text_of(told),
        kind="Workload",
        name=workload.key,
        requires="submitter",
        patch=[step],
    )


def _quota_edits(
    cluster_state: ClusterState, workload: Workload, why: Explanation
) -> Iterator[SpecEdit]:
    """One edit that raises every quota which falls short, of the queue that lacks it."""
    name = cluster_queue_of(cluster_state.config, workload)
    queue = cluster_state.config.cluster_queues.get(name)
    short = {
        (each.flavor, each.resource): each.short_by
        for each in why.blockers
        if each.type == "Quota" and each.short_by and each.resource
    }
    if queue is None or not short:
        return
    steps: list[PatchOperation] = []
    raised: list[Amount] = []
    for place, flavor, resource, nominal in _quotas(queue.spec):
        missing = short.get((flavor, resource))
        if missing is None:
            continue
        at = f"/spec/resourceGroups/{place[0]}/flavors/{place[1]}"
        quota = f"{at}/resources/{place[2]}"
        amount = quantity_of(resource, nominal + missing)
        steps += [
            PatchOperation(op="test", path=f"{at}/name", value=flavor),
            PatchOperation(op="test", path=f"{quota}/name", value=resource),
            PatchOperation(op="replace", path=f"{quota}/nominalQuota", value=amount),
        ]
        raised.append(Amount(resource, missing))
    if raised:
        first = min(raised, key=lambda amount: (not is_gpu(amount.resource),))
        told = message("EditRaiseQuota", cluster_queue=name, missing=first)
        yield SpecEdit(
            code="RaiseQuota",
            text=text_of(told),
            kind="ClusterQueue",
            name=name,
            requires="admin",
            patch=steps,
        )


def _quotas(spec: ClusterQueueSpec) -> Iterator[tuple[tuple[int, int, int], str, str, int]]:
    """Each quota with its place among groups, flavors and resources."""
    for group, found in enumerate(spec.resource_groups):
        for flavor, quotas in enumerate(found.flavors):
            for number, quota in enumerate(quotas.resources):
                yield (group, flavor, number), quotas.name, quota.name, quota.nominal_quota
