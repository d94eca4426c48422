"""An API process folds a log anew that has lost events, and decides on nothing lost."""

from dataclasses import replace

import pytest
from litestar import Litestar
from litestar.testing import TestClient
from msgspec import structs

from headgate.adapters.postgres.tail import PostgresTail
from headgate.api.app import application_services, connect
from headgate.bootstrap import Platform, open_platform
from headgate.domain.recorded_event import LOG_STREAM, LogRewound
from headgate.event_log.chain import PastLost
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET, Api, workload
from tests.api.test_executor_protocol import Process, an_executor
from tests.contracts.adapters import back_up
from tests.processes.programs import wait_until
from tests.workers.cluster import NAMESPACE, cluster, record, submitted

WORKLOADS = f"/v1/namespaces/{NAMESPACE}/workloads"
REWINDS = "/v1/events?type=log.rewound"


@pytest.fixture
def queue(platform: Platform) -> str:
    """The name of a LocalQueue."""
    record(platform.event_log, *cluster("gpu"))
    return "gpu"


def test_it_folds_the_log_anew_and_tells_callers_and_watchers(
    client: "TestClient[Litestar]", admin: Api, queue: str, database_url: str, platform: Platform
) -> None:
    services = client.app.state["services"]
    assert admin.post(WORKLOADS, workload("kept", NAMESPACE, queue)).status_code == 201
    restore = back_up(database_url, ())
    assert admin.post(WORKLOADS, workload("lost", NAMESPACE, queue)).status_code == 201
    once = workload("again", NAMESPACE, queue)
    assert admin.post(WORKLOADS, once, Idempotency_Key="once").status_code == 201
    read_up_to = platform.event_log.head()
    wait_until(lambda: services.hub.position == read_up_to, "everything is published")
    lost = services.reader.point

    restore()
    wait_until(lambda: services.reader.ready and services.reader.point != lost, "it is read anew")

    assert admin.get(f"{WORKLOADS}/lost").status_code == 404
    assert admin.get(f"{WORKLOADS}/kept").status_code == 200
    rewound, *_ = admin.get(REWINDS).json()["items"]
    assert rewound["data"]["read_up_to"] == read_up_to
    admin.caught_up(WORKLOADS, rewound["position"])
    alerts = admin.get("/v1/overview").json()["attention"]
    assert [each["severity"] for each in alerts if each["kind"] == "LogRewound"] == ["critical"]
    assert b'headgate_findings{kind="LogRewound"} 1' in admin.get("/metrics").content
    again = admin.post(WORKLOADS, once, Idempotency_Key="once")
    assert again.status_code == 201
    assert "Idempotency-Replayed" not in again.headers
    assert admin.post(WORKLOADS, workload("lost", NAMESPACE, queue)).status_code == 201
    frames = [frame.recorded.position for frame in services.hub._frames]  # noqa: SLF001
    assert min(frames, default=read_up_to) > platform.event_log.head() - 4


def test_an_executor_is_asked_for_its_orphans_after_each_loss(
    admin: Api, callers: dict[str, Api], platform: Platform
) -> None:
    admin.post("/v1/executors", an_executor("asked"))
    process = Process(callers["executor"], "asked")
    no_orphans: tuple[str, dict[str, list[str]]] = (f"{process.path}/orphans", {"orphans": []})
    assert process.api.put(*no_orphans, **process.headers).status_code == 200
    assert not process.get("assignments").json()["awaitsOrphans"]

    record(platform.event_log, (LOG_STREAM, LogRewound(read_up_to=9, head=8, observer="a worker")))
    admin.caught_up("/v1/executors/asked", platform.event_log.head())
    assert process.get("assignments").json()["awaitsOrphans"]

    assert process.api.put(*no_orphans, **process.headers).status_code == 200
    assert not process.get("assignments").json()["awaitsOrphans"]
    events = admin.get("/v1/events?type=executor.orphans_reported").json()["items"]
    assert events[0]["stream"] == "executor/asked"
    assert events[0]["data"]["losses"] >= 1


def test_a_new_connection_of_any_pool_tells_of_the_loss(
    settings: Settings, fresh_database_url: str, spare_application: Litestar
) -> None:
    """The connection of the tail may live on: here it looks once an hour, and is not notified."""
    platform = open_platform(structs.replace(settings, database_url=fresh_database_url))
    tail = PostgresTail(fresh_database_url, poll_seconds=3_600)
    services = application_services(replace(platform, tail=tail))
    with TestClient(connect(spare_application, services)) as client:
        record(platform.event_log, *cluster("gpu"))
        restore = back_up(fresh_database_url, ())
        record(platform.event_log, submitted("lost", "gpu"))
        api = Api(client, ADMIN_SECRET)
        api.caught_up(f"{WORKLOADS}/lost", platform.event_log.head())
        lost = services.reader.point

        restore()
        assert services.reader.point == lost
        (_, *others) = platform.pools
        others[-1].drain()
        wait_until(lambda: services.reader.point != lost, "the log is read anew")

        wait_until(lambda: services.reader.ready, "and answered from")
        assert api.get(f"{WORKLOADS}/lost").status_code == 404
    platform.close()


def test_a_new_connection_lets_a_worker_compare_its_fold(fresh_database_url: str) -> None:
    settings = Settings(database_url=fresh_database_url, broker_url="memory://")
    platform = open_platform(settings)
    live = platform.scheduler(_raise).live
    record(platform.event_log, *cluster("gpu"))
    restore = back_up(fresh_database_url, ())
    record(platform.event_log, submitted("lost", "gpu"))
    live.catch_up_with_log()
    assert "team/lost" in live.cluster_state.workloads
    restore()

    platform.pool.drain()

    with pytest.raises(PastLost):
        wait_until(lambda: live.cluster_state is None, "the fold is compared")
    platform.close()


def _raise(_: str, failure: Exception) -> None:
    raise failure
