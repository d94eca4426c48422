"""Changes applied in an overlay of a fork, drains, and the views of what they would lead to."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from headgate.application.access.redaction import FOREIGN_WORKLOAD, NamespaceScope, allows
from headgate.application.application_services import ApplicationServices
from headgate.application.commands.decide import decide_on_state
from headgate.application.commands.object_commands import command_on_object, object_deletion
from headgate.application.commands.requests import DecisionContext, StreamCommand
from headgate.application.commands.workload_commands import command_on_workload
from headgate.application.queries.expected_start import ExpectedStart, SpecEdit
from headgate.application.queries.explanations import (
    AsOf,
    QueuePosition,
    fresh_explanation,
    position_of,
)
from headgate.application.queries.views import (
    BlockerView,
    Free,
    Position,
    RemedyView,
    Schema,
    Timestamp,
    Whole,
    arguments_view,
    message_text,
    timestamp,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.executor_nodes import known_nodes
from headgate.domain.nodes.decide import CordonNode
from headgate.domain.recorded_event import DomainEvent, StreamEvent, kind_and_key, workload_stream
from headgate.domain.rejection import NotFound
from headgate.domain.rounds.state import RoundVictim
from headgate.domain.scheduling.second_pass import PodMove, preview_drain, preview_joint_drain
from headgate.domain.values.instants import Instant
from headgate.domain.what_if import DidNotSettle, Effect, EffectKind, SettlingRun, effects
from headgate.domain.workloads.commands import ChangeSpec, DeleteWorkload
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import WorkloadDeleted
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.state import Phase, Workload

MAX_EVENTS = 20_000


@dataclass(frozen=True, slots=True)
class SimulationRequest:
    """The changes, their instant and the time limit; `is_late` is polled.

    It may raise where the outcome is not needed any more. `ended` are those workloads among the
    changed ones, by stream, that have ended and left the fold.
    """

    changes: Sequence[StreamCommand]
    at: Instant
    is_late: Callable[[], bool]
    ended: Mapping[str, Workload] = field(default_factory=dict)

    def is_spent(self, facts: int) -> bool:
        """Whether the limit of events or time is reached."""
        return facts > MAX_EVENTS or self.is_late()

    def raise_if_late(self) -> None:
        """Raises `DidNotSettle` once the time is over."""
        if self.is_late():
            raise DidNotSettle("the time for the simulation is over")

    def settling(self, cluster_state: ClusterState) -> SettlingRun:
        """Returns a settling run under these limits."""
        return SettlingRun(cluster_state, self.at, self.is_spent)


@dataclass(frozen=True, slots=True)
class PredictedState:
    """The predicted state of a workload, its queue position and its pending reason."""

    workload: Workload | None
    place: QueuePosition | None = None
    explanation: Explanation | None = None
    victims: tuple[RoundVictim, ...] = ()


@dataclass(frozen=True, slots=True)
class SimulationOutcome:
    """The changed workloads at once and in the end, and the effects on others."""

    at_first: dict[str, PredictedState]
    in_the_end: dict[str, PredictedState]
    events: tuple[StreamEvent, ...]
    effects: tuple[Effect, ...] = field(default_factory=tuple)


def run_simulation(cluster_state: ClusterState, request: SimulationRequest) -> SimulationOutcome:
    """Runs the changes until no decisions follow; the cluster state is unchanged afterwards."""
    for _ in cluster_state.build_partitions():
        request.raise_if_late()
    without = _without(cluster_state, request)
    with cluster_state.overlay():
        settling = request.settling(cluster_state)
        keys = _make(cluster_state, request, settling)
        settling.run_until_quiescent()
        at_first = _standings(cluster_state, request, keys)
        settling.complete_evictions()
        in_the_end = _standings(cluster_state, request, keys)
        found = effects(without, (settling.events, cluster_state.workloads))
        facts = tuple(settling.events)
    others = tuple(effect for effect in found if effect.key not in at_first)
    return SimulationOutcome(at_first, in_the_end, facts, others)


def _without(
    cluster_state: ClusterState, request: SimulationRequest
) -> tuple[tuple[StreamEvent, ...], dict[str, Workload]]:
    """Runs without the changes; only the touched states are kept."""
    with cluster_state.overlay():
        settling = request.settling(cluster_state)
        settling.complete_evictions()
        return tuple(settling.events), dict(cluster_state.workloads)


def _make(
    cluster_state: ClusterState, request: SimulationRequest, settling: SettlingRun
) -> tuple[str, ...]:
    """Make every change after the ones before it; the workloads that were changed."""
    keys: dict[str, None] = {}
    ended = dict(request.ended)
    for change in request.changes:
        request.raise_if_late()
        known = ended.get(change.stream)
        events = decide_on_state(cluster_state, change, request.at, known).events
        settling.assume(*events)
        if any(isinstance(event, WorkloadDeleted) for _, event in events):
            ended.pop(change.stream, None)
        kind, key = kind_and_key(change.stream)
        if kind == "workload":
            keys[key] = None
    return tuple(keys)


def _standings(
    cluster_state: ClusterState, request: SimulationRequest, keys: Iterable[str]
) -> dict[str, PredictedState]:
    found = {}
    for key in keys:
        request.raise_if_late()
        found[key] = _standing(cluster_state, key, request.at)
    return found


def _standing(cluster_state: ClusterState, key: str, at: Instant) -> PredictedState:
    workload = cluster_state.workloads.get(key)
    if workload is None:
        return PredictedState(None)
    making_room = cluster_state.rounds.get(workload.round_id or "")
    return PredictedState(
        workload,
        position_of(cluster_state, workload),
        fresh_explanation(cluster_state, workload, at),
        making_room.victims if making_room else (),
    )


def deletion(services: ApplicationServices, stream: str) -> StreamCommand:
    """The change that deletes an object or a workload."""
    kind, key = kind_and_key(stream)
    if kind == "workload":
        return command_on_workload(key, DeleteWorkload(eviction=services.ids.new()))
    return object_deletion(stream)


def cordoning(node: str) -> StreamCommand:
    """The change that keeps a node from taking anything new."""
    return command_on_object(f"node/{node}", CordonNode())


def new_priority(services: ApplicationServices, key: str, priority: int) -> StreamCommand:
    """The change that gives a workload another priority."""
    eviction = services.ids.new()

    def decide(situation: DecisionContext) -> tuple[DomainEvent, ...]:
        workload = situation.state
        if isinstance(workload, Absent):
            raise NotFound("ObjectNotFound", kind="Workload", name=key)
        assert isinstance(workload, Workload), "the stream of a workload holds workloads"
        command = ChangeSpec(
            labels=workload.labels,
            annotations=workload.annotations,
            spec=msgspec.structs.replace(workload.spec, priority=priority),
            eviction=eviction,
        )
        return WORKLOAD.decide(workload, command, situation.at)

    return StreamCommand(stream=workload_stream(key), decide=decide)


PredictedStatus = Literal["Admitted", "MakesRoom", "Waits", "Gone"]


class VictimView(Whole, kw_only=True, frozen=True):
    """A predicted victim, and the rule."""

    workload: str
    cluster_queue: str
    reason: str
    priority: int
    pods: int


class RoundView(Schema, kw_only=True, frozen=True):
    """A preemptor and its victims; `because` names a victim that is readmitted this way."""

    preemptor: str
    victims: list[VictimView]
    because: str = ""


class ForeseenView(Schema, kw_only=True, frozen=True):
    """What becomes of one workload: at once, and `in_the_end`, when all victims have stopped.

    `deciding` is the number of the blocker that the sentence repeats, if any. `expectedStart` is
    estimated from past waits in its queue, for one that would stay pending.
    """

    workload: str
    verdict: PredictedStatus
    in_the_end: PredictedStatus
    phase: Phase | None = None
    cluster_queue: str = ""
    sentence: str
    code: str = ""
    arguments: Free = {}
    admission: Free | None = None
    victims: list[VictimView] = []
    position: QueuePosition | None = None
    dominant: str = ""
    blockers: list[BlockerView] = []
    deciding: int | None = None
    would_unblock: list[str] = []
    remedies: list[RemedyView] = []
    edits: list[SpecEdit] = []
    expected_start: ExpectedStart | None = None


class EffectView(Schema, kw_only=True, frozen=True):
    """The effect on another workload: its phase at the end, without the change and with it."""

    workload: str
    cluster_queue: str = ""
    what: EffectKind
    without: Phase | None = None
    with_change: Phase | None = None


class SimulationView(Schema, kw_only=True, frozen=True):
    """What would happen, and on which assumptions; counted are the facts that would be decided.

    `record` is the id of the simulation in the list of those that were run, if it was recorded.
    """

    as_of: AsOf
    workloads: list[ForeseenView]
    rounds: list[RoundView]
    effects: list[EffectView]
    starts: int
    evictions: int
    events: int
    assumptions: list[str]
    record: str = ""


class HostPods(Whole, kw_only=True, frozen=True):
    """Pods on one host."""

    host: str
    pods: int


class DepartureView(Whole, kw_only=True, frozen=True):
    """A workload on the nodes; `hosts` are where its pods would go, `reason` why nowhere."""

    workload: str
    pods: int
    outcome: Literal["Moves", "Waits", "Evicted"]
    hosts: list[HostPods]
    reason: str
    code: str = ""
    arguments: Free = {}


class DrainPreview(Whole, kw_only=True, frozen=True):
    """Every workload with pods on a node, and its placement if the node were drained now."""

    position: Position
    at: Timestamp
    node: str
    workloads: list[DepartureView]


class ExecutorDrainPreview(Whole, kw_only=True, frozen=True):
    """Every workload with pods on nodes of an executor, and its placement without all of these."""

    position: Position
    at: Timestamp
    executor: str
    nodes: list[str]
    workloads: list[DepartureView]


async def executor_drain_preview(
    services: ApplicationServices, name: str, scope: NamespaceScope
) -> ExecutorDrainPreview:
    """The preview for the nodes of an executor; raises `NotFound` without it."""
    reader, at = services.reader, services.clock.now()
    nodes = known_nodes(reader.cluster_state.config, name)
    fork, position = reader.cluster_state.fork(), reader.cluster_state.position
    moves = await services.history.executor.do(lambda: preview_joint_drain(fork, nodes, at))
    return ExecutorDrainPreview(
        position=position,
        at=timestamp(at),
        executor=name,
        nodes=nodes,
        workloads=[_departure(found, scope) for found in moves],
    )


def drain_preview(services: ApplicationServices, node: str, scope: NamespaceScope) -> DrainPreview:
    """The preview for a node; raises `NotFound`. Other teams' names are withheld."""
    cluster_state = services.reader.cluster_state
    if node not in cluster_state.config.nodes:
        raise NotFound("ObjectNotFound", kind="Node", name=node)
    return DrainPreview(
        position=cluster_state.position,
        at=timestamp(services.clock.now()),
        node=node,
        workloads=[_departure(found, scope) for found in preview_drain(cluster_state, node)],
    )


def _departure(found: PodMove, scope: NamespaceScope) -> DepartureView:
    is_visible = allows(scope, workload_stream(found.workload))
    return DepartureView(
        workload=found.workload if is_visible else FOREIGN_WORKLOAD,
        pods=found.pods,
        outcome=found.outcome,
        hosts=[HostPods(host=host, pods=pods) for host, pods in found.hosts],
        reason=message_text(found.reason, scope) if found.reason else "",
        code=found.reason.code if found.reason else "",
        arguments=arguments_view(found.reason, scope) if found.reason else {},
    )
