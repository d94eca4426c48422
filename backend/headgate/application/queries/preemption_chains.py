"""Chains of preemption rounds: victims of one round that are preemptors of a later one."""

from collections import deque

import msgspec

from headgate.application.ports import ReadModels
from headgate.domain.rounds.state import Round

MAX_ROUNDS = 60
MAX_ROUNDS_PER_WORKLOAD = 20


class Link(msgspec.Struct, frozen=True, order=True):
    """`workload` was a victim of the earlier round and the preemptor of the later one."""

    earlier: str
    later: str
    workload: str


class Chain(msgspec.Struct, frozen=True):
    """Rounds, oldest first, and how they are linked."""

    rounds: tuple[Round, ...]
    links: tuple[Link, ...]


def chain_of(models: ReadModels, start: Round) -> Chain:
    """Everything linked with a round, before and after it, up to `MAX_ROUNDS` rounds."""
    known = {start.id: start}
    links: dict[Link, None] = {}
    ahead = deque([start])
    while ahead and len(known) < MAX_ROUNDS:
        current = ahead.popleft()
        for link, other in _neighbours(models, current):
            links[link] = None
            if other.id not in known and len(known) < MAX_ROUNDS:
                known[other.id] = other
                ahead.append(other)
    ordered = sorted(known.values(), key=lambda found: (found.committed_at, found.id))
    kept = [link for link in sorted(links) if link.earlier in known and link.later in known]
    return Chain(tuple(ordered), tuple(kept))


def _neighbours(models: ReadModels, current: Round) -> list[tuple[Link, Round]]:
    """The round that made its preemptor wait again, and those its victims began later."""
    found = []
    before = (current.committed_at, current.id)
    for other in _rounds_of(models, current.preemptor, before):
        if current.preemptor in _victims(other):
            found.append((Link(other.id, current.id, current.preemptor), other))
            break
    for victim in sorted(_victims(current)):
        later = [
            other
            for other in _rounds_of(models, victim, None)
            if other.preemptor == victim and _is_later(other, current)
        ]
        if later:
            first = min(later, key=lambda other: (other.committed_at, other.id))
            found.append((Link(current.id, first.id, victim), first))
    return found


def _rounds_of(models: ReadModels, workload: str, before: tuple[int, str] | None) -> list[Round]:
    loaded = models.rounds(after=before, limit=MAX_ROUNDS_PER_WORKLOAD, workload=workload)
    return [found.state for found in loaded]


def _victims(found: Round) -> frozenset[str]:
    return frozenset(victim.workload for victim in found.victims)


def _is_later(other: Round, current: Round) -> bool:
    return (other.committed_at, other.id) > (current.committed_at, current.id)
