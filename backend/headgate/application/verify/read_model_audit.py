"""Read models rebuilt from the log and compared with the live ones."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any, Protocol

from headgate.application.commands.append_unit import READ_COLUMNS, read_columns
from headgate.application.ports import Loaded, ReadModels
from headgate.application.verify import Findings
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import (
    ContentErased,
    DomainEvent,
    RecordedEvent,
    evolve_state,
    kind_and_key,
    with_owner_of_actor,
)
from headgate.domain.workloads.events import WorkloadSpecChanged, WorkloadSubmitted
from headgate.domain.workloads.state import Workload

BATCH = 500
TALLY = "workload_tally"
"""The table of kept counts; findings name it, as they do followed read models."""


class ComparableRows(ReadModels, Protocol):
    """Inline read models with what only a comparison asks of them."""

    def columns(self, streams: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The columns of workload rows that `read_columns` gives."""

    def miscounted(self) -> int:
        """The number of kept counts of workloads that differ from their rows."""


def digests_of(event: DomainEvent) -> tuple[str, ...]:
    """The digests of the object or the pod templates as written that an event refers to."""
    if isinstance(event, WorkloadSubmitted | WorkloadSpecChanged):
        return tuple(pod_set.written for pod_set in event.spec.pod_sets if pod_set.written)
    digest = getattr(event, "written", "")
    return (digest,) if digest else ()


class States:
    """Every object and round as its own stream makes it, stream by stream.

    `written` has the digest of each object or pod template as written that an event refers to, and
    the first event since it was last erased; `erased` those that were, and are referred to no more.
    """

    def __init__(self) -> None:
        self.position = 0
        self.states: dict[str, Any] = {}
        self.versions: dict[str, int] = {}
        self.written: dict[str, tuple[int, str]] = {}
        self.erased: dict[str, tuple[int, str]] = {}

    def read(self, recorded: RecordedEvent) -> None:
        """Fold one event into its stream's state."""
        kind, _ = kind_and_key(recorded.stream)
        before = self.states.get(recorded.stream, Absent())
        event = with_owner_of_actor(recorded)
        self.states[recorded.stream] = evolve_state(kind, before, event, recorded.at)
        self.versions[recorded.stream] = recorded.version
        if isinstance(recorded.event, ContentErased):
            for digest in recorded.event.digests:
                self.written.pop(digest, None)
                self.erased[digest] = (recorded.position, recorded.stream)
        for digest in digests_of(recorded.event):
            self.written.setdefault(digest, (recorded.position, recorded.stream))
            self.erased.pop(digest, None)
        self.position = recorded.position


def compare(states: States, read_models: ComparableRows, findings: Findings) -> int:
    """Compare every stream's row with its fold; how many were compared.

    A row that has moved on since the log was read is left out: it belongs to a later position.
    """
    compared = 0
    for streams in _batches(sorted(states.states)):
        columns = read_models.columns([each for each in streams if each.startswith("workload/")])
        for loaded in read_models.load(streams):
            if loaded.position > states.position:
                continue
            compared += 1
            _compare_one(states, loaded, findings)
            _compare_columns(loaded, columns.get(loaded.stream), findings)
    return compared


def check_counts(read_models: ComparableRows, head: int, findings: Findings) -> None:
    """Find kept counts of workloads that differ from a count of their rows."""
    miscounted = read_models.miscounted()
    if miscounted:
        findings.at(head, TALLY)
        findings.add("KeptCountsAreThoseOfRows", f"{miscounted} counts differ")


def check_written(states: States, read_models: ReadModels, findings: Findings) -> None:
    """Find events that refer to an object as written that is not kept, or was changed."""
    for digests in _batches(sorted(states.written)):
        bodies = read_models.written(digests)
        for digest in digests:
            findings.at(*states.written[digest])
            body = bodies.get(digest)
            if body is None:
                findings.add("WhatWasWrittenIsKept", f"nothing is kept under {digest}")
            elif sha256(body).hexdigest() != digest:
                findings.add("WhatWasWrittenIsKept", f"another body is kept under {digest}")


def check_erased(states: States, read_models: ReadModels, findings: Findings) -> None:
    """Find content that is kept although it was erased, as after the restore of a table."""
    for digests in _batches(sorted(states.erased)):
        for digest in sorted(read_models.written(digests)):
            findings.at(*states.erased[digest])
            findings.add("ErasedContentIsGone", f"a body is kept under {digest}")


def _compare_one(states: States, loaded: Loaded, findings: Findings) -> None:
    findings.at(loaded.position, loaded.stream)
    version = states.versions[loaded.stream]
    if loaded.version != version:
        findings.add(
            "ReadModelStandsWhereItsStreamStands",
            f"version {loaded.version} instead of {version}",
        )
    elif loaded.state != states.states[loaded.stream]:
        findings.add(
            "ReadModelShowsWhatItsStreamFoldsTo",
            _difference(loaded.state, states.states[loaded.stream]),
        )


def _compare_columns(loaded: Loaded, shown: dict[str, Any] | None, findings: Findings) -> None:
    """Find columns that lists read and that do not follow from the state beside them."""
    if shown is None or not isinstance(loaded.state, Workload):
        return
    folded = read_columns(loaded.state)
    names = [name for name in READ_COLUMNS if shown[name] != folded[name]]
    if names:
        findings.add("ReadModelShowsWhatItsStreamFoldsTo", "different " + ", ".join(names))


def _difference(shown: Any, folded: Any) -> str:  # noqa: ANN401 - any aggregate's state
    if type(shown) is not type(folded):
        return f"{type(shown).__name__} instead of {type(folded).__name__}"
    names = [
        name
        for name in getattr(type(folded), "__struct_fields__", ())
        if getattr(shown, name) != getattr(folded, name)
    ]
    return "different " + ", ".join(names)


def _batches(streams: Sequence[str]) -> Iterator[list[str]]:
    remaining = iter(streams)
    while batch := list(islice(remaining, BATCH)):
        yield batch
