"""What-ifs: changes on a fork of the state, or the drain of a node, and what is told of them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headgate.application.access.redaction import (
    FOREIGN_WORKLOAD,
    NamespaceScope,
    allows,
    shown_key,
)
from headgate.application.application_services import ApplicationServices, whole_workloads
from headgate.application.commands.execute import catch_up
from headgate.application.commands.requests import StreamCommand
from headgate.application.cooperative import (
    Cooperative,
    drop,
    each,
    run_yielding,
    stop_if_cancelled,
)
from headgate.application.failures import LimitExceeded
from headgate.application.historical_ports import FixedReader
from headgate.application.queries.expected_start import (
    ExpectedStart,
    SpecEdit,
    WaitKey,
    edits_of,
    expected_start,
    past_waits,
    wait_key,
)
from headgate.application.queries.explanations import AsOf, QueuePosition
from headgate.application.queries.views import (
    BlockerView,
    Free,
    Position,
    RemedyView,
    Schema,
    Timestamp,
    Whole,
    arguments_view,
    blocker_view,
    message_text,
    remedies,
    remedy_views,
    sentence,
    timestamp,
    view_from,
)
from headgate.application.simulation_run import (
    PredictedState,
    SimulationOutcome,
    SimulationRequest,
    run_simulation,
)
from headgate.application.workload_filter import Waits
from headgate.domain.kinds.executor_nodes import known_nodes
from headgate.domain.recorded_event import kind_and_key, workload_stream
from headgate.domain.rejection import NotFound
from headgate.domain.rounds.state import RoundVictim
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.scheduling.second_pass import PodMove, preview_drain, preview_joint_drain
from headgate.domain.values.message import message
from headgate.domain.what_if import (
    EVICTIONS,
    DidNotSettle,
    Effect,
    EffectKind,
    PreemptionRecord,
    preemption_records,
)
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Phase, Workload, phase_of
from headgate.messages.catalogue import text_of

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
    """What would happen, and on which assumptions; counted are the facts that would be decided."""

    as_of: AsOf
    workloads: list[ForeseenView]
    rounds: list[RoundView]
    effects: list[EffectView]
    starts: int
    evictions: int
    events: int
    assumptions: list[str]


MAX_CHANGES = 1_000
MAX_EFFECTS = 1_000
ASSUMPTIONS = (message("NoOtherChanges"), message("VictimsStopImmediately"))


@dataclass(frozen=True, slots=True)
class Viewer:
    """The scope of a user, and how admissions are rendered."""

    scope: NamespaceScope
    written: Callable[[Admission], Free]


async def simulate(
    services: ApplicationServices, changes: Sequence[StreamCommand], viewer: Viewer
) -> SimulationView:
    """What the changes would lead to, as the viewer may see it; nothing is written.

    Raises the `Rejection` of a refused change, `TooMuch` for what takes too long, `Overloaded`.
    """
    if len(changes) > MAX_CHANGES:
        raise LimitExceeded("TooManyChanges", maximum=MAX_CHANGES)
    if not isinstance(services.reader, FixedReader):
        await catch_up(services)
    cluster_state = services.reader.cluster_state.fork()
    position, at = cluster_state.position, services.clock.now()
    history = services.history
    is_trial_over = history.is_trial_over()

    def is_over() -> bool:
        stop_if_cancelled()
        return is_trial_over()

    ended = await _ended_among(services, changes)
    request = SimulationRequest(changes, at, is_over, ended)
    try:
        outcome = await history.executor.do(lambda: run_simulation(cluster_state, request))
    except DidNotSettle as failure:
        raise LimitExceeded("SimulationTooLong") from failure
    as_of = AsOf(position=position, time=timestamp(at))
    config = services.reader.cluster_state.config
    found = (first.workload for first in outcome.at_first.values())
    alike = [wait_key(config, each) for each in found if each is not None]
    waits = await asyncio.to_thread(past_waits, services.models, alike)
    view = await run_yielding(_View(services, viewer, outcome, waits).whole(as_of))
    for predicted in (outcome.at_first, outcome.in_the_end):
        await run_yielding(drop(predicted))
    return view


async def _ended_among(
    services: ApplicationServices, changes: Sequence[StreamCommand]
) -> dict[str, Workload]:
    """Those of the changed workloads, by stream, that have ended."""
    named = (kind_and_key(change.stream) for change in changes)
    found = await whole_workloads(services, [key for kind, key in named if kind == "workload"])
    return {workload_stream(k): each for k, each in found.items() if each.finished_at is not None}


@dataclass(frozen=True, slots=True)
class _View:
    """The result of a simulation, redacted for a scope."""

    services: ApplicationServices
    viewer: Viewer
    outcome: SimulationOutcome
    waits: Mapping[WaitKey, Waits]

    def whole(self, as_of: AsOf) -> Cooperative[SimulationView]:
        outcome = self.outcome
        effects = outcome.effects
        workloads = yield from each(map(self._workload, outcome.at_first))
        rounds = yield from each(map(self._round, preemption_records(outcome.events)))
        first_effects = yield from each(map(self._effect, effects[:MAX_EFFECTS]))
        return SimulationView(
            as_of=as_of,
            workloads=workloads,
            rounds=rounds,
            effects=first_effects,
            starts=sum(effect.what == "Starts" for effect in effects),
            evictions=sum(effect.what in EVICTIONS for effect in effects),
            events=len(outcome.events),
            assumptions=[text_of(assumption) for assumption in ASSUMPTIONS],
        )

    def _round(self, record: PreemptionRecord) -> RoundView:
        return RoundView(
            preemptor=shown_key(record.preemptor, self.viewer.scope),
            victims=[self._victim(victim) for victim in record.victims],
            because=shown_key(record.cause, self.viewer.scope),
        )

    def _workload(self, key: str) -> ForeseenView:
        first, last = self.outcome.at_first[key], self.outcome.in_the_end[key]
        workload, why = first.workload, first.explanation
        cluster_state = self.services.reader.cluster_state
        return ForeseenView(
            workload=shown_key(key, self.viewer.scope),
            verdict=_verdict(first),
            in_the_end=_verdict(last),
            phase=phase_of(workload) if workload else None,
            cluster_queue=self._queue_of(workload),
            sentence=sentence(why, self.viewer.scope) if why else "Deleted",
            code=why.reason_message.code if why else "",
            arguments=arguments_view(why.reason_message, self.viewer.scope) if why else {},
            admission=self._admission(workload),
            victims=[self._victim(victim) for victim in first.victims],
            position=first.place,
            dominant=why.dominant if why else "",
            blockers=[
                blocker_view(blocker, self.viewer.scope)
                for blocker in (why.blockers if why else ())
            ],
            deciding=why.deciding if why and why.message is None else None,
            would_unblock=remedies(why, self.viewer.scope) if why else [],
            remedies=remedy_views(why, self.viewer.scope) if why else [],
            edits=edits_of(cluster_state, workload, why) if workload and why else [],
            expected_start=(
                expected_start(
                    cluster_state,
                    workload,
                    self.waits.get(wait_key(cluster_state.config, workload), []),
                    why,
                    self.services.clock.now(),
                )
                if workload and why and workload.admission is None
                else None
            ),
        )

    def _admission(self, workload: Workload | None) -> Free | None:
        given = (workload.admission or workload.nomination) if workload else None
        return self.viewer.written(given) if given else None

    def _victim(self, victim: RoundVictim) -> VictimView:
        workload = shown_key(victim.workload, self.viewer.scope)
        return view_from(VictimView, victim, workload=workload)

    def _effect(self, effect: Effect) -> EffectView:
        return EffectView(
            workload=shown_key(effect.key, self.viewer.scope),
            cluster_queue=self._queue_of(effect.with_change or effect.without),
            what=effect.what,
            without=phase_of(effect.without) if effect.without else None,
            with_change=phase_of(effect.with_change) if effect.with_change else None,
        )

    def _queue_of(self, workload: Workload | None) -> str:
        if workload is None:
            return ""
        return cluster_queue_of(self.services.reader.cluster_state.config, workload)


def _verdict(predicted: PredictedState) -> PredictedStatus:
    workload = predicted.workload
    if workload is None or workload.finished_at is not None:
        return "Gone"
    if has_quota_reservation(workload):
        return "Admitted"
    return "MakesRoom" if workload.round_id else "Waits"


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
