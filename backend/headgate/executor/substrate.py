"""The port of a substrate: what starts, observes and stops the pods of an executor.

Written once above it are the comparison of assignments with what runs (`reconcile`), the journal of
reports and the connection to the server. One contract suite runs over every substrate
(tests/executors).
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import NotAQuantity, Requests, amount_of

RunState = Literal["Starting", "Running", "Ended"]
FinishReason = Literal[
    "Completed", "Error", "OOMKilled", "DeadlineExceeded", "StartFailed", "NodeLost", "Evicted"
]
NodeLossPolicy = Literal["Replace", "Fence", "Wait"]

Object = dict[str, Any]


class RunKey(msgspec.Struct, frozen=True, kw_only=True, order=True, rename="camel"):
    """One start of one pod; `workload` is `namespace/name`."""

    workload: str
    uid: str
    attempt: int
    pod_set: str
    index: int
    run: int

    @property
    def name(self) -> str:
        """The name under which a substrate knows the run: starting twice is starting once."""
        return f"hg-{self.uid}-{self.attempt}-{self.pod_set}-{self.index}-{self.run}"

    @property
    def pod(self) -> tuple[str, str, int]:
        """The pod, whatever its attempt and run."""
        return (self.uid, self.pod_set, self.index)


class PodPlan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A run as the executor is to start it, on one of its nodes."""

    key: RunKey
    log_id: str
    owner: str
    node: str
    template: Object
    environment: dict[str, str]
    hosts: tuple[str, ...]
    node_loss_policy: NodeLossPolicy = "Replace"
    max_output_bytes: int = 16 << 20

    @property
    def requests(self) -> Requests:
        """What the containers request in all; a limit is a request where there is none."""
        found: Requests = {}
        for container in (self.template.get("spec") or {}).get("containers") or ():
            resources = container.get("resources") or {}
            wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
            for resource, quantity in wanted.items():
                with contextlib.suppress(NotAQuantity):
                    amount = amount_of(resource, str(quantity))
                    found[resource] = found.get(resource, 0) + amount
        return found


class StopOrder(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Why a pod must stop, and until when it may save its work; it is the eviction file's content.

    Without a deadline the pod has its termination grace period. `is_eviction` is False where the
    workload ends for good.
    """

    id: str
    attempt: int
    reason: str = ""
    message: str = ""
    deadline: str = ""
    preemptor: str = ""
    is_eviction: bool = True


class RunEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended: at least one of `exit_code` and `signal`, unless it never started.

    `result` is what the pod has written to its result file.
    """

    reason: FinishReason
    finished_at: Instant
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    result: str = ""


class ObservedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run as its substrate sees it, with the identity of the log that asked for it.

    `requests` are those of its plan; they count as used by others while the run is an orphan.
    `progressed_at` is when the pod last told of progress after an order to stop, and `progress`
    what it told.
    """

    key: RunKey
    log_id: str
    state: RunState
    node: str = ""
    started_at: Instant | None = None
    progressed_at: Instant = 0
    progress: str = ""
    requests: Requests = {}
    end: RunEnd | None = None


class NodeDescription(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """A node as it is registered; amounts are Kubernetes quantities.

    `used_by_others` is what runs use there that the server did not assign, and other users' jobs;
    None where the substrate does not tell.
    """

    name: str
    capacity: dict[str, str]
    used_by_others: dict[str, str] | None = None
    labels: dict[str, str] = {}
    taints: list[Object] = []
    devices: list[Object] = []


class OutputChunk(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of a stream from `offset`; a greater offset than asked for means dropped bytes."""

    offset: int
    content: bytes

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return self.offset + len(self.content)


class SessionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A command to run beside the processes of a pod, and the terminal that it gets."""

    command: tuple[str, ...]
    has_terminal: bool = False
    columns: int = 80
    rows: int = 24
    terminal: str = "xterm"


class SessionOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that the command of a session wrote, or its end."""

    type: Literal["output", "error", "exit"]
    content: bytes = b""
    exit_code: int = 0
    message: str = ""


class SubstrateSession(Protocol):
    """A command beside a pod; one thread reads, another one does everything else."""

    def write(self, content: bytes) -> None:
        """Gives input to the command."""
        ...

    def end_input(self) -> None:
        """Tells the command that there is no more input."""
        ...

    def resize(self, columns: int, rows: int) -> None:
        """Changes the size of the terminal."""
        ...

    def read(self) -> SessionOutput | None:
        """Returns what comes next; None once the session was closed."""
        ...

    def close(self) -> None:
        """Ends the command with all that it has started."""
        ...


class CannotStart(Exception):
    """A pod cannot be started as its template says; the message says why, for the user."""


class Substrate(Protocol):
    """Starts, observes and stops runs; every method may be repeated without further effect."""

    @property
    def capabilities(self) -> Sequence[str]:
        """What of a pod template the substrate honours, and how well it isolates pods."""
        ...

    def observe(self) -> Mapping[str, ObservedRun]:
        """Returns every run that it knows, by name, ended ones until they are forgotten."""
        ...

    def start(self, plan: PodPlan) -> None:
        """Starts a run unless it has been started, at the next `flush`. Raises `CannotStart`."""
        ...

    def flush(self) -> None:
        """Carries out what was gathered since: runs that start together may start as one job."""
        ...

    def signal(self, key: RunKey, order: StopOrder) -> None:
        """Gives a run the order to stop, and kills it at the order's deadline."""
        ...

    def kill(self, key: RunKey) -> None:
        """Kills a run at once."""
        ...

    def logs(self, key: RunKey, stream: str, offset: int, limit: int) -> OutputChunk:
        """Returns output from `offset`, or from the next byte that is kept; empty at the end."""
        ...

    @property
    def nodes_seconds(self) -> float:
        """How often `nodes` may return something else, in seconds."""
        ...

    def nodes(self) -> list[NodeDescription]:
        """Returns the nodes of the substrate with what they have now."""
        ...

    def forget(self, key: RunKey) -> None:
        """Removes an ended run with everything that it left behind."""
        ...

    def open_session(self, key: RunKey, plan: SessionPlan) -> SubstrateSession:
        """Starts a command beside a run; from any thread. Raises `CannotStart`."""
        ...

    def keep_lease(self, seconds: float) -> None:
        """Notes how long the executor's lease still lasts, for pods under the policy Fence."""
        ...

    def keep_time(self, server_time: Instant) -> None:
        """Notes the server's time: deadlines of orders are by its clock."""
        ...

    def wait(self, seconds: float) -> None:
        """Returns after `seconds`, or as soon as a run has changed or `wake` was called."""
        ...

    def wake(self) -> None:
        """Ends `wait` early; may be called from any thread."""
        ...
