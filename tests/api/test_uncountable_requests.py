"""A workload with a request beyond all capacity never keeps other workloads from starting."""

from collections.abc import Callable
from typing import Any

from headgate.bootstrap import Platform
from headgate.domain.cluster_state import ClusterState
from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload

CREDITS = "example.com/credits"
PAID: dict[str, Any] = {
    "apiVersion": "headgate.dev/v1",
    "kind": "Configuration",
    "metadata": {"name": "default"},
    "spec": {
        "resources": {
            "transformations": [
                {"input": "memory", "strategy": "Retain", "outputs": {CREDITS: "9P"}}
            ]
        }
    },
}
"""A few kilobytes cost more credits than a number of 64 bits holds."""


def asking(name: str, amount: str, pod_sets: int = 1) -> dict[str, Any]:
    """A workload with some pod sets of one pod that ask for so much memory."""
    made = workload(name)
    containers = [{"name": "c", "resources": {"requests": {"memory": amount}}}]
    made["spec"]["podSets"] = [
        {"name": f"set-{number}", "count": 1, "template": {"spec": {"containers": containers}}}
        for number in range(pod_sets)
    ]
    return made


def quotas(*resources: str, amount: str) -> list[dict[str, Any]]:
    """One group of all resources with the same quota for each."""
    listed = [{"name": resource, "nominalQuota": amount} for resource in resources]
    flavors = [{"name": "default", "resources": listed}]
    return [{"coveredResources": list(resources), "flavors": flavors}]


def test_a_request_beyond_countable_amounts_stays_pending_and_others_start(
    admin: Api, schedule: Callable[[], int], platform: Platform
) -> None:
    admin.post("/v1/resourceflavors", flavor())
    groups = quotas("memory", CREDITS, amount="8E")
    admin.post("/v1/clusterqueues", cluster_queue("all", resourceGroups=groups))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("main", "all"))
    admin.post("/v1/configurations", PAID)
    wanted = (asking("costly", "4Gi"), asking("huge", "8E", pod_sets=18), asking("modest", "7"))
    for one in wanted:
        made = admin.post("/v1/namespaces/team-a/workloads", one)
        assert made.status_code == 201, made.text
    position = schedule()
    phases = {}
    for one in wanted:
        path = f"/v1/namespaces/team-a/workloads/{one['metadata']['name']}"
        read = admin.caught_up(path, position).json()
        phases[one["metadata"]["name"]] = read["status"]["phase"]
        assert admin.get(f"{path}/explanation").status_code == 200
    assert phases == {"costly": "Pending", "huge": "Pending", "modest": "Starting"}
    for path in ("/v1/queues", "/v1/clusterqueues/all", "/v1/overview", "/metrics"):
        assert admin.caught_up(path, position).status_code == 200
    assert ClusterState.load(folded(platform).dump()).position == position, (
        "the state can be cached"
    )


def folded(platform: Platform) -> ClusterState:
    """Everything in the log, folded anew."""
    cluster_state = ClusterState()
    for recorded in platform.event_log.read_all():
        cluster_state.apply(recorded)
    return cluster_state
