"""The queue tree with lending and borrowing."""

from collections.abc import Callable

from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload


def test_a_cohort_names_each_borrower_once_with_all_that_was_lent_to_it(
    admin: Api, schedule: Callable[[], int]
) -> None:
    admin.post("/v1/resourceflavors", flavor())
    admin.post("/v1/apply", {"kind": "List", "apiVersion": "v1", "items": [
        _cohort("lenders", "campus"), _cohort("campus", ""),
    ]})  # fmt: skip
    for name in ("language", "vision"):
        admin.post("/v1/clusterqueues", cluster_queue(name, cpu="2", cohortName="lenders"))
    admin.post("/v1/clusterqueues", cluster_queue("robotics", cpu="1", cohortName="campus"))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("main", "robotics"))
    admin.post("/v1/namespaces/team-a/workloads", _large())
    position = schedule()
    (campus,) = admin.caught_up("/v1/queues", position).json()["roots"]
    (lenders,) = [node for node in campus["children"] if node["name"] == "lenders"]
    (robotics,) = [node for node in campus["children"] if node["name"] == "robotics"]
    assert lenders["lines"][0]["lentTo"] == [{"clusterQueue": "robotics", "amount": 4_000}]
    assert [loan["amount"] for loan in robotics["lines"][0]["borrowedFrom"]] == [2_000, 2_000]


def _large() -> dict[str, object]:
    """One pod of five cores."""
    containers = [{"name": "c", "resources": {"requests": {"cpu": "5"}}}]
    pod_sets = [{"name": "main", "count": 1, "template": {"spec": {"containers": containers}}}]
    return workload("large", podSets=pod_sets)


def _cohort(name: str, above: str) -> dict[str, object]:
    spec = {"parentName": above} if above else {}
    version = "kueue.x-k8s.io/v1beta2"
    return {"apiVersion": version, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}
