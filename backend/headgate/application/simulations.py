"""What-ifs as users ask for them: run, shown as the user may see them, recorded and listed."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.structs import asdict, replace

from headgate.application.access.redaction import (
    NamespaceScope,
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
    WaitKey,
    edits_of,
    expected_start,
    past_waits,
    wait_key,
)
from headgate.application.queries.explanations import AsOf
from headgate.application.queries.views import (
    EPOCH,
    Free,
    Position,
    Schema,
    Timestamp,
    Whole,
    arguments_view,
    blocker_view,
    remedies,
    remedy_views,
    sentence,
    timestamp,
    view_from,
)
from headgate.application.simulation_records import (
    MAX_KEPT,
    BacktestState,
    OtherChanges,
    SimulationKind,
    SimulationRecord,
    changes_of,
    percent_of,
)
from headgate.application.simulation_run import (
    EffectView,
    ForeseenView,
    PredictedState,
    PredictedStatus,
    RoundView,
    SimulationOutcome,
    SimulationRequest,
    SimulationView,
    VictimView,
    run_simulation,
)
from headgate.application.workload_filter import Waits
from headgate.domain.recorded_event import kind_and_key, workload_stream
from headgate.domain.rounds.state import RoundVictim
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.starts import PredictionVerdict, verdict_on_all
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, message
from headgate.domain.what_if import (
    EVICTIONS,
    DidNotSettle,
    Effect,
    PreemptionRecord,
    preemption_records,
)
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.explanation import UNSCHEDULABLE
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload, phase_of
from headgate.messages.catalogue import text_of

MAX_CHANGES = 1_000
MAX_RECORDED_BYTES = 1_048_576
MAX_CHANGES_NAMED = 20
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


@dataclass(frozen=True, slots=True)
class SimulationOrder:
    """A simulation as a user asked for it: its title, its manifests and its other changes."""

    title: str
    documents: str
    others: OtherChanges
    actor: str

    def raise_if_too_large(self) -> None:
        """Raises `LimitExceeded` for manifests that are too long to be recorded."""
        if len(self.documents.encode()) > MAX_RECORDED_BYTES:
            raise LimitExceeded("SimulationNotRecorded", maximum=MAX_RECORDED_BYTES)


async def record_simulation(
    services: ApplicationServices,
    order: SimulationOrder,
    changes: Sequence[StreamCommand],
    found: SimulationView,
    at: Instant,
) -> SimulationView:
    """Keeps a what-if that was run on the state of `at`, and returns it with the id of the record.

    Only its result in one line is kept: on the state at its position it gives the rest again.
    """
    streams = tuple(dict.fromkeys(change.stream for change in changes))
    workloads_only = all(kind_and_key(stream)[0] == "workload" for stream in streams)
    record = SimulationRecord(
        id=services.ids.new(),
        kind="Workload" if workloads_only else "Change",
        title=order.title,
        created_at=services.clock.now(),
        created_by=order.actor,
        state="Done",
        from_position=found.as_of.position,
        to_position=found.as_of.position,
        begin_at=at,
        end_at=at,
        documents=order.documents,
        others=order.others,
        changes=streams[:MAX_CHANGES_NAMED],
        finished_at=services.clock.now(),
        result=result_of(found),
    )
    await services.writing.do(lambda: services.simulations.add(record))
    await services.writing.do(lambda: services.simulations.forget(keep=MAX_KEPT))
    return replace(found, record=record.id)


def result_of(found: SimulationView) -> Message:
    """What would become of the workload, of several of them, or of those that a change affects."""
    if not found.workloads:
        if not found.effects:
            return message("SimulatedNoEffect")
        return message("SimulatedEffects", starts=found.starts, evictions=found.evictions)
    if len(found.workloads) > 1:
        admitted = sum(each.in_the_end == "Admitted" for each in found.workloads)
        return message("SimulatedWorkloads", admitted=admitted, workloads=len(found.workloads))
    (only,) = found.workloads
    if only.in_the_end == "Gone":
        return message("SimulatedDeletion")
    match only.verdict:
        case "Admitted":
            return message("SimulatedAdmission")
        case "MakesRoom":
            return message("SimulatedPreemption", victims=len(only.victims))
        case "Waits" | "Gone":
            if only.dominant == UNSCHEDULABLE:
                return message("SimulatedUnschedulable")
            start = only.expected_start.about if only.expected_start else None
            return message("SimulatedPending", start=_instant_of(start) if start else None)


def _instant_of(text: Timestamp) -> Instant:
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


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


class CheckView(Whole, kw_only=True, frozen=True):
    """The newest prediction of a backtest that was applied; `verdict` is null until its check.

    Missed if it missed in one ClusterQueue, Held if it held in one and missed in none.
    """

    recorded_at: Timestamp
    due_at: Timestamp
    verdict: PredictionVerdict | None


class RecordView(Schema, kw_only=True, frozen=True):
    """A simulation that was run: what was simulated, and what came of it in one line.

    `position` and `beginAt` are of the state that a what-if began with, `endAt` where a backtest
    ends. `result` is empty until there is one; of a backtest that failed it says why.
    """

    id: str
    kind: SimulationKind
    title: str = ""
    state: BacktestState
    percent: int
    changes: list[str] = []
    created_at: Timestamp
    created_by: str
    position: Position
    begin_at: Timestamp
    end_at: Timestamp
    result: str = ""
    code: str = ""
    arguments: Free = {}
    check: CheckView | None = None
    documents: str = ""
    delete: str = ""
    priority: str = ""
    cordon: str = ""


def record_view(
    services: ApplicationServices, record: SimulationRecord, *, whole: bool
) -> RecordView:
    """A simulation as it is listed; `whole` with its manifests."""
    result = record.result
    return view_from(
        RecordView,
        record,
        percent=percent_of(record),
        changes=list(changes_of(record)),
        position=record.from_position,
        result=text_of(result) if result else record.failure,
        code=result.code if result else "",
        arguments=arguments_view(result, None) if result else {},
        check=_check_view(services, record),
        documents=record.documents if whole else "",
        **asdict(record.others),
    )


def _check_view(services: ApplicationServices, record: SimulationRecord) -> CheckView | None:
    known = services.reader.cluster_state.recent_starts.predictions.values()
    of_it = (each for each in known if each.backtest == record.id)
    newest = max(of_it, key=lambda each: each.recorded_at, default=None)
    if newest is None:
        return None
    verdict = verdict_on_all(newest.observed)
    return view_from(CheckView, newest, verdict=verdict)
