"""What the executor reads of pods: their use, whether they run, and how they ended.

Objects keep only the fields that are read; pods of others shrink to their node and their use.
"""

import contextlib
import re
from datetime import datetime
from typing import Any

import msgspec

from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.quantities import NotAQuantity, Requests, added, amount_of
from headgate.executor.substrate import FinishReason, RunEnd

ENDED_PHASES = frozenset({"Succeeded", "Failed"})
NEVER_RAN = frozenset({"ContainerCannotRun", "StartError", "CreateContainerConfigError"})
DISRUPTED = frozenset(
    {
        "Evicted",
        "NodeAffinity",
        "NodeLost",
        "NodeShutdown",
        "Preempting",
        "Shutdown",
        "Terminated",
        "UnexpectedAdmissionError",
    }
)
"""Reasons of the kubelet for a pod that failed by no fault of its own; others begin with OutOf."""
HOPELESS = frozenset({"InvalidImageName", "ErrImageNeverPull"})
WAITS_FOR_IMAGE = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
CANNOT_CREATE = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "PreCreateHookError",
    }
)
_FRACTION = re.compile(r"(\.\d{6})\d+")


class Camel(msgspec.Struct, kw_only=True, rename="camel"):
    """An object of which other fields are left unread."""


class Owner(Camel):
    """The owner of an object."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Metadata(Camel):
    """What objects have in common."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: list[str] = []
    deletion_timestamp: str | None = None
    owner_references: list[Owner] = []


class Resources(Camel):
    """Requests and limits of a container or pod; a value may be a number."""

    requests: dict[str, str | int | float] = {}
    limits: dict[str, str | int | float] = {}


class Container(Camel):
    """A container, with what decides when it is ready."""

    name: str = ""
    resources: Resources = msgspec.field(default_factory=Resources)
    restart_policy: str = ""
    readiness_probe: msgspec.Raw | None = None
    startup_probe: msgspec.Raw | None = None


class Gate(Camel):
    """A scheduling gate."""

    name: str = ""


class PodSpec(Camel):
    """What was asked for."""

    node_name: str = ""
    containers: list[Container] = []
    init_containers: list[Container] = []
    overhead: dict[str, str | int | float] = {}
    resources: Resources | None = None
    scheduling_gates: list[Gate] = []
    node_selector: dict[str, str] = {}
    tolerations: list[dict[str, Any]] = []


class Waiting(Camel):
    """Why a container does not run yet."""

    reason: str = ""
    message: str = ""


class Running(Camel):
    """Since when a container runs."""

    started_at: str | None = None


class Terminated(Camel):
    """How a container ended."""

    exit_code: int = 0
    signal: int | None = None
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None


class ContainerState(Camel):
    """One of three."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Camel):
    """What became of a container."""

    name: str = ""
    state: ContainerState = msgspec.field(default_factory=ContainerState)


class Condition(Camel):
    """A condition of a pod, node or job."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodStatus(Camel):
    """What became of a pod."""

    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    start_time: str | None = None
    conditions: list[Condition] = []
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []


class Pod(Camel):
    """A pod."""

    metadata: Metadata
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)

    @property
    def has_ended(self) -> bool:
        """Whether no container runs or will: one without a node is deleted as soon as asked."""
        is_deleted = self.metadata.deletion_timestamp is not None
        return self.status.phase in ENDED_PHASES or (is_deleted and not self.spec.node_name)

    @property
    def is_running(self) -> bool:
        """Whether it runs, and is ready where a probe tells."""
        if self.status.phase != "Running":
            return False
        containers = self.spec.containers
        if not any(each.readiness_probe or each.startup_probe for each in containers):
            return True
        return any(
            each.type == "Ready" and each.status == "True" for each in self.status.conditions
        )

    @property
    def started_at(self) -> Instant | None:
        """When its first container started."""
        found = (
            instant_of(part.started_at)
            for status in self.status.container_statuses
            for part in (status.state.running, status.state.terminated)
            if part is not None
        )
        return min((at for at in found if at is not None), default=None)


class OtherPod(msgspec.Struct, frozen=True):
    """A pod of others: what it uses of which node; of none once it has ended."""

    node: str
    requests: Requests


def use_of(spec: PodSpec) -> Requests:
    """Returns what a pod requests of its node (kube-scheduler: effective requests, KEP-753).

    Containers and sidecars run together; init containers run before, each beside the sidecars that
    stand before it. Requests of the pod itself win (KEP-2837).
    """
    running: Requests = {}
    for container in spec.containers:
        running = added(running, _amounts(container.resources))
    sidecars: Requests = {}
    starting: Requests = {}
    for container in spec.init_containers:
        own = _amounts(container.resources)
        if container.restart_policy == "Always":
            sidecars = added(sidecars, own)
            own = {}
        starting = _greater(starting, added(sidecars, own))
    found = _greater(added(running, sidecars), starting)
    if spec.resources is not None:
        found = {**found, **_amounts(spec.resources)}
    return added(found, _amounts(Resources(requests=spec.overhead)))


def end_of(pod: Pod, now: Instant) -> RunEnd:
    """Returns how a pod ended that was not stopped by order."""
    containers = [each.state.terminated for each in pod.status.container_statuses]
    ended = [each for each in containers if each is not None]
    failed = [each for each in ended if each.exit_code or each.signal]
    first = next(iter(failed or ended), None)
    at = max((instant_of(each.finished_at) or 0 for each in ended), default=0) or now
    reason, message = _reason_of(pod, first)
    is_complete = reason == "Completed"
    return RunEnd(
        reason=reason,
        finished_at=at,
        exit_code=0 if is_complete else (first.exit_code if first is not None else None),
        signal=(first.signal or None) if first is not None else None,
        message=message[:1000],
        result=first.message if first is not None and reason != "StartFailed" else "",
    )


def _reason_of(pod: Pod, first: Terminated | None) -> tuple[FinishReason, str]:
    status = pod.status
    if status.phase == "Succeeded":
        return "Completed", ""
    told = ": ".join(each for each in (status.reason, status.message) if each)
    if status.reason == "DeadlineExceeded":
        return "DeadlineExceeded", told
    if status.reason in DISRUPTED or status.reason.startswith("OutOf"):
        return "NodeLost", told
    disruption = [each for each in status.conditions if each.type == "DisruptionTarget"]
    if disruption and disruption[0].status == "True":
        return "NodeLost", f"{disruption[0].reason}: {disruption[0].message}"
    if first is None:
        return ("NodeLost" if pod.spec.node_name else "Error"), told or "the pod was deleted"
    if first.reason in NEVER_RAN:
        return "StartFailed", f"{first.reason}: {first.message}"
    if first.reason == "OOMKilled":
        return "OOMKilled", told
    if pod.metadata.deletion_timestamp is not None:
        told = told or "the pod was deleted by another than Headgate"
    return "Error", told or first.message


def start_failure(pod: Pod) -> tuple[str, bool]:
    """Returns why a container does not start, and whether waiting for it is hopeless."""
    for each in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        waiting = each.state.waiting
        if waiting is not None and waiting.reason in HOPELESS | WAITS_FOR_IMAGE | CANNOT_CREATE:
            return f"{waiting.reason}: {waiting.message}"[:1000], waiting.reason in HOPELESS
    return "", False


def instant_of(text: str | None) -> Instant | None:
    """Returns the instant of a time as the API has it; Go may give nine digits of a second."""
    if not text:
        return None
    at = datetime.fromisoformat(_FRACTION.sub(r"\1", text))
    return int(at.timestamp() * MICROSECONDS_PER_SECOND)


def _amounts(resources: Resources) -> Requests:
    """Returns requests in integers; a limit is a request where there is none."""
    found: Requests = {}
    for resource, quantity in {**resources.limits, **resources.requests}.items():
        with contextlib.suppress(NotAQuantity):
            found[resource] = amount_of(resource, str(quantity))
    return found


def _greater(left: Requests, right: Requests) -> Requests:
    return {each: max(left.get(each, 0), right.get(each, 0)) for each in sorted({*left, *right})}
