"""Any history gives the same results on Postgres as in memory."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.application.ports import (
    AppendUnit,
    EventFilter,
    Fence,
    NewEvent,
    Row,
    Verdict,
    WorkloadQuery,
)
from headgate.domain.workloads.events import WorkloadPodsNotReady
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.domain.workloads.state import Workload
from tests.contracts.adapters import Adapters, in_memory, on_postgres
from tests.contracts.events import AT, ORIGIN, key

STREAMS = tuple(f"workload/a/{n}" for n in range(4))
PARTITIONS = ("installation", "p", "q")
TABLES = "event, stream_version, idempotency, partition, object, workload, round, round_victim"

streams = st.sampled_from(STREAMS)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)


def _fence_of(partition: str, guard: int) -> Fence:
    return Fence(partition=partition, epoch=0, guard=guard)


fences = st.builds(_fence_of, st.sampled_from(("p", "gone")), st.integers(0, 1))


@st.composite
def units(draw: st.DrawFn) -> AppendUnit:
    """Units that often touch what others touch; `expected` is right about half of the time."""
    touched = draw(st.lists(streams, min_size=1, max_size=3))
    read = draw(st.lists(streams, max_size=1))
    events = tuple(draw(new_events(stream)) for stream in touched)
    return AppendUnit(
        at=AT + draw(st.integers(0, 9)),
        metadata=ORIGIN,
        expected={stream: draw(st.integers(0, 3)) for stream in [*touched, *read]},
        events=events,
        rows=tuple(draw(rows(stream)) for stream in dict.fromkeys(touched)),
        fence=draw(st.none() | fences),
        config_position=draw(st.none() | st.integers(0, 6)),
        idempotency=draw(st.none() | st.builds(key, st.sampled_from("jk"), st.sampled_from("rs"))),
    )


@st.composite
def new_events(draw: st.DrawFn, stream: str) -> NewEvent:
    return NewEvent(
        stream=stream,
        event=WorkloadPodsNotReady(message=draw(texts)),
        wakes=tuple(draw(st.lists(st.sampled_from((*PARTITIONS, "*", "gone")), max_size=2))),
        guards=draw(st.booleans()),
        configures=draw(st.integers(0, 9)) == 0,
    )


@st.composite
def rows(draw: st.DrawFn, stream: str) -> Row:
    name = stream.rpartition("/")[2]
    state = Workload(
        uid=draw(texts), namespace="a", name=name, created_at=AT, spec=WorkloadSpec(pod_sets=())
    )
    columns: dict[str, Any] = {
        "namespace": "a",
        "name": name,
        "uid": state.uid,
        "local_queue": "",
        "cluster_queue": "",
        "phase": draw(st.sampled_from(("Pending", "Running"))),
        "priority": draw(st.integers(-5, 5)),
        "created_at": AT,
        "labels": {},
        "due_at": None,
        "state": state,
    }
    return Row(table="workload", stream=stream, columns=draw(st.sampled_from((columns, None))))


Step = Callable[[Adapters], object]


def appending(group: list[AppendUnit]) -> Step:
    """Append a group; half of what is expected is made to be right first."""

    def step(adapters: Adapters) -> list[Verdict]:
        loaded = adapters.models.load(STREAMS)
        versions = {found.stream: found.version for found in loaded}
        right = [
            replace(unit, expected={stream: versions[stream] for stream in unit.expected})
            if number % 2
            else unit
            for number, unit in enumerate(group)
        ]
        return adapters.log.append(right)

    return step


def deciding(group: list[AppendUnit], next_due: int | None) -> Step:
    """A worker's turn in which nothing stands in its way but the group itself."""

    def step(adapters: Adapters) -> list[Verdict]:
        session = adapters.partitions.try_lock("p", "worker")
        assert session is not None
        with session:
            loaded = {found.stream: found.version for found in adapters.models.load(STREAMS)}
            own = [
                replace(
                    unit,
                    fence=None,
                    idempotency=None,
                    expected={stream: loaded[stream] for stream in unit.expected},
                )
                for unit in group
            ]
            return session.commit_decisions(own, next_due=next_due)

    return step


def idling(back: int, next_due: int | None) -> Step:
    def step(adapters: Adapters) -> None:
        session = adapters.partitions.try_lock("q", "worker")
        assert session is not None
        with session:
            session.commit_idle(idle_position=max(adapters.log.head() - back, 0), next_due=next_due)

    return step


steps = st.one_of(
    st.lists(units(), min_size=1, max_size=5).map(appending),
    st.builds(deciding, st.lists(units(), min_size=1, max_size=3), st.none() | st.integers(1, 9)),
    st.builds(idling, st.integers(0, 3), st.none() | st.integers(1, 9)),
)


def everything(adapters: Adapters) -> list[object]:
    """All that can be read of an installation."""
    return [
        list(adapters.log.read_all()),
        adapters.log.page(EventFilter(streams=("workload/a/1",)), before=None, limit=99),
        adapters.models.load(STREAMS),
        adapters.models.workloads(WorkloadQuery()),
        adapters.models.replay_of("k", "user:ada"),
        adapters.partitions.rows(),
        adapters.partitions.agenda().due,
        adapters.partitions.agenda().next_due,
    ]


@pytest.fixture(scope="module")
def postgres(database_url: str) -> Iterator[tuple[Adapters, str]]:
    with on_postgres(database_url) as adapters:
        yield adapters, database_url


def emptied(url: str) -> None:
    """Begin again; only an owner who switches triggers off can do this."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(f"TRUNCATE {TABLES}")
        connection.execute("DELETE FROM log_chain WHERE position > 0")
        connection.execute(
            "UPDATE log_head SET position = 0, config_position = 0, reshaped_position = -1"
        )
        connection.execute("INSERT INTO partition (key, last_position) VALUES ('installation', 0)")


# The pool of connections spreads its retries by chance, in a thread of its own.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(history=st.lists(steps, min_size=1, max_size=6))
def test_any_history_gives_the_same_results(
    postgres: tuple[Adapters, str], history: list[Step]
) -> None:
    on_disk, url = postgres
    emptied(url)
    worlds = (in_memory(), on_disk)
    for world in worlds:
        world.partitions.sync_partitions(PARTITIONS, 0, world.point(0))

    for step in history:
        remembered, stored = (step(world) for world in worlds)
        assert stored == remembered

    remembered_all, stored_all = (everything(world) for world in worlds)
    assert stored_all == remembered_all
