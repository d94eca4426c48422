"""The queue tree with usage above quota, and with a cycle of cohorts."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.callers import KUEUE, Api, cluster_queue, flavor, local_queue, workload


@pytest.fixture(scope="module", autouse=True)
def one_flavor(admin: Api) -> None:
    """The flavor that all queues have."""
    admin.post("/v1/resourceflavors", flavor())


def test_what_a_cut_quota_leaves_over_is_distinguished_from_loans(
    admin: Api, schedule: Callable[[], int]
) -> None:
    admin.post("/v1/clusterqueues", cluster_queue("lender", cpu="1", cohortName="lab"))
    admin.post("/v1/clusterqueues", cluster_queue("cut", cpu="4", cohortName="lab"))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("main", "cut"))
    for name in ("one", "two"):
        admin.post("/v1/namespaces/team-a/workloads", workload(name))
    schedule()
    admin.post("/v1/apply", cluster_queue("cut", cpu="1", cohortName="lab"))
    position = schedule()
    cut, lab = _node(admin, position, "cut"), _node(admin, position, "lab")
    told = {name: cut["lines"][0][name] for name in ("used", "borrowed", "overcommitted")}
    assert told == {"used": 4_000, "borrowed": 1_000, "overcommitted": 2_000}
    assert lab["lines"][0]["overcommitted"] == 2_000

    share = cut["weightedShare"]
    figures = admin.get("/metrics").text
    labels = '{cluster_queue="cut",cohort="lab",replica_role="standalone"}'
    assert f"kueue_cluster_queue_weighted_share{labels} {float(share)}" in figures

    admin.post("/v1/apply", cluster_queue("cut", cohortName="lab", resourceGroups=[]))
    (line,) = _node(admin, schedule(), "cut")["lines"]
    assert (line["used"], line["nominal"], line["available"]) == (4_000, 0, 0)


def test_a_queue_below_cohorts_in_a_cycle_is_shown_to_admit_nothing(
    admin: Api, schedule: Callable[[], int]
) -> None:
    admin.post("/v1/cohorts", _cohort("under", "over"))
    admin.post("/v1/cohorts", _cohort("over", "under"))
    admin.post("/v1/clusterqueues", cluster_queue("caught", cohortName="under"))
    caught = _node(admin, schedule(), "caught")
    assert not caught["active"]
    assert caught["inactiveReason"] == (
        'Can\'t admit new workloads: Cohort "under" has a cycle in hierarchy.'
    )
    (active,) = admin.get("/v1/clusterqueues/caught").json()["status"]["conditions"]
    assert (active["status"], active["reason"]) == ("False", "CohortCycleDetected")


def _node(api: Api, position: int, name: str) -> dict[str, Any]:
    """The node of that name, wherever it stands in the tree."""
    found = api.caught_up("/v1/queues", position).json()["roots"]
    while found[0]["name"] != name:
        found = [*found[1:], *found[0]["children"]]
    node: dict[str, Any] = found[0]
    return node


def _cohort(name: str, above: str) -> dict[str, Any]:
    metadata, spec = {"name": name}, {"parentName": above}
    return {"apiVersion": KUEUE, "kind": "Cohort", "metadata": metadata, "spec": spec}
