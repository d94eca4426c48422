"""The effects of a change: each workload that ends in another state with it than without it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from headgate.domain.recorded_event import StreamEvent
from headgate.domain.rounds.state import RoundCommitted, RoundVictim
from headgate.domain.streams import kind_and_key
from headgate.domain.workloads.events import WorkloadEvicted
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload

EffectKind = Literal[
    "Starts", "DoesNotStart", "Evicted", "EvictedAndStartsAgain", "NotEvicted", "Changes"
]
EVICTIONS = ("Evicted", "EvictedAndStartsAgain")
"""The effects that evict a workload that would not be evicted otherwise."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a change on one workload, with its last states without and with the change."""

    key: str
    what: EffectKind
    without: Workload | None
    with_change: Workload | None


@dataclass(frozen=True, slots=True)
class PreemptionRecord:
    """One preemption round; `cause` is its preemptor if that was a victim of an earlier round."""

    preemptor: str
    victims: tuple[RoundVictim, ...]
    cause: str = ""


def effects(
    without: tuple[Iterable[StreamEvent], Mapping[str, Workload]],
    with_change: tuple[Iterable[StreamEvent], Mapping[str, Workload]],
) -> tuple[Effect, ...]:
    """Returns each workload with another end, by key; a side is its events and its last states."""
    before, after = without[1], with_change[1]
    facts_without, facts_with = tuple(without[0]), tuple(with_change[0])
    evicted_anyway, evicted = _evicted(facts_without), _evicted(facts_with)
    keys = sorted(_concerned(facts_without) | _concerned(facts_with))
    found = []
    for key in keys:
        old, new = before.get(key), after.get(key)
        what = _what(old, new, key in evicted_anyway, key in evicted)
        if what is not None:
            found.append(Effect(key, what, old, new))
    return tuple(found)


def preemption_records(stream_events: Iterable[StreamEvent]) -> tuple[PreemptionRecord, ...]:
    """Returns all rounds in order; `cause` names a preemptor that was a victim before."""
    victims: dict[str, None] = {}
    found = []
    for _, event in stream_events:
        if isinstance(event, RoundCommitted):
            cause = event.preemptor if event.preemptor in victims else ""
            found.append(PreemptionRecord(event.preemptor, event.victims, cause))
            victims.update((victim.workload, None) for victim in event.victims)
    return tuple(found)


def _what(
    old: Workload | None,
    new: Workload | None,
    evicted_anyway: bool,  # noqa: FBT001 - what happened on either side
    evicted: bool,  # noqa: FBT001 - same
) -> EffectKind | None:
    ran, runs = _has_place(old), _has_place(new)
    if evicted and not evicted_anyway:
        return "EvictedAndStartsAgain" if runs else "Evicted"
    if evicted_anyway and not evicted:
        return "NotEvicted"
    if runs != ran:
        return "Starts" if runs else "DoesNotStart"
    has_moved = runs and old is not None and new is not None and old.admission != new.admission
    return "Changes" if has_moved else None


def _has_place(workload: Workload | None) -> bool:
    return workload is not None and has_quota_reservation(workload)


def _evicted(stream_events: Iterable[StreamEvent]) -> frozenset[str]:
    return frozenset(
        kind_and_key(stream)[1]
        for stream, event in stream_events
        if isinstance(event, WorkloadEvicted)
    )


def _concerned(stream_events: Iterable[StreamEvent]) -> frozenset[str]:
    return frozenset(
        key
        for kind, key in (kind_and_key(stream) for stream, _ in stream_events)
        if kind == "workload"
    )
