"""An event and a column of a later release: read past, or waited for, and never a crash."""

from collections.abc import Callable, Iterator

import msgspec
import psycopg
import pytest
from alembic import command
from litestar import Litestar
from litestar.testing import TestClient

from headgate.adapters.postgres.maintenance import alembic_config, migrate
from headgate.api.app import application_services, connect
from headgate.application.failures import MigrationRefused, ReleaseTooOld
from headgate.application.ports import Appended, NewEvent, Unavailable
from headgate.application.run_partition import run_partition
from headgate.application.verify.verify import Verifier
from headgate.bootstrap import Platform, open_platform
from headgate.domain.recorded_event import EventIgnored
from headgate.event_log.codec import encode
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET, Api, open_queue, workload
from tests.contracts.events import unit
from tests.processes.programs import wait_until

HERE = "/v1/namespaces/team-a/workloads"


def later(body: str, name: str = "workload.tinted") -> EventIgnored:
    """An event that only a later release knows, with the body that it has written."""
    return EventIgnored(name=name, schema_version=1, body=body.encode())


def append(platform: Platform, stream: str, event: EventIgnored) -> int:
    version = 0
    with platform.pool.connection() as connection:
        row = connection.execute("SELECT version FROM stream WHERE name = %s", (stream,)).fetchone()
        version = row[0] if row else 0
    new = NewEvent(stream=stream, event=event, wakes=("*",))
    (verdict,) = platform.event_log.append([unit(new, expected={stream: version})])
    assert isinstance(verdict, Appended), verdict
    return verdict.last_position


def test_an_event_that_may_be_ignored_is_read_past(
    admin: Api, platform: Platform, schedule: Callable[[], int]
) -> None:
    open_queue(admin, "main")
    assert admin.post(HERE, workload("tinted")).status_code == 201
    body = '{"ignorable":true,"tint":"blue"}'

    append(platform, "workload/team-a/tinted", later(body))
    position = append(platform, "palette/blue", later(body, "palette.mixed"))
    schedule()

    found = admin.caught_up(f"{HERE}/tinted", position).json()
    assert found["status"]["phase"] in {"Pending", "Starting"}
    held = admin.post(f"{HERE}/tinted/hold", {"reason": "after a later event"})
    assert held.status_code == 200, held.text
    shown = admin.get("/v1/events?stream=workload/team-a/tinted&limit=50").json()["items"]
    assert [each["data"] for each in shown if each["type"] == "workload.tinted"] == [
        {"ignorable": True, "tint": "blue"}
    ]
    assert admin.get(f"{HERE}/tinted/timeline").status_code == 200
    for name in platform.followers.names():
        platform.followers.advance(name)
    verified = Verifier(platform.event_log, platform.read_models, platform.followers).verify(
        lambda *_: None
    )
    assert verified.findings == ()


def test_columns_of_a_later_release_are_ignored(
    admin: Api, platform: Platform, schedule: Callable[[], int]
) -> None:
    open_queue(admin, "wide")
    with platform.pool.connection() as connection:
        for table in ("event", "workload", "stream_version", "partition", "log_head", "object"):
            connection.execute(f"ALTER TABLE {table} ADD COLUMN later text DEFAULT 'x'")

    assert admin.post(HERE, workload("wide", queue="wide")).status_code == 201
    position = schedule()

    found = admin.caught_up(f"{HERE}/wide", position).json()
    assert found["status"]["phase"] == "Starting"


@pytest.fixture
def own_platform(fresh_database_url: str, settings: Settings) -> Iterator[Platform]:
    """The ports of a database that no other test uses."""
    opened = open_platform(msgspec.structs.replace(settings, database_url=fresh_database_url))
    yield opened
    opened.close()


def test_a_process_that_is_too_old_says_so_and_waits(
    own_platform: Platform, spare_application: Litestar
) -> None:
    own = connect(spare_application, application_services(own_platform))
    with TestClient(own) as client:
        api = Api(client, ADMIN_SECRET)
        assert api.get("/readyz").status_code == 200

        position = append(own_platform, "workload/team-a/x", later('{"tint":"blue"}'))

        services = client.app.state["services"]
        wait_until(lambda: services.reader.too_old is not None, "the event is read")
        _is_too_old(api, position)
    later_one = connect(spare_application, application_services(own_platform))
    with TestClient(later_one) as started_later:
        _is_too_old(Api(started_later, ADMIN_SECRET), position)


def _is_too_old(api: Api, position: int) -> None:
    ready = api.get("/readyz")
    assert (ready.status_code, ready.json()["code"]) == (503, "ReleaseTooOld")
    assert f"workload.tinted at position {position}" in ready.json()["detail"]
    assert api.get("/healthz").status_code == 200
    assert api.get("/v1/queues").status_code == 503


def test_a_worker_that_is_too_old_waits_as_in_an_outage(own_platform: Platform) -> None:
    def fail(_: str, failure: Exception) -> None:
        raise failure

    append(own_platform, "workload/team-a/x", later('{"tint":"blue"}'))
    scheduler = own_platform.scheduler(fail)

    with pytest.raises(ReleaseTooOld) as raised:
        run_partition(scheduler, "installation")

    assert isinstance(raised.value, Unavailable), "the ticker retries it"
    assert "upgrade" in str(raised.value)


def test_migrate_changes_nothing_in_a_newer_schema(fresh_database_url: str) -> None:
    with psycopg.connect(fresh_database_url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(MigrationRefused, match="has the schema 9999 of a later release"):
        migrate(fresh_database_url)

    with psycopg.connect(fresh_database_url) as connection:
        found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    assert found == ("9999",)


@pytest.mark.parametrize("schema", ["0015", "0026"])
def test_migrate_names_connected_processes_that_cannot_read_what_it_makes(
    fresh_database_url: str, schema: str
) -> None:
    command.downgrade(alembic_config(fresh_database_url), schema)
    with (
        psycopg.connect(fresh_database_url, application_name="headgate-api 7"),
        pytest.raises(MigrationRefused, match="headgate-api 7"),
    ):
        migrate(fresh_database_url)

    # A closed connection is listed until its process has ended.
    wait_until(lambda: not others_of(fresh_database_url), "the earlier release has gone")
    migrate(fresh_database_url)


def others_of(url: str) -> list[tuple[str]]:
    """The names of other connections to a database."""
    listed = "SELECT application_name FROM pg_stat_activity WHERE datname = current_database()"
    with psycopg.connect(url) as connection:
        return connection.execute(f"{listed} AND pid <> pg_backend_pid()").fetchall()


def test_a_strict_release_cannot_write_and_is_told_why(fresh_database_url: str) -> None:
    with (
        psycopg.connect(fresh_database_url) as connection,
        pytest.raises(psycopg.OperationalError, match="too old for the database"),
    ):
        connection.execute("SELECT log_append('[]'::jsonb, ''::bytea)")


def test_what_is_read_past_is_written_as_it_was() -> None:
    assert encode(later('{"ignorable":true}')) == ("workload.tinted", 1, b'{"ignorable":true}')
