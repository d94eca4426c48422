"""The stored form of folds: their state versions, the steps between these, and their digest.

A snapshot holds for as long as the same events fold to the same state, whatever the source of the
code says. So its version is kept by hand, and logs that never change prove it: they are folded in
every run of the tests, and their digests compared with recorded ones (ADR 0055).
"""

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from headgate.domain.cluster_state import ClusterState
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


STATE_VERSIONS = StateVersions(current=2, steps={1: StateStep()})
"""Raise `current` by one, with a step, where golden logs no longer fold to what they did.

`tests/event_log/test_golden_states.py` tells. A new field with a default has `StateStep()`: a
snapshot of before is read as if every state had always had the default.
"""

DIGEST_BYTES = 16
_ENTRY_DEPTH = 3
"""An entry has at most so many names: of the field, of the kind of object, and of the object."""
_SORTED = msgspec.msgpack.Encoder(order="deterministic")


def fold_digest(cluster_state: ClusterState) -> str:
    """Returns a digest of everything folded, which no order of entries changes.

    It is the sum of the hashes of all entries; a container without entries adds nothing. Of ended
    workloads it covers the records, so that the fold keeps none of them whole afterwards.
    """
    rest = msgspec.msgpack.decode(cluster_state.dump(with_workloads=False))
    rest["used"] = msgspec.json.decode(rest["used"])
    rest["records"], rest["failures"] = rest.pop("ended")
    total = sum(_hash(entry) for entry in _entries((), rest))
    for key, workload in cluster_state.workloads.items():
        total += _hash(("workloads", key, workload))
    return f"{total % 256**DIGEST_BYTES:0{2 * DIGEST_BYTES}x}"


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
    return int.from_bytes(blake2b(encoded, digest_size=DIGEST_BYTES).digest(), "big")
