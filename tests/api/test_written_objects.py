"""Reading a configured object gives back what its author wrote, or every default where asked."""

import json
from collections.abc import Callable
from typing import Any

import psycopg

from headgate.application.verify.verify import Verifier
from headgate.bootstrap import Platform
from headgate.settings import Settings
from tests.api.callers import KUEUE, Api

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def queue(name: str, cpu: Any = "1500m", **metadata: Any) -> dict[str, Any]:
    quota = {"nominalQuota": cpu, "name": "cpu"}
    flavors = [{"resources": [quota], "name": "default"}]
    return {
        "kind": "ClusterQueue",
        "metadata": {
            "annotations": {LAST_APPLIED: '{"spec": {}}\n', "a": "b"},
            "name": name,
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
            **metadata,
        },
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [{"flavors": flavors, "coveredResources": ["cpu"]}],
        },
        "apiVersion": KUEUE,
    }


def without_server_fields(shown: dict[str, Any]) -> dict[str, Any]:
    owned = {"uid", "resourceVersion", "generation", "creationTimestamp"}
    metadata = {name: value for name, value in shown["metadata"].items() if name not in owned}
    rest = {name: value for name, value in shown.items() if name != "status"}
    return {**rest, "metadata": metadata}


def create(admin: Api, body: dict[str, Any]) -> str:
    made = admin.post("/v1/clusterqueues", body)
    assert made.status_code == 201, made.text
    return f"/v1/clusterqueues/{body['metadata']['name']}"


def test_an_object_is_read_as_it_was_written(admin: Api) -> None:
    body = queue("verbatim")
    path = create(admin, body)

    shown = admin.get(path).json()

    assert without_server_fields(shown) == body
    assert json.dumps(shown["spec"]) == json.dumps(body["spec"])
    assert shown["status"]["pendingWorkloads"] == 0
    listed = admin.get("/v1/clusterqueues").json()["items"]
    (item,) = [each for each in listed if each["metadata"]["name"] == "verbatim"]
    assert item["spec"] == body["spec"]


def test_an_object_is_read_with_every_default_where_asked(admin: Api) -> None:
    path = create(admin, queue("defaulted", cpu=2.5))

    shown = admin.get(f"{path}?defaults=true").json()["spec"]
    listed = admin.get("/v1/clusterqueues?defaults=true").json()["items"]

    (item,) = [each["spec"] for each in listed if each["metadata"]["name"] == "defaulted"]
    assert item == shown
    assert shown["queueingStrategy"] == "BestEffortFIFO"
    (group,) = shown["resourceGroups"]
    assert group["flavors"][0]["resources"] == [{"name": "cpu", "nominalQuota": "2500m"}]
    quota = admin.get(path).json()["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
    assert quota["nominalQuota"] == 2.5


def test_what_is_read_can_be_put_back_and_changes_nothing(admin: Api) -> None:
    path = create(admin, queue("back"))
    shown = admin.get(path)

    put = admin.put(path, shown.json(), If_Match=shown.headers["etag"])
    applied = admin.post("/v1/apply", shown.json())

    assert put.status_code == 200, put.text
    assert applied.json()["results"][0]["outcome"] == "unchanged"
    version = shown.json()["metadata"]["resourceVersion"]
    assert admin.get(path).json()["metadata"]["resourceVersion"] == version


def test_another_spelling_is_kept_and_is_no_new_generation(admin: Api) -> None:
    path = create(admin, queue("spelled", cpu="1000m"))
    before = admin.get(path).json()

    applied = admin.post("/v1/apply", queue("spelled", cpu=1)).json()["results"][0]
    after = admin.get(path).json()
    again = admin.post("/v1/apply", queue("spelled", cpu=1)).json()["results"][0]

    assert (applied["outcome"], again["outcome"]) == ("changed", "unchanged")
    assert after["spec"] == queue("spelled", cpu=1)["spec"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"] == 1
    assert after["metadata"]["resourceVersion"] == applied["resourceVersion"]
    position = before["metadata"]["resourceVersion"]
    assert admin.get(f"{path}?at={position}").json()["spec"] == before["spec"]
    (revision, *_) = admin.get("/v1/history?stream=clusterqueue/spelled").json()["items"]
    assert revision["differences"] == [
        {
            "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota",
            "before": "1000m",
            "after": 1,
        }
    ]


def test_what_has_changed_since_it_was_written_is_shown(admin: Api) -> None:
    path = create(admin, queue("stopped"))

    assert admin.post(f"{path}/stop", {"reason": "maintenance"}).status_code == 200
    held = admin.get(path).json()["spec"]
    admin.post(f"{path}/resume", {})

    assert held == {**queue("stopped")["spec"], "stopPolicy": "Hold"}
    assert admin.get(path).json()["spec"] == queue("stopped")["spec"]


def test_a_revert_gives_back_the_old_spelling(admin: Api) -> None:
    path = create(admin, queue("reverted", cpu="3000m"))
    position = int(admin.get(path).json()["metadata"]["resourceVersion"])
    admin.post("/v1/apply", queue("reverted", cpu="4000m"))

    asked = {"stream": "clusterqueue/reverted", "position": position}
    assert admin.post("/v1/history/revert", asked).status_code == 200

    assert admin.get(path).json()["spec"] == queue("reverted", cpu="3000m")["spec"]


def test_objects_that_differ_in_name_alone_are_kept_once(
    admin: Api, settings: Settings, platform: Platform
) -> None:
    for name in ("same-1", "same-2"):
        create(admin, queue(name, cpu="7777m"))

    with psycopg.connect(settings.database_url) as connection:
        query = "SELECT count(*) FROM written_object WHERE convert_from(body, 'UTF8') LIKE %s"
        assert connection.execute(query, ["%7777m%"]).fetchone() == (1,)
    same = {"clusterqueue/same-1", "clusterqueue/same-2"}
    assert same.isdisjoint(finding.stream for finding in _findings(platform))


def test_verify_finds_what_was_written_and_is_not_kept(
    admin: Api, schedule: Callable[[], int], settings: Settings, platform: Platform
) -> None:
    create(admin, queue("lost", cpu="8888m"))
    schedule()
    with psycopg.connect(settings.database_url) as connection:
        connection.execute("ALTER TABLE written_object DISABLE TRIGGER ALL")
        forget = "DELETE FROM written_object WHERE convert_from(body, 'UTF8') LIKE %s"
        connection.execute(forget, ["%8888m%"])
        connection.execute("ALTER TABLE written_object ENABLE TRIGGER ALL")

    assert [finding.stream for finding in _findings(platform)] == ["clusterqueue/lost"]
    assert admin.get("/v1/clusterqueues/lost").json()["spec"]["queueingStrategy"]


def _findings(platform: Platform) -> list[Any]:
    verifier = Verifier(platform.event_log, platform.read_models, platform.followers)
    found = verifier.verify(lambda *_: None).findings
    return [finding for finding in found if finding.code == "WhatWasWrittenIsKept"]
