"""What a queue used over time: the figures of the scheduler at instants of the past."""

from collections.abc import Callable

from headgate.bootstrap import Platform
from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload


def test_use_is_told_at_both_ends_of_a_stretch(admin: Api, schedule: Callable[[], int]) -> None:
    admin.post("/v1/resourceflavors", flavor())
    admin.post("/v1/clusterqueues", cluster_queue("gpu", cpu="3"))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("main", "gpu"))
    for name in ("one", "two"):
        admin.post("/v1/namespaces/team-a/workloads", workload(name))
    told = admin.caught_up("/v1/clusterqueues/gpu/usage?points=2", schedule()).json()
    first, last = told["points"]
    assert first["lines"] == [], "a day ago it was not there"
    (line,) = last["lines"]
    assert (line["used"], line["nominal"], last["pending"]) == (2_000, 3_000, 1)
    assert (last["position"], told["complete"]) == (told["position"], True)


def test_what_became_of_workloads_is_counted_between_the_points(
    admin: Api, schedule: Callable[[], int], platform: Platform
) -> None:
    admin.post("/v1/resourceflavors", flavor())
    admin.post("/v1/clusterqueues", cluster_queue("counted", cpu="3"))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("counted", "counted"))
    for name in ("first", "second"):
        admin.post("/v1/namespaces/team-a/workloads", workload(name, queue="counted"))
    position = schedule()
    while platform.followers.advance("queue_history"):
        pass
    told = admin.caught_up("/v1/clusterqueues/counted/usage?points=2", position).json()
    first, last = told["points"]
    assert (first["submitted"], first["admitted"]) == (0, 0)
    assert (last["submitted"], last["admitted"], last["evicted"], last["finished"]) == (2, 1, 0, 0)
    assert told["countedPosition"] == position


def test_a_queue_that_is_not_there_and_a_stretch_without_length_are_refused(admin: Api) -> None:
    assert admin.get("/v1/clusterqueues/none/usage").status_code == 404
    backwards = "since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z"
    made = admin.post("/v1/clusterqueues", cluster_queue("other"))
    position = int(made.headers["x-log-position"])
    refused = admin.caught_up(f"/v1/clusterqueues/other/usage?{backwards}", position)
    assert refused.json()["errors"][0]["pointer"] == "/since"
