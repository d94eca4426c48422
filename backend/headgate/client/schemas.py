"""The parts of the API's answers that programs use."""

from typing import Any, Literal

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An event of the log; `at` is RFC 3339."""

    position: int
    stream: str
    version: int = 0
    type: str
    at: str = ""
    actor: str = ""
    reason: str = ""
    causation: str = ""
    correlation: str = ""
    data: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The key in the stream: `name` or `namespace/name`."""
        return self.stream.partition("/")[2]


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """Events, newest first; `next` is the value of `before` for the next page."""

    items: list[Event]
    next: int | None = None


class StreamReset(msgspec.Struct, frozen=True, kw_only=True):
    """The server cannot resume the stream: read the state, then follow from `position`."""

    position: int


class StreamHeartbeat(msgspec.Struct, frozen=True):
    """No event for a while; the connection works or is being restored."""


class EvictionNotice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An eviction of a workload: immediate, or soft with time for a checkpoint."""

    id: str
    reason: str = ""
    mode: str = "Immediate"
    stage: str = "Requested"
    handler: str = ""

    @property
    def is_soft(self) -> bool:
        """Whether there is time left for a checkpoint."""
        return self.mode == "Soft" and self.stage not in {"Forced", "Stopping"}


class Shrinking(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An eviction of some pods of a workload; the other pods continue."""

    eviction: EvictionNotice


class Assignment(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A workload with a quota reservation, which an executor runs or stops."""

    workload: str
    uid: str
    attempt: int = 0
    phase: str = ""
    admission: dict[str, Any] | None = None
    pod_sets: list[dict[str, Any]] = []
    annotations: dict[str, str] = {}
    eviction: EvictionNotice | None = None
    shrinking: list[Shrinking] = []


ReportType = Literal[
    "podsReady",
    "podsNotReady",
    "podsGone",
    "reclaimable",
    "finished",
    "failed",
    "stopped",
    "acknowledged",
    "progressed",
]


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A report of an executor about one workload."""

    workload: str
    uid: str
    attempt: int | None = None
    type: ReportType
    eviction: str = ""
    message: str = ""
    pods: dict[str, int] = {}
    hosts: list[str] = []


class ReportResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of one report."""

    workload: str
    outcome: str
    problem: dict[str, Any] | None = None


class ItemResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of one object of an apply or batch."""

    kind: str = "Workload"
    namespace: str = ""
    name: str = ""
    outcome: str
    uid: str = ""
    problem: dict[str, Any] | None = None

    @property
    def reference(self) -> str:
        """`kind/name` with the namespace; for unreadable objects the parts that are known."""
        parts = (self.kind.lower(), self.namespace, self.name)
        return "/".join(part for part in parts if part) or "object"


class Advice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A warning: a valid setting that is a likely mistake."""

    kind: str
    namespace: str = ""
    name: str
    pointer: str = ""
    rule: str = ""
    severity: str = "warning"
    message: str
    remedy: str = ""

    @property
    def reference(self) -> str:
        """The object as users type it."""
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind.lower()}/{place}{self.name}"


class Batch(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The results of an apply or of a batch of submissions, in the order they were sent."""

    position: int = 0
    results: list[ItemResult] = []
    warnings: list[Advice] = []


def domains_of(assignment: dict[str, Any]) -> list[tuple[tuple[str, ...], int]]:
    """The domains of a `topologyAssignment` with their pods, in rank order.

    Of slices as v1beta2 writes them, or of domains as v1beta1 does.
    """
    if "domains" in assignment:
        return [(tuple(each["values"]), each["count"]) for each in assignment["domains"]]
    found: list[tuple[tuple[str, ...], int]] = []
    for part in assignment.get("slices", ()):
        levels = [_values(level, part["domainCount"]) for level in part["valuesPerLevel"]]
        counts = part["podCounts"].get("individual")
        pods = counts or [part["podCounts"]["universal"]] * part["domainCount"]
        found.extend(zip(zip(*levels, strict=True), pods, strict=True))
    return found


def _values(level: dict[str, Any], count: int) -> list[str]:
    told = level.get("individual")
    if told is None:
        return [str(level["universal"])] * count
    return [f"{told.get('prefix', '')}{root}{told.get('suffix', '')}" for root in told["roots"]]


FINISHED = frozenset({"Succeeded", "Failed", "Cancelled"})


class WorkloadView(msgspec.Struct, frozen=True, kw_only=True):
    """A workload at a position of the log; `manifest` is the whole object.

    `reason` is the code of the recorded pending reason and `sentence` its text, both empty where
    none is recorded; `Headgate.explain` computes it.
    """

    namespace: str
    name: str
    uid: str
    phase: str
    attempt: int
    position: int
    reason: str
    sentence: str
    manifest: dict[str, Any]

    @property
    def is_finished(self) -> bool:
        """Whether it has succeeded, failed or was cancelled."""
        return self.phase in FINISHED


def view_of(manifest: dict[str, Any]) -> WorkloadView:
    """Returns the view of a workload as the API has it."""
    metadata, status = manifest["metadata"], manifest.get("status", {})
    explanation = status.get("explanation") or {}
    return WorkloadView(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        phase=status.get("phase", ""),
        attempt=status.get("attempt", 0),
        position=int(metadata["resourceVersion"]),
        reason=explanation.get("code", ""),
        sentence=explanation.get("sentence", ""),
        manifest=manifest,
    )


class SimulatedWorkload(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What would become of a simulated workload at once, and after preemption.

    `verdict` is a code such as `Admitted` or `Waits`, `code` that of the pending reason.
    """

    workload: str
    verdict: str
    in_the_end: str = ""
    sentence: str = ""
    code: str = ""
    would_unblock: list[str] = []


class SimulationResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a change would do; nothing was written."""

    workloads: list[SimulatedWorkload] = []
    starts: int = 0
    evictions: int = 0
    effects: list[dict[str, Any]] = []
