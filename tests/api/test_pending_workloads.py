"""Lines over HTTP: places in queue and cohort, and what LocalQueues used of late."""

from collections.abc import Callable

import pytest

from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload

HERE = "/v1/namespaces/team-a"
COUNTED = {"usageHalfLifeTime": "24h", "usageSamplingInterval": "12h"}


@pytest.fixture(scope="module", autouse=True)
def queues(admin: Api, schedule: Callable[[], int]) -> None:
    """Two queues of one cohort; `main` is full."""
    admin.post("/v1/resourceflavors", flavor())
    for name in ("main", "side"):
        shares = {"admissionMode": "UsageBasedAdmissionFairSharing"}
        body = cluster_queue(name, "2", cohortName="both", admissionScope=shares)
        made = admin.post("/v1/clusterqueues", body)
        assert made.status_code == 201, made.text
        admin.post(f"{HERE}/localqueues", local_queue(name, name))
    configured = admin.post(
        "/v1/configurations",
        {
            "apiVersion": "headgate.dev/v1",
            "kind": "Configuration",
            "metadata": {"name": "default"},
            "spec": {"admissionFairSharing": COUNTED},
        },
    )
    assert configured.status_code == 201, configured.text
    for name, queue in (("runs", "main"), ("fills", "side")):
        admin.post(f"{HERE}/workloads", workload(name, queue=queue))
    schedule()


def test_a_local_queue_tells_what_it_used_of_late(admin: Api, schedule: Callable[[], int]) -> None:
    status = admin.caught_up(f"{HERE}/localqueues/main", schedule()).json()["status"]
    counted = status["fairSharing"]["admissionFairSharingStatus"]
    cores = float(counted["consumedResources"]["cpu"].removesuffix("n")) / 10**9
    assert 0.58 < cores < 0.6  # two cores, half of a half-life's gain: 2 * (1 - 2 ** -0.5)
    assert counted["lastUpdate"].endswith("Z")


@pytest.fixture(scope="module")
def pending(admin: Api, schedule: Callable[[], int]) -> int:
    """Three pending workloads, two of them in `main`; the position at which they have reasons."""
    for name, queue, priority in (("a", "main", 1), ("b", "side", 2), ("c", "main", 0)):
        made = admin.post(f"{HERE}/workloads", workload(name, queue=queue, priority=priority))
        assert made.status_code == 201, made.text
    return schedule()


def test_places_are_reported_in_queue_and_cohort(admin: Api, pending: int) -> None:
    listed = admin.caught_up("/v1/clusterqueues/main/pendingworkloads", pending).json()
    assert listed["kind"] == "PendingWorkloadsSummary"
    line = listed["items"]
    assert [
        (i["metadata"]["name"], i["positionInClusterQueue"], i["positionInCohort"]) for i in line
    ] == [("a", 0, 1), ("c", 1, 2)]
    assert line[0]["reason"] == "2 CPU short in main"
    assert (line[0]["owner"], line[0].get("gpus", 0)) == ("admin", 0)
    assert line[0]["constraint"] == {"resource": "cpu", "need": 2_000, "have": 0}
    assert "expectedStart" not in line[0]
    told = admin.get(f"{HERE}/workloads/c/explanation").json()["position"]
    assert told == {"clusterQueue": 2, "localQueue": 2, "cohort": 3, "of": 2}


def test_expected_starts_are_told_where_they_are_asked_for(admin: Api, pending: int) -> None:
    for path in ("/v1/clusterqueues/main", f"{HERE}/localqueues/main"):
        asked = f"{path}/pendingworkloads?expectedStarts=true"
        line = admin.caught_up(asked, pending).json()["items"]
        told = {item["metadata"]["name"]: item["expectedStart"] for item in line}
        assert set(told) == {"a", "c"}
        explained = admin.get(f"{HERE}/workloads/a/explanation").json()["expectedStart"]
        assert told["a"] == explained
        assert told["a"]["cannotSay"].startswith("No start estimate")
