"""Cycles of one log, chosen at random, run again: on both adapters, under several hash seeds."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from headgate.adapters.memory.database import MemoryDatabase
from headgate.adapters.memory.event_log import MemoryEventLog
from headgate.adapters.memory.stores import MemoryStateCache
from headgate.application.historical_states import HistoricalStates
from headgate.application.ports import EventLog
from headgate.application.queries.cycles import rerun_cycle
from headgate.application.scheduling_cycles import CycleQuery, CycleRecord, CycleStore
from headgate.domain.recorded_event import RecordedEvent
from tests.contracts.adapters import on_postgres

HASH_SEEDS = ("1", "2")
MAX_RECORDS = 100_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many cycles were run again, and which of them came out otherwise anywhere."""

    cycles: int
    different: tuple[str, ...]


def compare_on_every_adapter(
    url: str, chosen: int, hash_seeds: Sequence[str] = HASH_SEEDS
) -> Comparison:
    """Run the same cycles again in a process for each hash seed; all must give the same bytes."""
    program = (
        "import sys; from tests.cycles.every_adapter import tell; tell(sys.argv[1], sys.argv[2])"
    )
    told: list[dict[str, list[str]]] = []
    for hash_seed in hash_seeds:
        command = [sys.executable, "-c", program, url, str(chosen)]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        answer = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        told.append(json.loads(answer.stdout))
    names = sorted({name for digests in told for name in digests})
    found = {name: {one for digests in told for one in digests.get(name, [""])} for name in names}
    return Comparison(len(names), tuple(name for name in names if len(found[name]) > 1))


def tell(url: str, chosen: str) -> None:
    """Print by cycle the digest of what was decided, and of it again on each adapter."""
    with on_postgres(url) as adapters:
        records = pick(adapters.cycles, int(chosen))
        copied = memory_log(adapters.log.read_all())
        on_each = [digests_of(log, records) for log in (adapters.log, copied)]
    told = {
        record.id: [digest for found in on_each for digest in found[record.id]]
        for record in records
    }
    sys.stdout.write(json.dumps(told))


def pick(book: CycleStore, chosen: int) -> list[CycleRecord]:
    """So many of the cycles that decided something, in the order of the log."""
    records = book.page(CycleQuery(limit=MAX_RECORDS))
    committed = sorted(
        (one for one in records if one.outcome == "Committed"), key=lambda one: one.id
    )
    taken = Random(1).sample(committed, min(chosen, len(committed)))
    return sorted(taken, key=lambda one: one.input_position)


def digests_of(log: EventLog, records: Sequence[CycleRecord]) -> dict[str, tuple[str, str]]:
    """By cycle what was decided then and what is decided when it is run again."""
    states = HistoricalStates(log, MemoryStateCache())
    found = {}
    for record in records:
        count = record.last_position - record.first_position + 1
        recorded = log.read(record.first_position - 1, limit=count)
        again = rerun_cycle(states.at(record.input_position).fork(), record, recorded)
        found[record.id] = (again.digest_recorded, again.digest_replayed)
    return found


def memory_log(events: Iterable[RecordedEvent]) -> MemoryEventLog:
    """The same log on the memory adapter."""
    database = MemoryDatabase(lambda: 0)
    for recorded in events:
        database.keep(recorded)
    return MemoryEventLog(database)
