"""The expected start of a workload, a range from past waits, and the edits that make it start.

Only waits of workloads of the same ClusterQueue and about the same size count. How many such ranges
held sets their width: eight in ten are aimed at. An edit ends a constraint.
"""

from bisect import bisect_right, insort
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
from headgate.domain.starts import LimitCorrection, WaitRange
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


class Calibration(Schema, kw_only=True, frozen=True):
    """Of so many earlier starts, how many fell within the range of their submission.

    It was told from the starts before that; eight in ten are aimed at.
    """

    predictions: int
    held: int


class ExpectedStart(Schema, kw_only=True, frozen=True):
    """The median and the 10th to 90th percentile of past waits, corrected, or why there is none.

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
    return start_within(cluster_state, workload, estimates_from(waits), why, at)


def start_within(
    state: ClusterState,
    workload: Workload,
    estimates: "StartEstimates",
    why: Explanation,
    at: Instant,
) -> ExpectedStart:
    """The same of a workload that is pending, of estimates from waits of workloads like it."""
    reason = _unforeseeable(state, why)
    if reason is not None:
        return _no_estimate(reason)
    waited, known = at - workload.created_at, estimates.longer_than()
    if known < MIN_SAMPLES:
        few = message("FewSimilarWorkloadsStarted", workloads=known, needed=MIN_SAMPLES)
        return _no_estimate(few if known else message("NoSimilarWorkloadStarted"))
    longer = estimates.longer_than(waited)
    if longer < MIN_SAMPLES // 2:
        reason = message("PendingLongerThanSimilar", workloads=known)
        return _no_estimate(reason, estimates.calibration())
    found = estimates.corrected(estimates.percentiles(waited), waited)
    waits, again = (found.earliest, found.middle, found.latest), workload.requeue.requeue_at or 0
    earliest, about, latest = (timestamp(max(again, workload.created_at + w)) for w in waits)
    seconds = waited // MICROSECONDS_PER_SECOND
    return ExpectedStart(
        about=about,
        earliest=earliest,
        latest=latest,
        basis=text_of(message("WaitOfSimilarWorkloads", workloads=longer, waited=seconds)),
        samples=longer,
        calibration=estimates.calibration(),
    )


def _kept(workload: Workload, waits: Waits) -> ExpectedStart | None:
    """The range that was told at the submission, beside the start."""
    created, reserved = workload.created_at, condition(workload, "QuotaReserved")
    estimates = estimates_from(waits, created)
    if estimates.longer_than() < MIN_SAMPLES or reserved is None:
        return None
    told = estimates.corrected(estimates.percentiles())
    return ExpectedStart(
        about=timestamp(created + told.middle),
        earliest=timestamp(created + told.earliest),
        latest=timestamp(created + told.latest),
        samples=estimates.longer_than(),
        calibration=estimates_from(waits).calibration(),
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
        return message("QueueIsInactive")
    if why.dominant == "BehindHead":
        head = cluster_state.workloads.get(why.blockers[0].held_by[0])
        if head and head.explanation and head.explanation.dominant in UNPREDICTABLE_REASONS:
            return message("HeadCannotStart")
    return None


WaitKey = tuple[str, str]
"""A ClusterQueue and a size class, within which waits are alike."""


def wait_key(config: ObjectSet, workload: Workload) -> WaitKey:
    """Where the waits of workloads like this one are."""
    return cluster_queue_of(config, workload), size_class(workload)


def past_waits(models: ReadModels, keys: Iterable[WaitKey]) -> dict[WaitKey, Waits]:
    """The latest waits of each; read from the database."""
    return {key: models.waits_like(*key, limit=MAX_SAMPLES) for key in dict.fromkeys(keys)}


class StartEstimates:
    """Ranges of waits as they are told at submissions, and how many of them held.

    The width is corrected by what was observed of ranges before, as waits change with the load:
    the percentiles of past waits alone are too narrow where queues grow or shrink.
    """

    def __init__(self) -> None:
        self._told = 0
        self._held = 0
        self._waits: list[int] = []
        self._before, self._after = LimitCorrection(), LimitCorrection()

    def calibration(self) -> Calibration:
        """How many ranges were told of workloads that have started, and how many of them held."""
        return Calibration(predictions=self._told, held=self._held)

    def longer_than(self, wait: int = -1) -> int:
        """How many known waits are longer."""
        return len(self._waits) - bisect_right(self._waits, wait)

    def percentiles(self, longer_than: int = -1) -> WaitRange:
        """The 10th, 50th and 90th percentile of the known waits that are longer; some are."""
        waits, first = self._waits, bisect_right(self._waits, longer_than)
        count = len(waits) - first
        places = (min(count - 1, count * each // 100) for each in (TENTH, HALF, NINE_TENTHS))
        return WaitRange(*(waits[first + place] for place in places))

    def corrected(self, found: WaitRange, longer_than: int = -1) -> WaitRange:
        """The range with both limits corrected; it holds the median and only what is longer."""
        earliest = max(longer_than + 1, found.earliest - self._before.value())
        latest = found.latest + self._after.value()
        return WaitRange(min(earliest, found.middle), found.middle, max(latest, found.middle))

    def start(self, wait: int, percentiles: WaitRange | None, told: WaitRange | None) -> None:
        """Takes in a start, and what was known and told of it at its submission."""
        insort(self._waits, wait)
        if percentiles is not None and told is not None:
            self._before.observe(percentiles.earliest - wait, is_kept=told.earliest <= wait)
            self._after.observe(wait - percentiles.latest, is_kept=wait <= told.latest)
            self._told += 1
            self._held += told.holds(wait)


def estimates_from(waits: Waits, before: Instant | None = None) -> StartEstimates:
    """The estimates of workloads that are alike, given as start and wait in the order of starts.

    Each was told from the starts before its submission. Starts that are not `before` an instant do
    not count; it is the state in which a submission of that instant was told of its range.
    """
    found = StartEstimates()
    told: dict[int, tuple[WaitRange, WaitRange]] = {}
    started = 0

    def start_up_to(at: Instant | None) -> None:
        nonlocal started
        while started < len(waits) and (at is None or waits[started][0] < at):
            found.start(waits[started][1], *told.pop(started, (None, None)))
            started += 1

    submissions = sorted((start - wait, number) for number, (start, wait) in enumerate(waits))
    for submitted_at, number in submissions:
        if before is not None and submitted_at >= before:
            break
        start_up_to(submitted_at)
        if found.longer_than() >= MIN_SAMPLES:
            percentiles = found.percentiles()
            told[number] = (percentiles, found.corrected(percentiles))
    start_up_to(before)
    return found


def latest_starts(models: ReadModels, cluster_queue: str) -> tuple[Calibration, Instant | None]:
    """How many ranges of the latest starts of each size held, and when the last of all was."""
    keys = [(cluster_queue, size) for size in models.sizes_started(cluster_queue)]
    of_sizes = past_waits(models, keys).values()
    found = [estimates_from(waits).calibration() for waits in of_sizes]
    held = sum(each.held for each in found)
    last = max((waits[-1][0] for waits in of_sizes if waits), default=None)
    return Calibration(predictions=sum(each.predictions for each in found), held=held), last


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
