"""The change history of the configuration: actor, time, difference and rollback."""

from collections.abc import Callable
from typing import Any

import pytest

from headgate.adapters.postgres.event_log import PostgresEventLog
from headgate.domain.recorded_event import RecordedEvent
from tests.api.callers import KUEUE, Api, cluster_queue, flavor, local_queue, workload

HERE = "/v1/namespaces/team-a/workloads"


@pytest.fixture(scope="module")
def made(callers: dict[str, Api], schedule: Callable[[], int]) -> int:
    """A queue with its quota lowered so that a workload waits; where it was made."""
    admin = callers["admin"]
    admin.post("/v1/resourceflavors", flavor())
    first = admin.post("/v1/clusterqueues", cluster_queue("gpu", cpu="4"))
    etag = first.headers["etag"]
    admin.put("/v1/clusterqueues/gpu", cluster_queue("gpu", cpu="1"), If_Match=etag)
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("main", "gpu"))
    admin.post("/v1/namespaces/team-b/localqueues", local_queue("main", "gpu", "team-b"))
    admin.post(HERE, workload("waiting"))
    schedule()
    return int(first.headers["x-log-position"])


def test_changes_are_listed_with_actor_and_difference(admin: Api, made: int) -> None:
    assert made
    changed, created = admin.get("/v1/history?stream=clusterqueue/gpu").json()["items"][-2:]
    assert (changed["type"], changed["actor"]) == ("cluster_queue.changed", "user:admin")
    (difference,) = changed["differences"]
    assert difference["path"].endswith("/nominalQuota")
    assert (difference["before"], difference["after"]) == ("4", "1")
    assert created["differences"][0]["path"] == "/"
    assert "before" not in created["differences"][0]


def test_a_page_reads_only_streams_that_began_before_it(
    admin: Api, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made
    read: list[str] = []
    read_stream = PostgresEventLog.read_stream

    def counted(log: PostgresEventLog, stream: str, after_version: int = 0) -> list[RecordedEvent]:
        read.append(stream)
        return read_stream(log, stream, after_version)

    monkeypatch.setattr(PostgresEventLog, "read_stream", counted)
    path = "/v1/history?stream=clusterqueue/gpu"
    whole = admin.get(path).json()["items"]
    assert len(whole) > 1
    assert read == [], "the page has the first event of the stream"
    newest = admin.get(f"{path}&limit=1").json()
    paged = newest["items"] + admin.get(f"{path}&before={newest['next']}").json()["items"]
    assert paged == whole


def test_every_write_may_say_why(admin: Api, made: int) -> None:
    assert made
    lab = cluster_queue("lab")
    admin.post("/v1/clusterqueues?reason=new+team", lab)
    version = admin.get("/v1/clusterqueues/lab").headers["etag"]
    changed = cluster_queue("lab", cpu="3")
    admin.put("/v1/clusterqueues/lab?reason=new+machines", changed, If_Match=version)
    admin.delete("/v1/clusterqueues/lab?reason=moved")
    told = admin.get("/v1/history?stream=clusterqueue/lab").json()["items"]
    reasons = list(dict.fromkeys(one["reason"] for one in told))
    assert reasons == ["moved", "new machines", "new team"]


def test_what_uses_an_object_is_told_by_kind_with_its_workloads(
    admin: Api, callers: dict[str, Api], made: int, schedule: Callable[[], int]
) -> None:
    assert made
    admin.post("/v1/resourceflavors", flavor("used"))
    queue = cluster_queue("used", cpu="9")
    queue["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "used"
    admin.post("/v1/clusterqueues", queue)
    for namespace in ("team-a", "team-b"):
        admin.post(
            f"/v1/namespaces/{namespace}/localqueues", local_queue("uses", "used", namespace)
        )
        path = f"/v1/namespaces/{namespace}/workloads"
        admin.post(path, workload("uses", namespace=namespace, queue="uses"))
    position = schedule()

    def uses(stream: str, caller: Api = admin) -> dict[str, Any]:
        found: dict[str, Any] = caller.caught_up(f"/v1/references?stream={stream}", position).json()
        return found

    of_queue = uses("clusterqueue/used")
    assert [(each["kind"], each["namespace"]) for each in of_queue["objects"]] == [
        ("LocalQueue", "team-a"),
        ("LocalQueue", "team-b"),
    ]
    assert of_queue["workloads"] == ["team-a/uses", "team-b/uses"]
    of_flavor = uses("resourceflavor/used")
    assert [each["name"] for each in of_flavor["objects"]] == ["used"]
    assert of_flavor["workloadCount"] == 2
    assert uses("localqueue/team-b/uses")["workloads"] == ["team-b/uses"]
    cohort = cluster_queue("member", cohortName="used")
    admin.post("/v1/clusterqueues", cohort)
    parent = {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": "used"}, "spec": {}}
    admin.post("/v1/cohorts", parent)
    admin.caught_up("/v1/queues", schedule())
    assert [each["name"] for each in uses("cohort/used")["objects"]] == ["member"]
    seen = uses("clusterqueue/used", callers["submitter"])
    assert (seen["objectCount"], seen["workloadCount"]) == (2, 2)
    assert [each["namespace"] for each in seen["objects"]] == ["team-a"]
    assert seen["workloads"] == ["team-a/uses"]
    for absent in ("clusterqueue/none", "nonsense", "workload/team-a/uses"):
        assert admin.get(f"/v1/references?stream={absent}").status_code == 404
    other = callers["submitter"].get("/v1/references?stream=localqueue/team-b/uses")
    assert other.status_code == 404


def test_what_was_just_made_has_references(admin: Api) -> None:
    """Lists show it at once, though the live state folds it a moment later."""
    for index in range(20):
        name = f"fresh-{index}"
        admin.post("/v1/resourceflavors", flavor(name))
        found = admin.get(f"/v1/references?stream=resourceflavor/{name}")
        assert (found.status_code, found.json().get("objects")) == (200, [])


def test_pages_and_kinds(admin: Api, made: int) -> None:
    assert made
    first = admin.get("/v1/history?limit=1").json()
    second = admin.get(f"/v1/history?limit=1&before={first['next']}").json()
    assert first["items"][0]["position"] > second["items"][0]["position"]
    kinds = {one["kind"] for one in admin.get("/v1/history?kind=ClusterQueue").json()["items"]}
    assert kinds == {"ClusterQueue"}


def test_other_teams_are_left_out(callers: dict[str, Api], made: int) -> None:
    assert made
    streams = [one["stream"] for one in callers["submitter"].get("/v1/history").json()["items"]]
    assert "localqueue/team-a/main" in streams
    assert "localqueue/team-b/main" not in streams


def test_a_change_is_simulated_and_undone(
    callers: dict[str, Api], schedule: Callable[[], int], made: int
) -> None:
    admin = callers["admin"]
    asked = {"stream": "clusterqueue/gpu", "position": made, "reason": "too little"}
    foretold = admin.post("/v1/history/revert?dryRun=Admission", asked).json()
    assert [effect["what"] for effect in foretold["effects"]] == ["Starts"]
    assert callers["submitter"].post("/v1/history/revert", asked).status_code == 403

    assert admin.post("/v1/history/revert", asked).status_code == 200
    schedule()
    newest = admin.get("/v1/history?stream=clusterqueue/gpu").json()["items"][0]
    assert newest["reason"] == "too little"
    assert newest["differences"][0]["after"] == "4"
    assert admin.get(f"{HERE}/waiting").json()["status"]["phase"] == "Starting"


def test_what_never_was_cannot_be_brought_back(admin: Api) -> None:
    asked = {"stream": "clusterqueue/none", "position": 1}
    assert admin.post("/v1/history/revert", asked).status_code == 404


def test_the_end_of_a_stop_is_a_change_and_a_report_of_a_node_is_none(
    callers: dict[str, Api], made: int
) -> None:
    admin = callers["admin"]
    assert made
    admin.post("/v1/clusterqueues/gpu/stop", {"reason": "a new switch"})
    admin.post("/v1/clusterqueues/gpu/resume", {"reason": "the switch is in"})
    admin.post("/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "host-1"}})
    for ready in (True, False):
        beat = {"ready": ready, "allocatable": {"cpu": "2", "pods": "9"}}
        assert callers["executor"].post("/v1/nodes/host-1/heartbeat", beat).status_code == 200
    resumed, stopped = admin.get("/v1/history?stream=clusterqueue/gpu").json()["items"][:2]
    assert (stopped["type"], resumed["type"]) == ("cluster_queue.stopped", "cluster_queue.resumed")
    assert resumed["differences"][0]["after"] == "None"
    types = [one["type"] for one in admin.get("/v1/history?kind=Node").json()["items"]]
    assert types == ["node.created"]


def test_marks_tell_what_changed_stopped_and_failed(admin: Api, made: int) -> None:
    assert made
    admin.post("/v1/clusterqueues", cluster_queue("other", cpu="1"))
    admin.post("/v1/clusterqueues/other/stop", {"reason": "budget review"})
    admin.post("/v1/clusterqueues/other/resume", {"reason": "reviewed"})
    found = admin.get("/v1/marks?clusterQueue=other").json()
    assert found["complete"]
    stops = [mark for mark in found["items"] if mark["kind"] == "Stop"]
    assert [(mark["type"], mark["count"], mark["reason"]) for mark in stops] == [
        ("cluster_queue.resumed", 2, "reviewed")
    ], "what happens within a minute is one mark, told by the last of it"
    changes = [mark for mark in found["items"] if mark["kind"] == "Change"]
    assert {mark["stream"] for mark in changes} <= {
        "clusterqueue/other",
        "resourceflavor/default",
        "configuration/default",
    }
    everything = admin.get("/v1/marks").json()["items"]
    assert sum(mark["count"] for mark in everything) > sum(mark["count"] for mark in found["items"])
    assert admin.get("/v1/marks?since=2999-01-01T00:00:00Z").status_code == 422
