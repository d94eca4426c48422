"""Workloads of a trace or scenario with the time each arrives, in trace time and replay time."""

from typing import Any, Protocol

import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

Object = dict[str, Any]


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A workload with its arrival in trace time and its run time once admitted.

    Times are microseconds of trace time; `requests` are the sums over all its pods.
    """

    key: str
    at: int
    run_length: int
    label: str
    requests: dict[str, int]
    manifest: Object


class ReplayInput(msgspec.Struct, frozen=True, kw_only=True):
    """The input of one replay; `nominal` is the quota that usage is measured against."""

    name: str
    namespace: str
    configuration: list[Object]
    arrivals: list[Arrival]
    nominal: dict[str, int]
    reports_ready: bool = True


def workload(
    *, namespace: str, name: str, queue: str, priority_class: str, pod_set: Object, run: str
) -> Object:
    """Returns the manifest of a workload of one pod set."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"headgate.dev/replay": run},
        },
        "spec": {
            "queueName": queue,
            "priorityClassName": priority_class,
            "podSets": [pod_set],
        },
    }


def pod_set(
    requests: dict[str, str],
    *,
    count: int = 1,
    pod: Object | None = None,
    topology: Object | None = None,
) -> Object:
    """Returns a pod set of one container; `pod` holds further fields of the pod's spec."""
    container = {"name": "main", "resources": {"requests": requests}}
    found: Object = {
        "name": "main",
        "count": count,
        "template": {"spec": {"containers": [container], **(pod or {})}},
    }
    return {**found, "topologyRequest": topology} if topology else found


def named(kind: str, name: str, *, namespace: str = "", **rest: Any) -> Object:  # noqa: ANN401
    """Returns an object of a kind with the API version of the kind."""
    version = {
        "Node": "v1",
        "Namespace": "v1",
        "Configuration": "headgate.dev/v1",
        "DisruptionBudget": "headgate.dev/v1",
    }.get(kind, "kueue.x-k8s.io/v1beta2")
    metadata: Object = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata.update({key: rest.pop(key) for key in ("labels",) if key in rest})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


class TraceTime(Protocol):
    """The clock of a replay, in microseconds of trace time."""

    def now(self) -> int:
        """Returns the current trace time."""
        ...

    def reach(self, at: int) -> bool:
        """Returns whether trace time has reached an instant; `FreeTime` jumps to it."""
        ...

    def seconds_until(self, at: int) -> float:
        """Returns the real seconds until an instant."""
        ...


class FreeTime:
    """Trace time that jumps to each instant it is asked for: the replay runs as fast as it can."""

    def __init__(self) -> None:
        self._now = 0

    def now(self) -> int:
        """Returns the current trace time."""
        return self._now

    def reach(self, at: int) -> bool:
        """Jumps to an instant, never back, and returns True."""
        self._now = max(self._now, at)
        return True

    def seconds_until(self, at: int) -> float:
        """Returns 0."""
        del at
        return 0.0


class ScaledTime:
    """Trace time that runs `factor` times as fast as real time, from its construction."""

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self._began = elapsed_seconds()

    def now(self) -> int:
        """Returns the current trace time."""
        passed = elapsed_seconds() - self._began
        return int(passed * self._factor * MICROSECONDS_PER_SECOND)

    def reach(self, at: int) -> bool:
        """Returns whether trace time has reached an instant."""
        return self.now() >= at

    def seconds_until(self, at: int) -> float:
        """Returns the real seconds until an instant."""
        return max(0.0, (at - self.now()) / self._factor / MICROSECONDS_PER_SECOND)
