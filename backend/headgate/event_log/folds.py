"""The stored form of folds: their versions, the steps between these, and how they are compared.

A snapshot holds for as long as the same events fold to the same state, whatever the source of the
code says. So its version is kept by hand, and logs that never change prove it: they are folded in
every run of the tests, and their digests compared with recorded ones (ADR 0055).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.recorded_event import (
    RecordedEvent,
    evolve_state,
    kind_and_key,
    with_owner_of_actor,
    workload_stream,
)
from headgate.domain.scheduling.partition.partition_layout import Scope
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.domain.workloads.ended import FAILURE_KEPT_SECONDS, MAX_FAILURES, has_ended
from headgate.domain.workloads.specs import replaced_key
from headgate.event_log.chain import EventReader
from headgate.event_log.codec import CLASSES_BY_NAME
from headgate.event_log.upcasters import Fields, Step


def unchanged(fields: Fields) -> Fields:
    """Returns the fields as they are: what is new has its default."""
    return fields


class StateStep(NamedTuple):
    """What brings a snapshot to the next state version: of each workload, and of all the rest."""

    workload: Step = unchanged
    rest: Step = unchanged


class StateVersions(NamedTuple):
    """The state version that snapshots are written in, and the steps by the version before each.

    A snapshot is read if a step leads on from its version and from each after it. Where a step is
    missing, the fold of earlier events has changed in a way that no step can follow.
    """

    current: int
    steps: Mapping[int, StateStep]

    @property
    def readable(self) -> tuple[str, ...]:
        """The versions of readable snapshots as they are stored, the current one first."""
        oldest = self.current
        while oldest - 1 in self.steps:
            oldest -= 1
        return tuple(str(version) for version in range(self.current, oldest - 1, -1))

    def rest(self, stored: bytes, version: str) -> bytes:
        """Returns all but the workloads of a snapshot of a readable version as it is stored now."""
        return self._upcast(stored, version, lambda step, fields: step.rest(fields))

    def workloads(self, stored: bytes, version: str) -> bytes:
        """Returns workloads by key, of a snapshot of a readable version, as they are stored now."""

        def upcast(step: StateStep, fields: Fields) -> Fields:
            return {key: step.workload(workload) for key, workload in fields.items()}

        return self._upcast(stored, version, upcast)

    def _upcast(
        self, stored: bytes, version: str, upcast: Callable[[StateStep, Fields], Fields]
    ) -> bytes:
        if version == str(self.current):
            return stored
        fields = msgspec.msgpack.decode(stored)
        for number in range(int(version), self.current):
            fields = upcast(self.steps[number], fields)
        return msgspec.msgpack.encode(fields)


def _counted_ends(fields: Fields) -> Fields:
    """Version 2 to 3: the records of ended workloads are counted, and the latest failures kept."""
    records, causes = fields["ended"]
    counts: dict[str, dict[str, int]] = {}
    failures: list[tuple[int, str, list[Any]]] = []
    for key, record in records.items():
        _, _, finished_at, queue_name, phase = record[:5]
        phases = counts.setdefault(f"{key.partition('/')[0]}/{queue_name}", {})
        phases[phase] = phases.get(phase, 0) + 1
        if key in causes:
            failures.append((finished_at, key, [finished_at, queue_name, *causes[key]]))
    failures.sort(key=lambda each: each[:2])
    latest = failures[-1][0] if failures else 0
    kept_from = latest - FAILURE_KEPT_SECONDS * MICROSECONDS_PER_SECOND
    kept = {key: failure for at, key, failure in failures[-MAX_FAILURES:] if at >= kept_from}
    return {**fields, "ended": {"counts": counts, "failures": kept}}


STATE_VERSIONS = StateVersions(
    current=5,
    steps={1: StateStep(), 2: StateStep(rest=_counted_ends), 3: StateStep(), 4: StateStep()},
)
"""Raise `current` by one, with a step, where golden logs no longer fold to what they did.

`tests/event_log/test_golden_states.py` tells. A new field with a default has `StateStep()`: a
snapshot of before is read as if every state had always had the default.
"""

DIGEST_BYTES = 16
_ENTRY_DEPTH = 3
"""An entry has at most so many names: of the field, of the kind of object, and of the object."""
_SORTED = msgspec.msgpack.Encoder(order="deterministic")
_SORTED_TEXT = msgspec.json.Encoder(order="deterministic")


def fold_digest(cluster_state: ClusterState) -> str:
    """Returns a digest of everything folded, which no order of entries changes.

    It is the sum of the hashes of all entries; a container without entries adds nothing. Of ended
    workloads it covers the numbers, so that the fold keeps none of them whole afterwards, but for
    those that an open round names.
    """
    return digest_of(entry_hashes(cluster_state))


def digest_of(hashes: Iterable[int]) -> str:
    """Returns the digest of a fold from the hashes of its entries."""
    return f"{sum(hashes) % 256**DIGEST_BYTES:0{2 * DIGEST_BYTES}x}"


def entry_hashes(cluster_state: ClusterState) -> Iterator[int]:
    """Returns the hash of each entry, one by one, so that others may have their turn between."""
    rest = msgspec.msgpack.decode(cluster_state.dump(with_workloads=False))
    rest["used"] = msgspec.json.decode(rest["used"])
    rest |= rest.pop("ended")
    for entry in _entries((), rest):
        yield _hash(entry)
    for key, workload in cluster_state.workloads.items():
        yield _hash(("workloads", key, workload))


def _entries(names: tuple[str, ...], found: Any) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 - decoded
    if isinstance(found, dict) and len(names) < _ENTRY_DEPTH:
        for name, value in found.items():
            yield from _entries((*names, name), value)
    else:
        yield (*names, found)


def _hash(entry: tuple[Any, ...]) -> int:
    try:
        encoded = _SORTED.encode(entry)
    except TypeError:
        # Entries of dictionaries are sorted by names, not by numbers.
        encoded = _SORTED.encode(msgspec.to_builtins(entry, builtin_types=(bytes,), str_keys=True))
    except OverflowError:
        # Bytes of memory used over time are numbers of more than 64 bits.
        encoded = _SORTED_TEXT.encode(entry)
    return int.from_bytes(blake2b(encoded, digest_size=DIGEST_BYTES).digest(), "big")


MAX_SAMPLED_EVENTS = 500


def differing_stream(
    cluster_state: ClusterState, sample: int, read_stream: Callable[[str], Sequence[RecordedEvent]]
) -> str | None:
    """Returns the first stream of a sample that folds to another state than the given one.

    The sample follows from the position: seven in eight are workloads, the others configured
    objects. Streams of more than `MAX_SAMPLED_EVENTS`, or without their first event, are left out.
    """
    for stream in _sampled(cluster_state, sample):
        if stream in cluster_state.quarantined:
            continue
        if cluster_state.version_of(stream) > MAX_SAMPLED_EVENTS:
            continue
        events = read_stream(stream)
        if not events or events[0].version != 1:
            continue
        known = [each for each in events if each.position <= cluster_state.position]
        if not _agrees(cluster_state, stream, known):
            return stream
    return None


def _sampled(cluster_state: ClusterState, sample: int) -> Iterator[str]:
    position, few = cluster_state.position, sample // 8
    objects = [each for each in cluster_state.versions if kind_and_key(each)[0] in KINDS_BY_STREAM]
    for key in _spread(cluster_state.workloads, sample - few, position):
        yield workload_stream(key)
    yield from _spread(objects, few, position)


def _spread(keys: Collection[str], count: int, offset: int) -> Iterator[str]:
    """Returns evenly spread ones of some keys in their order, at most so many."""
    step = -(-len(keys) // count) if count else 0
    return islice(keys, offset % step, None, step) if step else iter(())


def _agrees(cluster_state: ClusterState, stream: str, events: Sequence[RecordedEvent]) -> bool:
    kind, _ = kind_and_key(stream)
    folded: Any = Absent()
    for recorded in events:
        # An event that cannot be folded changes nothing in the fold of the log either.
        with suppress(Exception):
            folded = evolve_state(kind, folded, with_owner_of_actor(recorded), recorded.at)
    is_same = bool(folded == cluster_state.state_of(stream))
    return is_same and cluster_state.version_of(stream) == len(events)


def restrict(cluster_state: ClusterState, scope: Scope) -> None:
    """Lets a fold that no one has read yet keep the workloads of a scope only.

    Those that rounds and kept workloads name stay as well. Nothing is done where the scope is not
    enough.
    """
    layout, workloads = cluster_state.layout, cluster_state.workloads
    if not scope.is_enough(layout):
        return
    stays = scope.named_by(cluster_state.rounds.values(), layout)
    for key, workload in workloads.items():
        if has_ended(workload) or scope.keeps(layout, workload):
            stays |= {key, replaced_key(workload.annotations)}
    if not scope.is_enough(layout):
        return
    for key in [key for key in workloads if key not in stays]:
        del workloads[key]
    versions = cluster_state.versions
    for stream in tuple(versions):
        kind, key = kind_and_key(stream)
        if kind == "workload" and key not in workloads:
            del versions[stream]
    cluster_state.scope = scope


def follows(cluster_state: ClusterState, share: frozenset[str] | None) -> bool:
    """Let a fold keep the workloads of other partitions; false if it must be loaded again.

    One of everything stays as it is where the share needs everything.
    """
    layout, scope = cluster_state.layout, cluster_state.scope
    if scope is None:
        return share is None or not Scope(share).is_enough(layout)
    return share is not None and scope.follows(share, layout)


def reader_of(cluster_state: ClusterState) -> EventReader | None:
    """What tells which of the next events a fold needs decoded; None for all.

    What a later release writes is always decoded: that it cannot be read must be noticed.
    """
    if cluster_state.scope is None:
        return None
    is_needed = cluster_state.scope.reader(cluster_state.workloads)
    return lambda stream, name: is_needed(stream, name) or name not in CLASSES_BY_NAME
