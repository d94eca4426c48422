"""Use and demand over time, queues in one row each, and alerts by cause."""

from collections.abc import Callable

from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload


def make_queue(admin: Api, name: str, cpu: str = "3") -> None:
    admin.post("/v1/resourceflavors", flavor())
    admin.post("/v1/clusterqueues", cluster_queue(name, cpu=cpu))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue(name, name))


def test_use_and_demand_of_each_queue_are_told_as_of_now(
    admin: Api, schedule: Callable[[], int]
) -> None:
    make_queue(admin, "charted")
    for name in ("fits", "waits"):
        admin.post("/v1/namespaces/team-a/workloads", workload(name, queue="charted"))
    told = admin.caught_up("/v1/usage?resource=cpu&points=4", schedule()).json()
    last = told["points"][-1]
    assert last["position"] == told["position"]
    assert last["nominal"] >= 3_000
    (of_queue,) = [one for one in last["queues"] if one["clusterQueue"] == "charted"]
    assert (of_queue["used"], of_queue["pending"]) == (2_000, 2_000)
    assert of_queue["pendingWorkloads"] == 1
    assert (told["complete"], told["resources"]) == (True, ["cpu"])


def test_use_is_told_by_flavor_and_cohort_as_well(admin: Api, schedule: Callable[[], int]) -> None:
    make_queue(admin, "grouped")
    admin.post("/v1/namespaces/team-a/workloads", workload("grouped", queue="grouped"))
    position = schedule()
    told = {
        by: admin.caught_up(f"/v1/usage?resource=cpu&points=2&by={by}", position).json()
        for by in ("clusterQueue", "flavor", "cohort")
    }
    last = {by: each["points"][-1] for by, each in told.items()}
    used = sum(one["used"] for one in last["clusterQueue"]["queues"])
    assert last["clusterQueue"]["groups"] == []
    assert last["flavor"]["groups"] == [{"name": "default", "used": used}]
    # The ClusterQueue has no cohort.
    assert {"name": "grouped", "used": 2_000} in last["cohort"]["groups"]
    assert sum(one["used"] for one in last["cohort"]["groups"]) == used
    (of_queue,) = [one for one in last["flavor"]["queues"] if one["clusterQueue"] == "grouped"]
    assert of_queue["nominal"] == 3_000


def test_a_range_of_the_past_has_the_figures_of_then(
    admin: Api, schedule: Callable[[], int]
) -> None:
    make_queue(admin, "past")
    first = admin.caught_up("/v1/usage?points=2", schedule()).json()
    admin.post("/v1/namespaces/team-a/workloads", workload("later", queue="past"))
    admin.caught_up("/v1/usage?points=2", schedule())
    then = admin.get(f"/v1/usage?points=2&at={first['position']}").json()
    assert then["points"][-1]["queues"] == first["points"][-1]["queues"]
    assert then["points"][-1]["position"] == first["position"]


def test_a_stretch_without_length_is_refused(admin: Api) -> None:
    backwards = "since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z"
    assert admin.get(f"/v1/usage?{backwards}").json()["errors"][0]["pointer"] == "/since"


def test_a_queue_is_one_row_with_its_waits_and_its_oldest_pending_workload(
    admin: Api, schedule: Callable[[], int]
) -> None:
    make_queue(admin, "rowed")
    for name in ("starts", "stays"):
        admin.post("/v1/namespaces/team-a/workloads", workload(name, queue="rowed"))
    told = admin.caught_up("/v1/queues/summary?resource=cpu", schedule()).json()
    (row,) = [one for one in told["queues"] if one["clusterQueue"] == "rowed"]
    assert (row["used"], row["nominal"], row["borrowed"]) == (2_000, 3_000, 0)
    assert (row["pending"], row["pendingWorkloads"], row["waits"]) == (2_000, 1, 1)
    stays = admin.get("/v1/namespaces/team-a/workloads/stays").json()
    assert row["oldestPendingAt"][:19] == stays["metadata"]["creationTimestamp"][:19]
    assert row["waitP50Seconds"] == row["waitP95Seconds"] is not None


def test_waits_are_counted_by_length_in_one_queue_or_in_all(
    admin: Api, schedule: Callable[[], int]
) -> None:
    make_queue(admin, "timed")
    for name in ("starts-timed", "stays-timed"):
        admin.post("/v1/namespaces/team-a/workloads", workload(name, queue="timed"))
    told = admin.caught_up("/v1/waits?clusterQueue=timed", schedule()).json()
    assert (told["clusterQueue"], told["waits"]) == ("timed", 1)
    assert told["dataSince"] < told["until"]
    p50 = told["waitP50Seconds"]
    assert p50 == told["waitP95Seconds"]
    filled = [bucket["fromSeconds"] for bucket in told["buckets"] if bucket["count"]]
    bounds = [bucket["fromSeconds"] for bucket in told["buckets"]]
    assert filled == [max(bound for bound in bounds if bound <= p50)]
    everywhere = admin.get("/v1/waits").json()
    assert everywhere["waits"] == sum(bucket["count"] for bucket in everywhere["buckets"]) >= 1
    until = told["dataSince"]
    before = f"/v1/waits?clusterQueue=timed&since=2020-01-01T00:00:00Z&until={until}"
    assert admin.get(before).json()["waits"] == 0, "all of the log is later"
    assert admin.get("/v1/waits?clusterQueue=none").status_code == 404


def test_how_many_estimates_of_starts_held_is_told_and_a_metric(
    admin: Api, schedule: Callable[[], int]
) -> None:
    make_queue(admin, "estimated", cpu="400")
    reached = schedule()
    before = admin.caught_up("/v1/waits?clusterQueue=estimated", reached).json()
    assert before["estimates"] == {"predictions": 0, "held": 0}
    assert before["lastReservedAt"] is None
    submitted, told, waits = 0, before["estimates"], before
    while told["predictions"] < 2 and submitted < 100:
        made = workload(f"estimated-{submitted}", queue="estimated")
        assert admin.post("/v1/namespaces/team-a/workloads", made).status_code == 201
        reached, submitted = schedule(), submitted + 1
        waits = admin.caught_up("/v1/waits?clusterQueue=estimated", reached).json()
        told = waits["estimates"]

    assert told["predictions"] == 2
    # More where the clocks of API and worker differ by more than the time between two submits.
    last = admin.get(f"/v1/namespaces/team-a/workloads/estimated-{submitted - 1}").json()
    reserved = next(c for c in last["status"]["conditions"] if c["type"] == "QuotaReserved")
    assert waits["lastReservedAt"][:19] == reserved["lastTransitionTime"][:19]
    assert submitted >= 10, "eight starts before are the basis of the first range"
    assert 0 <= told["held"] <= 2
    assert admin.get("/v1/waits").json()["estimates"] is None
    lines = admin.get("/metrics").text.splitlines()
    for name, value in (("estimates", 2.0), ("estimates_held", float(told["held"]))):
        assert f'headgate_start_{name}{{cluster_queue="estimated"}} {value}' in lines


def test_alerts_of_one_kind_are_one_cause_that_counts_its_workloads(
    admin: Api, schedule: Callable[[], int]
) -> None:
    make_queue(admin, "small", cpu="1")
    for name in ("large-1", "large-2"):
        admin.post("/v1/namespaces/team-a/workloads", workload(name, queue="small"))
    found = admin.caught_up("/v1/attention", schedule()).json()["causes"]
    (cause,) = [one for one in found if one["kind"] == "NeverStarts"]
    assert (cause["unit"], cause["severity"]) == ("Workload", "warning")
    assert cause["title"] == "Unschedulable workloads"
    links = [item["link"] for item in cause["items"]]
    assert {"/workloads/team-a/large-1", "/workloads/team-a/large-2"} <= set(links)
    assert cause["count"] == len(links)
    assert cause["gpuSeconds"] == 0, "they ask for no GPU"
