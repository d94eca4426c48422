"""The database accepts connections and does not answer; the API does, and goes on afterwards."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import pytest

from headgate.adapters.postgres.connections import Pool, connection_of, open_pool
from headgate.application.ports import Unavailable
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET, cluster_queue, flavor, local_queue, workload
from tests.api.serving import Server, serving
from tests.processes.programs import wait_until
from tests.processes.proxy import Proxy, proxy_to

HERE = "/v1/namespaces/team-a/workloads"
TIMEOUT_SECONDS = 1.0
MANY = 40
"""More than there are connections and threads for reads."""


@pytest.fixture(scope="module")
def proxy(database_url: str) -> Iterator[Proxy]:
    with proxy_to(database_url) as made:
        yield made


@pytest.fixture(scope="module")
def server(proxy: Proxy) -> Iterator[Server]:
    settings = Settings(
        database_url=proxy.url,
        broker_url="memory://",
        admin_token=ADMIN_SECRET,
        database_timeout_seconds=TIMEOUT_SECONDS,
    )
    with serving(settings) as started:
        yield started


@pytest.fixture(scope="module")
def viewer(server: Server) -> dict[str, str]:
    """The header of a viewer, whose token is in the database."""
    made = server.http.post("/v1/tokens", json={"name": "viewer", "role": "viewer"})
    header = {"Authorization": f"Bearer {made.json()['secret']}"}
    assert server.http.get("/v1/queues", headers=header).status_code == 200
    return header


def answers(pool: Pool) -> bool:
    """Whether the pool has a connection by now, which makes one in a thread of its own."""
    try:
        with connection_of(pool) as connection:
            return connection.execute("SELECT 2").fetchone() == (2,)
    except Unavailable:
        return False


def test_a_statement_without_an_answer_ends_its_connection(proxy: Proxy) -> None:
    pool = open_pool(proxy.url, most=1, answer_seconds=0.2)
    try:
        with connection_of(pool) as connection:
            connection.execute("SELECT 1")
            proxy.stall()
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
            assert connection.closed
            proxy.resume()
        wait_until(lambda: answers(pool), "the pool has a connection again")
        proxy.stall()
        with pytest.raises(Unavailable), connection_of(pool) as connection:
            connection.execute("SELECT 1")
    finally:
        proxy.resume()
        pool.close()


def test_the_api_answers_while_the_database_hangs_and_goes_on_afterwards(
    server: Server, proxy: Proxy, viewer: dict[str, str]
) -> None:
    http = server.http
    http.post("/v1/resourceflavors", json=flavor())
    http.post("/v1/clusterqueues", json=cluster_queue("cq"))
    http.post("/v1/namespaces/team-a/localqueues", json=local_queue("main", "cq"))
    assert http.post(HERE, json=workload("before")).status_code == 201

    proxy.stall()
    with ThreadPoolExecutor(MANY) as threads:
        reads = [threads.submit(_status, server, "GET", "/v1/events") for _ in range(MANY)]
        write = threads.submit(_status, server, "POST", HERE, workload("meanwhile"))
        ready = http.get("/readyz")
        assert (ready.status_code, ready.json()["code"]) == (503, "DatabaseHangs")
        assert http.get("/healthz").status_code == 200
        # Asked more often than there are connections for the tokens.
        queues = [http.get("/v1/queues", headers=viewer).status_code for _ in range(10)]
        assert queues == [200] * 10
        assert {read.result() for read in reads} == {503}
        assert write.result() == 503
    assert http.get("/v1/queues", headers=viewer).status_code == 200
    strange = {"Authorization": "Bearer a-token-that-is-not-known-yet"}
    assert http.get("/v1/queues", headers=strange).status_code == 503

    proxy.resume()
    wait_until(lambda: http.get("/readyz").json()["status"] == "ok", "it is ready again")
    assert http.post(HERE, json=workload("meanwhile")).status_code in (201, 409)
    assert http.post(HERE, json=workload("after")).status_code == 201
    names = [one["metadata"]["name"] for one in http.get(HERE).json()["items"]]
    assert sorted(names) == ["after", "before", "meanwhile"]
    wait_until(
        lambda: http.get("/v1/queues", headers=strange).status_code == 401, "tokens are read", 30
    )


def _status(server: Server, method: str, path: str, body: object = None) -> int:
    headers = dict(server.http.headers)
    return httpx.request(
        method, f"{server.url}{path}", json=body, headers=headers, timeout=60
    ).status_code
