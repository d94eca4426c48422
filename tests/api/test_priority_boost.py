"""A boost by annotation over REST, once the Configuration lets it count."""

from collections.abc import Callable, Iterator

import pytest

from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload

HERE = "/v1/namespaces/team-a/workloads"
BOOST = "kueue.x-k8s.io/priority-boost"
CONFIGURATION = {
    "apiVersion": "headgate.dev/v1",
    "kind": "Configuration",
    "metadata": {"name": "default"},
    "spec": {"preemption": {"priorityBoost": True}},
}


@pytest.fixture(scope="module", autouse=True)
def _boosts(admin: Api) -> Iterator[None]:
    admin.post("/v1/resourceflavors", flavor())
    admin.post("/v1/clusterqueues", cluster_queue("boosting", cpu="2"))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("boosting", "boosting"))
    made = admin.post("/v1/configurations", CONFIGURATION)
    assert made.status_code == 201, made.text
    yield
    assert admin.delete("/v1/configurations/default").status_code in {200, 202, 204}


def test_a_boost_is_shown_beside_the_priority_that_was_stated(
    admin: Api, schedule: Callable[[], int]
) -> None:
    asked = workload("boosted", queue="boosting", priority=5)
    asked["metadata"]["annotations"] = {BOOST: "7"}
    made = admin.post(HERE, asked)
    assert made.status_code == 201, made.text
    waiting = made.json()
    assert waiting["spec"]["priority"] == 5
    assert (waiting["status"]["priority"], waiting["status"]["priorityBoost"]) == (12, 7)

    found = admin.caught_up(f"{HERE}/boosted", schedule())
    running = found.json()
    running["metadata"]["annotations"] = {BOOST: "20"}
    changed = admin.put(f"{HERE}/boosted", running, If_Match=found.headers["etag"])
    assert changed.status_code == 200, changed.text
    status = changed.json()["status"]
    assert (status["priority"], status["preemptionPriority"]) == (12, 25)


def test_a_boost_that_is_no_number_is_refused_at_its_annotation(admin: Api) -> None:
    asked = workload("odd", queue="boosting")
    asked["metadata"]["annotations"] = {BOOST: "much"}
    refused = admin.post(HERE, asked)
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["pointer"] == "/metadata/annotations/kueue.x-k8s.io~1priority-boost"
    assert error["remedy"] == 'Write it like "100".'
