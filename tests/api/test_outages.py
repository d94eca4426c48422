"""The database goes away and comes back; nothing is lost and every client is told."""

import asyncio
import time
from collections.abc import Iterator

import psycopg
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from headgate.adapters.memory.database import MemoryDatabase
from headgate.adapters.memory.event_log import MemoryEventLog
from headgate.api.app import application_services, connect
from headgate.application.application_services import ApplicationServices, DatabaseClock
from headgate.application.ports import Unavailable
from headgate.bootstrap import Platform
from tests.api.callers import ADMIN_SECRET, Api, workload

HERE = "/v1/namespaces/team-a/workloads"


@pytest.fixture
def services(platform: Platform) -> ApplicationServices:
    return application_services(platform)


@pytest.fixture
def api(services: ApplicationServices, spare_application: Litestar) -> Iterator[Api]:
    with TestClient(connect(spare_application, services)) as client:
        yield Api(client, ADMIN_SECRET)


def _away(*_: object, **__: object) -> None:
    raise Unavailable("the server closed the connection")


def test_an_outage_is_reported_with_when_to_try_again(
    api: Api, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(platform.event_log), "append", _away)
    monkeypatch.setattr(type(platform.event_log), "head", _away)
    monkeypatch.setattr(type(platform.read_models), "load", _away)
    for answer in (api.post(HERE, workload("out")), api.get(f"{HERE}/out")):
        assert (answer.status_code, answer.json()["type"]) == (503, "/problems/unavailable")
        assert answer.headers["retry-after"] == "2"
    assert api.get("/readyz").status_code == 503
    assert api.get("/healthz").status_code == 200
    assert api.get("/v1/queues").status_code == 200
    monkeypatch.undo()
    assert api.post(HERE, workload("out")).status_code == 201
    assert api.get("/readyz").status_code == 200


def test_connections_that_are_cut_are_made_again(api: Api, platform: Platform, admin: Api) -> None:
    assert api.post(HERE, workload("before-cut")).status_code == 201
    with platform.pool.connection() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    statuses = [api.post(HERE, workload("after-cut")).status_code for _ in range(10)]
    assert 201 in statuses
    assert set(statuses) <= {201, 409, 503}
    position = int(api.get(f"{HERE}/after-cut").json()["metadata"]["resourceVersion"])
    assert api.caught_up("/v1/queues", position).status_code == 200


def test_too_many_writes_at_once_are_told_to_wait(
    api: Api, services: ApplicationServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services.commits, "_max_waiting", 0)
    answer = api.post(HERE, workload("crowded"))
    assert (answer.status_code, answer.json()["type"]) == (429, "/problems/too-many-requests")
    assert answer.headers["retry-after"] == "1"


def test_the_text_of_the_driver_is_told_to_no_caller(
    api: Api, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        refused = psycopg.OperationalError('connection to "10.1.2.3", user "hg" failed')
        raise Unavailable(str(refused)) from refused

    monkeypatch.setattr(type(platform.read_models), "load", fail)

    answer = api.get(f"{HERE}/out")

    assert answer.status_code == 503
    assert "10.1.2.3" not in answer.text
    assert answer.json()["detail"] == "The database cannot be reached, or does not answer."


def test_a_step_of_the_database_clock_is_followed_within_seconds() -> None:
    step = 3_600_000_000
    database = MemoryDatabase(lambda: clock_shows[0])
    clock_shows = [step]
    clock = DatabaseClock(MemoryEventLog(database))

    async def follow() -> None:
        first = clock.now()
        clock_shows[0] += step
        following = asyncio.create_task(clock.synchronize())
        async with asyncio.timeout(10):
            while clock.now() - first < step:  # noqa: ASYNC110 - the clock signals nothing
                await asyncio.sleep(0.05)
        following.cancel()

    asyncio.run(follow())


def test_a_clock_that_answers_late_is_read_again() -> None:
    answers = [0.02, 0.0, 0.0, 0.0]
    database = MemoryDatabase(lambda: 0)

    class LateOnce(MemoryEventLog):
        def now(self) -> int:
            time.sleep(answers.pop(0))
            return super().now()

    DatabaseClock(LateOnce(database)).read_database()
    assert 0 <= len(answers) <= 2, "the first answer took longer than it takes"


def test_a_clock_that_is_being_read_goes_on_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.application.application_services.SHORT_ROUND_TRIP", -1)
    ahead, shown = 10**12, list[int]()

    class Shown(MemoryEventLog):
        def now(self) -> int:
            if clock.is_set:
                shown.append(clock.now())
            return super().now()

    database = MemoryDatabase(lambda: answers.pop(0))
    answers = [0] * 4
    clock = DatabaseClock(Shown(database))
    clock.read_database()
    answers += [ahead] * 4
    clock.read_database()

    assert len(shown) == 4
    assert max(shown) < ahead // 2 < clock.now()
