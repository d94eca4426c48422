"""The real application over a real database, and callers of every role."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from headgate.api.app import application_services, connect, routes_only
from headgate.application.run_partition import run_partition, sync_partitions
from headgate.bootstrap import Platform, open_platform
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET, Api, workload
from tests.api.serving import shared_application

ROLES = {"viewer": [], "executor": [], "submitter": ["team-a"]}


@pytest.fixture(scope="module")
def settings(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The settings of this module's API; no broker is needed."""
    return Settings(
        database_url=database_url,
        broker_url="memory://",
        admin_token=ADMIN_SECRET,
        ui_directory=Path(tmp_path_factory.mktemp("ui")),
        pod_logs=str(tmp_path_factory.mktemp("pod-logs")),
    )


@pytest.fixture(scope="module")
def platform(settings: Settings) -> Iterator[Platform]:
    """The ports of this module's API."""
    opened = open_platform(settings)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def application() -> Litestar:
    """The application of all modules; `client` starts it."""
    return shared_application()


@pytest.fixture(scope="session")
def spare_application() -> Litestar:
    """A second one, for tests that start it while that of their module runs."""
    return routes_only()


@pytest.fixture(scope="module")
def client(application: Litestar, platform: Platform) -> Iterator[TestClient[Litestar]]:
    """The application over the installation of this module, started."""
    with TestClient(connect(application, application_services(platform))) as started:
        yield started


@pytest.fixture(scope="module")
def schedule(platform: Platform) -> Callable[[], int]:
    """Let a worker do everything there is to do now; the position it leads to."""
    scheduler = platform.scheduler(_raise)

    def run() -> int:
        sync_partitions(scheduler)
        for _ in range(20):
            due = platform.partitions.agenda().due
            for key in due:
                run_partition(scheduler, key)
            if not due:
                break
        return platform.event_log.head()

    return run


@pytest.fixture
def submitted(admin: Api, schedule: Callable[[], int]) -> Callable[..., dict[str, Any]]:
    """Submit a workload of team-a and let a worker decide on it; how it stands then."""

    def submit(name: str, queue: str = "main", **spec: Any) -> dict[str, Any]:
        path = "/v1/namespaces/team-a/workloads"
        made = admin.post(path, workload(name, queue=queue, **spec))
        assert made.status_code == 201, made.text
        found: dict[str, Any] = admin.caught_up(f"{path}/{name}", schedule()).json()
        return found

    return submit


def _raise(_: str, failure: Exception) -> None:
    raise failure


@pytest.fixture(scope="module")
def admin(client: "TestClient[Litestar]") -> Api:
    """A caller who may do everything."""
    return Api(client, ADMIN_SECRET)


@pytest.fixture(scope="module")
def callers(admin: Api) -> dict[str, Api]:
    """A caller of each role; the submitter is team-a's."""
    found = {"admin": admin, "nobody": Api(admin.client, "")}
    for role, namespaces in ROLES.items():
        made = admin.post("/v1/tokens", {"name": role, "role": role, "namespaces": namespaces})
        assert made.status_code == 201, made.text
        found[role] = Api(admin.client, made.json()["secret"])
    return found
