"""Spans sent by OTLP: requests, their commits, runs of cycles, and what becomes of workloads.

The time of a workload is cut by its events: it waits in its queue, waits for admission checks,
starts, runs, and stops. Its spans lie below the request that submitted it, and are sent by the API
process that took that request. Where to and how many are sent say the variables of OpenTelemetry.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeVar

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    Link,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
)
from opentelemetry.trace.propagation import set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from headgate.application.ports import AppendUnit
from headgate.application.scheduling_cycles import CycleRecord
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import (
    ReservationDropped,
    WorkloadAdmitted,
    WorkloadDeleted,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadPodsReady,
    WorkloadPodsReported,
    WorkloadQuotaReserved,
    WorkloadStopped,
    WorkloadSubmitted,
)

TRACEPARENT = "traceparent"
MAX_FOLLOWED = 10_000
"""Workloads of which a process sends spans at a time; the oldest is let go for the next one."""
NANOSECONDS = 1_000
"""In a microsecond, of which instants are numbers."""
SERVER_ERROR = 500

Attributes = Mapping[str, AttributeValue]
_Kept = TypeVar("_Kept")


@dataclass(slots=True)
class _Followed:
    """The present phase of a workload that a traced request submitted, and when it began."""

    trace: str
    phase: str
    since: Instant
    attributes: dict[str, AttributeValue] = field(default_factory=dict)


class OtlpRequestSpan:
    """The span of a request; `traceparent` is what it causes refers to."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self.traceparent = _traceparent_of(span)

    def note_status(self, status: int) -> None:
        """Notes the status of the answer."""
        self._span.set_attribute("http.response.status_code", status)
        if status >= SERVER_ERROR:
            self._span.set_status(Status(StatusCode.ERROR))

    def note_failure(self, failure: BaseException) -> None:
        """Notes why there is no answer of the handler."""
        self._span.set_attribute("error.type", type(failure).__name__)


class OtlpTraces:
    """Fills the port `Traces` with spans of one process; the usual exporter sends them by OTLP."""

    def __init__(self, service: str, exporter: SpanExporter | None = None) -> None:
        self._ids = _ChosenIds()
        named = Resource.create({"service.name": service, "service.namespace": "headgate"})
        self._provider = TracerProvider(
            resource=named.merge(OTELResourceDetector().detect()), id_generator=self._ids
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("headgate")
        self._issued: dict[str, None] = {}
        self._followed: dict[str, _Followed] = {}

    @contextmanager
    def request(self, name: str, header: str, attributes: Attributes) -> Iterator[OtlpRequestSpan]:
        """The span of a request, below the caller's where `header` names one."""
        span = self._tracer.start_span(
            name, context=_context_of(header), kind=SpanKind.SERVER, attributes=attributes
        )
        found = OtlpRequestSpan(span)
        if span.is_recording():
            _put(self._issued, found.traceparent, None)
        try:
            yield found
        except BaseException as failure:
            found.note_failure(failure)
            raise
        finally:
            span.end()

    @contextmanager
    def commit(self, units: Sequence[AppendUnit]) -> Iterator[None]:
        """The span of an append, from its place in the queue until the log has answered."""
        trace = units[0].metadata.trace if units else ""
        if trace not in self._issued:
            yield
            return
        events = sum(len(unit.events) for unit in units)
        context = _context_of(trace)
        span = self._tracer.start_span("commit", context, attributes={"headgate.events": events})
        try:
            yield
        finally:
            span.end()

    def cycles(self, record: CycleRecord) -> None:
        """Sends the span of planned cycles with those of planning and of committing."""
        began = record.at
        planned = began + record.planning_microseconds
        ended = planned + record.commit_microseconds
        self._ids.choose(cycle_context(record.id))
        attributes: Attributes = {
            "headgate.cycle": record.id,
            "headgate.partition": record.partition,
            "headgate.cycles": record.cycles,
            "headgate.heads": record.heads,
            "headgate.decisions": record.decisions,
            "headgate.reservations": record.reservations,
            "headgate.position": record.last_position,
            "headgate.outcome": record.outcome,
        }
        span = self._tracer.start_span(
            "cycle", Context(), attributes=attributes, start_time=began * NANOSECONDS
        )
        inside = set_span_in_context(span, Context())
        for name, start, end in (("plan", began, planned), ("commit", planned, ended)):
            part = self._tracer.start_span(name, inside, start_time=start * NANOSECONDS)
            part.end(end * NANOSECONDS)
        span.end(ended * NANOSECONDS)

    def follow(self, batch: Sequence[RecordedEvent]) -> None:
        """Sends what is over of workloads that were submitted by requests of this process."""
        for recorded in batch:
            if isinstance(recorded.event, WorkloadSubmitted):
                trace = recorded.metadata.trace
                if trace in self._issued:
                    _put(self._followed, recorded.stream, _Followed(trace, "queue", recorded.at))
            elif recorded.stream in self._followed:
                self._advance(recorded, self._followed[recorded.stream])

    def close(self) -> None:
        """Sends what is left."""
        self._provider.shutdown()

    def _advance(self, recorded: RecordedEvent, found: _Followed) -> None:
        match recorded.event:
            case WorkloadQuotaReserved():
                self._end_phase(recorded, found, "checks", cycle=recorded.metadata.correlation)
            case WorkloadAdmitted():
                self._end_phase(recorded, found, "start")
            case WorkloadPodsReported(executor=executor, attempt=attempt):
                found.attributes |= {"headgate.executor": executor, "headgate.attempt": attempt}
            case WorkloadPodsReady() if found.phase == "start":
                self._end_phase(recorded, found, "run")
            case WorkloadEvicted(reason=reason):
                self._end_phase(recorded, found, "stop", failure=reason)
            case WorkloadStopped() | ReservationDropped():
                self._end_phase(recorded, found, "queue")
            case WorkloadFinished(reason=reason):
                failure = "" if reason == "Succeeded" else reason
                self._end_phase(recorded, found, "", failure=failure)
                del self._followed[recorded.stream]
            case WorkloadDeleted():
                del self._followed[recorded.stream]
            case _:
                return

    def _end_phase(
        self,
        recorded: RecordedEvent,
        found: _Followed,
        following: str,
        *,
        cycle: str = "",
        failure: str = "",
    ) -> None:
        """Sends the span of a phase, unless it took no time as where there are no checks."""
        if recorded.at > found.since or found.phase != "checks":
            span = self._tracer.start_span(
                found.phase,
                _context_of(found.trace),
                attributes={
                    "headgate.workload": recorded.stream.partition("/")[2],
                    "headgate.position": recorded.position,
                    **found.attributes,
                },
                links=[Link(cycle_context(cycle))] if cycle else [],
                start_time=found.since * NANOSECONDS,
            )
            if failure:
                span.set_status(Status(StatusCode.ERROR, failure))
            span.end(recorded.at * NANOSECONDS)
        found.phase, found.since = following, recorded.at
        if following == "queue":
            found.attributes = {}


def cycle_context(cycle: str) -> SpanContext:
    """Returns the place of the span of a cycle, which other processes link to by its id alone."""
    digest = sha256(cycle.encode()).digest()
    trace_id, span_id = int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:24], "big")
    flags = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)


class _ChosenIds(RandomIdGenerator):
    """Random ids, but for the next trace of a thread that chose them."""

    def __init__(self) -> None:
        self._chosen = threading.local()

    def choose(self, context: SpanContext) -> None:
        """Has the next root span of this thread be at this place."""
        self._chosen.trace_id, self._chosen.span_id = context.trace_id, context.span_id

    def generate_trace_id(self) -> int:
        """Returns the id of a new trace."""
        return self._taken("trace_id") or super().generate_trace_id()

    def generate_span_id(self) -> int:
        """Returns the id of a new span."""
        return self._taken("span_id") or super().generate_span_id()

    def _taken(self, name: str) -> int:
        found: int = self._chosen.__dict__.pop(name, 0)
        return found


def _context_of(traceparent: str) -> Context:
    return TraceContextTextMapPropagator().extract({TRACEPARENT: traceparent}, Context())


def _traceparent_of(span: Span) -> str:
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier, set_span_in_context(span, Context()))
    return carrier[TRACEPARENT]


def _put(known: dict[str, _Kept], key: str, value: _Kept) -> None:
    """Keeps a value, and no more than so many."""
    known[key] = value
    while len(known) > MAX_FOLLOWED:
        del known[next(iter(known))]
