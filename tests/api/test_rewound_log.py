"""An API process folds a log anew that has lost events, and decides on nothing lost."""

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from headgate.bootstrap import Platform
from tests.api.callers import Api, workload
from tests.contracts.adapters import back_up
from tests.processes.programs import wait_until
from tests.workers.cluster import NAMESPACE, cluster, record

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
    (rewound,) = admin.get(REWINDS).json()["items"]
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
