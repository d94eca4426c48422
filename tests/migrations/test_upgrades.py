"""A database of an earlier commit is migrated, verified, rebuilt and answers as it did then."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic import command
from litestar.testing import TestClient
from msgspec.structs import replace
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from headgate.adapters.postgres.connections import MIN_SAMPLES
from headgate.adapters.postgres.maintenance import alembic_config, migrate, newest_revision
from headgate.api.app import application_services, connect
from headgate.application.commands.append_unit import read_columns, rows_of
from headgate.application.ports import Appended
from headgate.application.projections.workload_pods import PodFilter
from headgate.application.verify import Finding
from headgate.application.verify.verify import ChainAudit, Verifier, audit_chain
from headgate.bootstrap import Platform, open_platform
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.local_queue import LocalQueueCreated, LocalQueueSpec
from headgate.domain.recorded_event import DomainEvent, evolve_state
from headgate.domain.workloads.events import (
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadQuotaReserved,
)
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.embedded.servers import EmbeddedPostgres
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET, Api
from tests.api.serving import shared_application
from tests.conftest import new_database
from tests.contracts.events import shown
from tests.contracts.history import START, History, submitted
from tests.contracts.test_read_models import workload
from tests.contracts.test_workload_pods import STREAM, admitted, on, told
from tests.event_log.stored_logs import SCHEMA_REVISION, StoredLog, stored_logs

INLINE = "ReadModelShowsWhatItsStreamFoldsTo"
WITHOUT_PODS_SCHEDULED = """
    UPDATE workload SET state = convert_to(jsonb_set(whole, '{conditions}', (
        SELECT jsonb_agg(found) FROM jsonb_array_elements(whole->'conditions') AS found
        WHERE found->>'type' <> 'PodsScheduled'))::text, 'UTF8')
    FROM (SELECT stream, convert_from(state, 'UTF8')::jsonb AS whole FROM workload) AS read
    WHERE read.stream = workload.stream
"""


@dataclass(frozen=True)
class Upgraded:
    """One log of the earlier commit, in a database that the present code migrated."""

    log: StoredLog
    platform: Platform
    api: Api


@pytest.fixture(scope="module")
def earlier_schema(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """The name of an empty database with the schema of the earlier commit."""
    with new_database(postgres_server, "template0") as url:
        migrate(url, SCHEMA_REVISION)
        yield str(conninfo_to_dict(url)["dbname"])


@pytest.fixture
def earlier_url(postgres_server: EmbeddedPostgres, earlier_schema: str) -> Iterator[str]:
    """A database of the earlier commit without events."""
    with new_database(postgres_server, earlier_schema) as url:
        yield url


@pytest.fixture
def empty_url(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """An empty database."""
    with new_database(postgres_server, "template0") as url:
        yield url


@pytest.fixture(scope="module", params=sorted(stored_logs()))
def upgraded(
    request: pytest.FixtureRequest,
    postgres_server: EmbeddedPostgres,
    earlier_schema: str,
    tmp_path_factory: Any,
) -> Iterator[Upgraded]:
    log = stored_logs()[request.param]
    with new_database(postgres_server, earlier_schema) as url:
        _copy(url, log)
        migrate(url)
        settings = Settings(
            database_url=url,
            broker_url="memory://",
            admin_token=ADMIN_SECRET,
            ui_directory=Path(tmp_path_factory.mktemp("ui")),
        )
        platform = open_platform(settings)
        with TestClient(connect(shared_application(), application_services(platform))) as client:
            yield Upgraded(log, platform, Api(client, ADMIN_SECRET))
        platform.close()


def _copy(url: str, log: StoredLog) -> None:
    with psycopg.connect(url) as connection:
        for name, rows in log.tables.items():
            table = sql.Identifier(name)
            if name in {"log_head", "partition", "follower"}:
                connection.execute(sql.SQL("DELETE FROM {}").format(table))
            with connection.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(table)) as copy:
                copy.write(rows)


def test_its_read_models_show_what_its_streams_fold_to(upgraded: Upgraded) -> None:
    """Inline and followed rows of that commit equal those that the present code folds."""
    platform = upgraded.platform
    verifier = Verifier(platform.event_log, platform.read_models, platform.followers)

    verification = verifier.verify(lambda *_: None)

    assert verification.position == upgraded.log.head
    assert [each for each in verification.findings if not _breaks_off(each)] == []


def test_its_events_are_chained_with_any_schema(upgraded: Upgraded, earlier_url: str) -> None:
    """The chain is the same however often the schema goes up and down."""
    _copy(earlier_url, upgraded.log)
    migrate(earlier_url)
    command.downgrade(alembic_config(earlier_url), "0008")
    migrate(earlier_url)
    with psycopg.connect(earlier_url) as connection:
        chained = connection.execute("SELECT * FROM log_chain ORDER BY position").fetchall()

    assert audit_chain(upgraded.platform.event_log) == ChainAudit(first=1, last=upgraded.log.head)
    assert chained[-1][0] == upgraded.log.head
    with upgraded.platform.pool.connection() as connection:
        found = connection.execute("SELECT * FROM log_chain ORDER BY position").fetchall()
    assert found == chained


def test_its_followed_read_models_are_rebuilt_equal(upgraded: Upgraded) -> None:
    followers = upgraded.platform.followers
    for name in followers.names():
        # Those that the earlier release did not have begin with its first event.
        while followers.advance(name):
            pass
        assert followers.differences(name) == (upgraded.log.head, 0)
        followers.rebuild(name)
        assert followers.differences(name) == (upgraded.log.head, 0)


def test_its_workloads_are_answered_at_every_position(upgraded: Upgraded) -> None:
    for at, expected in upgraded.log.answers["workloads"].items():
        items = _read(upgraded, "/v1/workloads?limit=500", at)["items"]
        found = {
            _key(each): [each["status"]["phase"], each["metadata"]["resourceVersion"]]
            for each in items
        }
        assert found == expected, at


def test_its_cluster_queues_are_answered_at_every_position(upgraded: Upgraded) -> None:
    counts = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads", "flavorsReservation")
    for at, expected in upgraded.log.answers["clusterQueues"].items():
        items = _read(upgraded, "/v1/clusterqueues", at)["items"]
        found = {
            each["metadata"]["name"]: [each["status"].get(field, []) for field in counts]
            for each in items
        }
        assert found == expected, at


def test_its_timelines_are_answered(upgraded: Upgraded) -> None:
    for key, expected in upgraded.log.answers.get("timelines", {}).items():
        namespace, _, name = key.partition("/")
        path = f"/v1/namespaces/{namespace}/workloads/{name}/timeline?limit=200"
        entries = upgraded.api.get(path).json()["entries"]
        assert [[each["position"], each["type"]] for each in entries] == expected, key
        assert all(each["title"] for each in entries), key


def test_rows_without_a_condition_that_was_not_folded_then_get_it(empty_url: str) -> None:
    """Releases before 0021 did not fold PodsScheduled, so that rows of theirs lack it.

    Their rows have no columns of 0022 either, which follow from the states, and no counts.
    """
    migrate(empty_url)
    platform = open_platform(Settings(database_url=empty_url, broker_url="memory://"))
    history = admitted("h1")
    history.add(STREAM, told("started", 0), START + 2)
    state: Any = Absent()
    for unit in history.units:
        (event,) = unit.events
        state = evolve_state("workload", state, event.event, unit.at)
        platform.event_log.append([replace(unit, rows=rows_of(STREAM, state))])
    assert [each.type for each in state.conditions].count("PodsScheduled") == 1
    verifier = Verifier(platform.event_log, platform.read_models, platform.followers)
    with psycopg.connect(empty_url) as connection:
        connection.execute(WITHOUT_PODS_SCHEDULED)
        connection.execute("UPDATE workload SET reserved_at = NULL, size_class = ''")
    before = [each.code for each in verifier.verify(lambda *_: None).findings]
    command.downgrade(alembic_config(empty_url), "0020")

    migrate(empty_url)

    assert INLINE in before
    found = verifier.verify(lambda *_: None).findings
    columns = platform.read_models.columns([STREAM])[STREAM]
    platform.close()
    assert columns == read_columns(state)
    assert columns["reserved_at"] is not None
    assert not {INLINE, "KeptCountsAreThoseOfRows"} & {each.code for each in found}


def test_rows_of_finished_workloads_then_tell_when_their_time_to_live_is_over(
    empty_url: str,
) -> None:
    migrate(empty_url)
    platform = open_platform(Settings(database_url=empty_url, broker_url="memory://"))
    limited = WorkloadSpec(pod_sets=(), queue_name="q", ttl_seconds_after_finished=60)
    states = [
        workload("limited", spec=limited, finished_at=START),
        workload("kept", finished_at=START),
        workload("running", spec=limited),
    ]
    platform.event_log.append([shown(f"workload/a/{each.name}", each) for each in states])
    platform.close()
    with psycopg.connect(empty_url) as connection:
        connection.execute("UPDATE workload SET due_at = NULL")
    command.downgrade(alembic_config(empty_url), "0025")

    migrate(empty_url)

    with psycopg.connect(empty_url) as connection:
        rows = connection.execute("SELECT name, due_at FROM workload").fetchall()
    assert dict(rows) == {"limited": START + 60_000_000, "kept": None, "running": None}


def test_pods_of_ended_workloads_leave_the_read_model_of_before(empty_url: str) -> None:
    """Where it has not folded the end yet, pods stay until it has."""
    migrate(empty_url)
    platform = open_platform(Settings(database_url=empty_url, broker_url="memory://"))
    history, states = History(), dict[str, Any]()
    for name in ("ended", "late", "running"):
        history.add(f"workload/a/{name}", submitted(name))
        history.add(f"workload/a/{name}", WorkloadQuotaReserved(admission=on("h1", "h2")))
    _append(platform, history, states)
    _follow(platform)
    with psycopg.connect(empty_url) as connection:
        for table in ("workload_pod", "follower_memory"):
            connection.execute(f"CREATE TABLE kept_{table} AS SELECT * FROM {table}")
    for name in ("ended", "late"):
        history = history.continued()
        history.add(f"workload/a/{name}", WorkloadFinished(reason="Succeeded"))
        _append(platform, history, states)
        if name == "ended":
            _follow(platform)
    with psycopg.connect(empty_url) as connection:
        for table in ("workload_pod", "follower_memory"):
            kept = f"INSERT INTO {table} SELECT * FROM kept_{table} ON CONFLICT DO NOTHING"
            assert connection.execute(kept).rowcount > 0
            connection.execute(f"DROP TABLE kept_{table}")
        connection.execute("UPDATE alembic_version SET version_num = '0029'")

    migrate(empty_url, "0030")
    with psycopg.connect(empty_url) as connection:
        newest = newest_revision(empty_url)
        connection.execute("UPDATE alembic_version SET version_num = %s", (newest,))

    assert _with_pods(empty_url) == {"a/late", "a/running"}
    assert platform.followers.differences("workload_pod") == (7, 0)
    _follow(platform)
    assert _with_pods(empty_url) == {"a/running"}
    ended = platform.followers.pods(PodFilter(workload="a/ended"))
    assert [each.state for each in ended.pods] == ["Succeeded", "Succeeded"]
    command.downgrade(alembic_config(empty_url), "0029")
    migrate(empty_url)
    _follow(platform)
    assert platform.followers.differences("workload_pod") == (8, 0)
    assert _with_pods(empty_url) == {"a/running"}
    platform.close()


def test_versions_of_workloads_are_carried_into_their_rows_and_back(empty_url: str) -> None:
    """One has a row, one an event besides it, one was deleted; and an object has its own row."""
    migrate(empty_url)
    platform = open_platform(Settings(database_url=empty_url, broker_url="memory://"))
    history = History()
    for stream, facts in VERSIONED.items():
        for fact in facts:
            history.add(stream, fact)
    _append(platform, history, {})
    behind = replace(history.units[1], expected={"workload/a/behind": 1}, rows=())
    platform.event_log.append([behind])
    streams = [*VERSIONED, "workload/a/never"]
    before = platform.read_models.load(streams)
    assert [each.version for each in before] == [1, 2, 3, 1, 0]
    with psycopg.connect(empty_url) as connection:
        known = connection.execute("SELECT * FROM stream ORDER BY name").fetchall()
    platform.close()

    command.downgrade(alembic_config(empty_url), "0030")
    with psycopg.connect(empty_url) as connection:
        assert connection.execute("SELECT * FROM stream ORDER BY name").fetchall() == known
        # As the release before leaves it after an event without a row.
        connection.execute("UPDATE workload SET version = 1, position = 1 WHERE name = 'behind'")
    migrate(empty_url)

    platform = open_platform(Settings(database_url=empty_url, broker_url="memory://"))
    with psycopg.connect(empty_url) as connection:
        assert connection.execute("SELECT * FROM stream ORDER BY name").fetchall() == known
        kept = connection.execute("SELECT name FROM stream_version ORDER BY name").fetchall()
    assert kept == [("localqueue/a/door",), ("workload/a/deleted",)]
    assert platform.read_models.load(streams) == before
    after = history.continued()
    after.add("workload/a/deleted", submitted("deleted"))
    _append(platform, after, {})
    assert [each.version for each in platform.read_models.load(["workload/a/deleted"])] == [4]
    platform.close()


def test_rows_of_ended_workloads_go_to_their_table_and_back(empty_url: str) -> None:
    """Rows, versions and counts stay; later ends, and a new life under a name, move rows."""
    migrate(empty_url)
    platform = open_platform(Settings(database_url=empty_url, broker_url="memory://"))
    history, states = History(), dict[str, Any]()
    for name in ("lives", "ends", "ended", "again"):
        history.add(f"workload/a/{name}", submitted(name))
    for name in ("ended", "again"):
        history.add(f"workload/a/{name}", ENDED[0])
    _append(platform, history, states)
    platform.close()
    in_place = {"lives": "live", "ends": "live", "ended": "ended", "again": "ended"}
    rows = _workload_rows(empty_url)
    assert _tables(empty_url) == {name: f"workload_{table}" for name, table in in_place.items()}

    command.downgrade(alembic_config(empty_url), "0036")
    assert _workload_rows(empty_url) == rows
    assert set(_tables(empty_url).values()) == {"workload"}
    migrate(empty_url)

    assert _workload_rows(empty_url) == rows
    assert _tables(empty_url) == {name: f"workload_{table}" for name, table in in_place.items()}
    platform = open_platform(Settings(database_url=empty_url, broker_url="memory://"))
    after = history.continued()
    after.add("workload/a/ends", ENDED[0])
    after.add("workload/a/again", ENDED[1])
    after.add("workload/a/again", submitted("again"))
    _append(platform, after, states)
    in_place |= {"ends": "ended", "again": "live"}
    assert _tables(empty_url) == {name: f"workload_{table}" for name, table in in_place.items()}
    assert platform.read_models.miscounted() == 0
    loaded = platform.read_models.load(list(states))
    assert [found.state for found in loaded] == list(states.values())
    platform.close()


def _workload_rows(url: str) -> list[Any]:
    """All rows of workloads, each stream once, and what is known of streams."""
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT * FROM workload ORDER BY stream").fetchall()
        return rows + connection.execute("SELECT * FROM stream ORDER BY name").fetchall()


def _tables(url: str) -> dict[str, str]:
    """The table in which the row of each workload stands."""
    with psycopg.connect(url) as connection:
        return dict(connection.execute("SELECT name, tableoid::regclass::text FROM workload"))


ENDED = (WorkloadFinished(reason="Succeeded"), WorkloadDeleted())
VERSIONED: dict[str, tuple[DomainEvent, ...]] = {
    "workload/a/shown": (submitted("shown"),),
    "workload/a/behind": (submitted("behind"),),
    "workload/a/deleted": (submitted("deleted"), *ENDED),
    "localqueue/a/door": (
        LocalQueueCreated(
            uid="u", name="door", namespace="a", spec=LocalQueueSpec(cluster_queue="gpu")
        ),
    ),
}


def _append(platform: Platform, history: History, states: dict[str, Any]) -> None:
    for unit in history.units:
        (new,) = unit.events
        before, kind = states.get(new.stream, Absent()), new.stream.partition("/")[0]
        states[new.stream] = evolve_state(kind, before, new.event, unit.at)
        rows = rows_of(new.stream, states[new.stream])
        assert isinstance(platform.event_log.append([replace(unit, rows=rows)])[0], Appended)


def _follow(platform: Platform) -> None:
    while platform.followers.advance("workload_pod"):
        pass


def _with_pods(url: str) -> set[str]:
    """The workloads that have rows of pods; as many are remembered."""
    with psycopg.connect(url) as connection:
        found = {row[0] for row in connection.execute("SELECT workload FROM workload_pod")}
        remembered = connection.execute(
            "SELECT count(*) FROM follower_memory WHERE follower = 'workload_pod'"
        ).fetchone()
    assert remembered == (len(found),)
    return found


def test_a_log_is_compressed_by_its_migration_and_is_the_same(empty_url: str) -> None:
    """There are enough events to train a dictionary on; a downgrade brings back what was there."""
    migrate(empty_url)
    platform = open_platform(Settings(database_url=empty_url, broker_url="memory://"))
    states = [workload(f"w{number}", labels={"run": str(number)}) for number in range(MIN_SAMPLES)]
    units = [shown(f"workload/a/{state.name}", state) for state in states]
    platform.event_log.append(units)
    streams = [each.events[0].stream for each in units]
    events, chained = list(platform.event_log.read_all()), platform.event_log.point_at(MIN_SAMPLES)
    assert chained is not None
    sizes = []
    for _ in range(2):
        platform.close()
        sizes.append(_stored_bytes(empty_url))
        command.downgrade(alembic_config(empty_url), "0026")
        migrate(empty_url)
        platform = open_platform(Settings(database_url=empty_url, broker_url="memory://"))

    assert list(platform.event_log.read_all()) == events
    assert platform.event_log.point_at(MIN_SAMPLES) == chained
    assert audit_chain(platform.event_log) == ChainAudit(first=1, last=MIN_SAMPLES)
    assert [found.state for found in platform.read_models.load(streams)] == states
    platform.close()
    plain, compressed = sizes
    assert compressed < 0.5 * plain


def _stored_bytes(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT sum(octet_length(state)) FROM workload").fetchone()
    assert row is not None
    return int(row[0])


def _breaks_off(finding: Finding) -> bool:
    """Whether it says only that the log ends before the scheduler has seen a workload."""
    return finding.stream == f"workload/{finding.detail}"


def _read(upgraded: Upgraded, path: str, at: str) -> Any:
    joint = "&" if "?" in path else "?"
    asked = path if at == "now" else f"{path}{joint}at={at}"
    answered = upgraded.api.get(asked)
    assert answered.status_code == 200, answered.text
    return answered.json()


def _key(manifest: Any) -> str:
    return f"{manifest['metadata']['namespace']}/{manifest['metadata']['name']}"
