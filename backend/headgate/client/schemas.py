"""The parts of the API's answers that programs act on."""

from typing import Any, Literal

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A fact from the log as the API tells it; `at` is RFC 3339."""

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
        """What follows the kind in the stream: `name` or `namespace/name`."""
        return self.stream.partition("/")[2]


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """Events, newest first; `next` is what `before` must be for the page after this one."""

    items: list[Event]
    next: int | None = None


class StreamReset(msgspec.Struct, frozen=True, kw_only=True):
    """The server cannot go on from where we stood: read the state, then follow from there."""

    position: int


class StreamHeartbeat(msgspec.Struct, frozen=True):
    """Nothing new for a while; the connection is fine, or is being made again."""


class EvictionNotice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A workload must stop, or save its work first while it is given the time."""

    id: str
    reason: str = ""
    mode: str = "Immediate"
    stage: str = "Requested"
    handler: str = ""

    @property
    def is_soft(self) -> bool:
        """Whether there is time left to save its work."""
        return self.mode == "Soft" and self.stage not in {"Forced", "Stopping"}


class Shrinking(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Some pods of a workload must stop, while the others go on."""

    eviction: EvictionNotice


class Assignment(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A workload that has quota now: what an executor has to run, or to stop."""

    workload: str
    uid: str
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
    """What an executor says about one workload."""

    workload: str
    uid: str
    type: ReportType
    eviction: str = ""
    message: str = ""
    pods: dict[str, int] = {}
    hosts: list[str] = []


class ReportResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of one report."""

    workload: str
    outcome: str
    problem: dict[str, Any] | None = None


class ItemResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of one object of an apply or of a batch."""

    kind: str = "Workload"
    namespace: str = ""
    name: str = ""
    outcome: str
    uid: str = ""
    problem: dict[str, Any] | None = None

    @property
    def reference(self) -> str:
        """`kind/name`, with the namespace if it has one; otherwise what was understood of it."""
        parts = (self.kind.lower(), self.namespace, self.name)
        return "/".join(part for part in parts if part) or "object"


class Advice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is allowed in a configured object and most likely not meant."""

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
        """The object as people type it."""
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind.lower()}/{place}{self.name}"


class Batch(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The results of an apply or of a batch of submissions, in the order they were sent."""

    position: int = 0
    results: list[ItemResult] = []
    warnings: list[Advice] = []
