"""The log, the document, the page, and how the installation is doing."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from litestar import Litestar

from headgate.api.openapi import document
from headgate.settings import Settings
from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload

HERE = "/v1/namespaces/team-a/workloads"


def test_events_are_read_page_by_page_newest_first(admin: Api) -> None:
    for number in range(5):
        admin.post(HERE, workload(f"event-{number}"))
    seen: list[int] = []
    before = ""
    while True:
        page = admin.get(f"/v1/events?type=workload.submitted&limit=2{before}").json()
        seen += [event["position"] for event in page["items"]]
        if "next" not in page:
            break
        before = f"&before={page['next']}"
    assert seen == sorted(seen, reverse=True)
    assert len(seen) >= 5


def test_events_are_filtered(admin: Api) -> None:
    made = admin.post(HERE, workload("filtered"), X_Request_Id="trace-me")
    (by_request,) = admin.get("/v1/events?correlation=trace-me").json()["items"]
    assert by_request["position"] == int(made.headers["x-log-position"])
    assert by_request["actor"] == "user:admin"
    by_stream = admin.get("/v1/events?stream=workload/team-a/filtered").json()["items"]
    assert by_stream == [by_request]
    assert admin.get("/v1/events?actor=absent").json()["items"] == []
    assert admin.get("/v1/events?limit=0").status_code == 422


def test_events_tell_how_many_belong_together(admin: Api) -> None:
    for name in ("first-of-both", "second-of-both"):
        admin.post(HERE, workload(name), X_Request_Id="both")
    path = "/v1/events?stream=workload/team-a/second-of-both&type=workload.submitted"
    (group,) = admin.get(f"{path}&groups=true").json()["groups"]
    assert group == {"correlation": "both", "types": {"workload.submitted": 2}, "objects": 2}
    assert "groups" not in admin.get(path).json()
    (second,) = admin.get(path).json()["items"]
    (past,) = admin.get(f"{path}&groups=true&at={second['position']}").json()["groups"]
    assert past == group
    before = f"/v1/events?correlation=both&groups=true&at={second['position'] - 1}"
    assert admin.get(before).json()["groups"][0]["objects"] == 1


def test_events_are_found_by_a_text_in_parts_of_the_log(admin: Api) -> None:
    name = "looked-for"
    made = admin.post(HERE, workload(name))
    assert made.status_code == 201
    admin.post(HERE, workload("passed-over"))
    (found,) = admin.get("/v1/events?text=LOOKED-for&type=workload.submitted").json()["items"]
    assert found["stream"] == f"workload/team-a/{name}"
    assert admin.get("/v1/events?text=quota%20reserved&actor=absent").json()["items"] == []
    # A page ends where it is full, and the next one goes on there.
    seen: list[int] = []
    before = ""
    while True:
        page = admin.get(f"/v1/events?text=submitted&limit=1{before}").json()
        seen += [event["position"] for event in page["items"]]
        if "next" not in page:
            break
        before = f"&before={page['next']}"
    whole = admin.get("/v1/events?text=submitted&limit=1000").json()["items"]
    assert seen == [event["position"] for event in whole]
    assert len(seen) > 1


def test_events_are_read_from_one_instant_to_another(admin: Api) -> None:
    admin.post("/v1/namespaces/team-a/workloads", workload("timed"))
    (timed,) = admin.get("/v1/events?stream=workload/team-a/timed").json()["items"]
    path = "/v1/events?stream=workload/team-a/timed"
    assert admin.get(f"{path}&since={timed['at']}").json()["items"] == [timed]
    assert admin.get(f"{path}&until={timed['at']}").json()["items"] == []
    refused = admin.get("/v1/events?since=yesterday")
    assert refused.json()["errors"][0]["pointer"] == "/since"


def test_the_histogram_counts_every_event_once(admin: Api) -> None:
    admin.post(HERE, workload("counted"))
    head = admin.get("/v1/system").json()["position"]
    found = admin.get("/v1/events/histogram?minutes=60&buckets=30").json()
    assert found["bucketSeconds"] == 120
    assert sum(bucket["count"] for bucket in found["buckets"]) == head
    assert all(b["count"] == sum(b["types"].values()) for b in found["buckets"])
    before = found["buckets"][-2]["at"]
    earlier = admin.get(f"/v1/events/histogram?minutes=60&buckets=30&until={before}").json()
    assert earlier["buckets"][-1]["at"] <= before
    assert sum(bucket["count"] for bucket in earlier["buckets"]) == sum(
        bucket["count"] for bucket in found["buckets"] if bucket["at"] < before
    )


def test_a_histogram_of_a_long_span_is_sampled(admin: Api) -> None:
    admin.post(HERE, workload("sampled"))
    head = admin.get("/v1/system").json()["position"]
    found = admin.get("/v1/events/histogram?minutes=43200&buckets=60").json()
    assert found["sampled"] is True
    assert found["bucketSeconds"] == 43_200
    counts = [bucket["count"] for bucket in found["buckets"]]
    # Counts of a bucket are rounded by type.
    assert abs(sum(counts) - head) <= sum(len(bucket["types"]) for bucket in found["buckets"])
    assert "workload.submitted" in found["buckets"][-1]["types"]
    of_type = "/v1/events/histogram?minutes=43200&type=workload.submitted"
    assert admin.get(of_type).json()["sampled"] is False


def test_the_system_tells_its_partitions(admin: Api, schedule: Callable[[], int]) -> None:
    admin.post("/v1/resourceflavors", flavor("sys"))
    position = schedule()
    found = admin.get("/v1/system").json()
    assert found["position"] == position
    assert found["headLagSeconds"] >= 0
    assert "installation" in {partition["key"] for partition in found["partitions"]}


def test_a_write_is_seen_by_a_read_that_waits_for_it(admin: Api) -> None:
    made = admin.post(
        "/v1/cohorts",
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Cohort",
            "metadata": {"name": "fresh"},
            "spec": {},
        },
    )
    tree = admin.caught_up("/v1/queues", int(made.headers["x-log-position"]))
    assert "fresh" in [root["name"] for root in tree.json()["roots"]]


def test_health_and_readiness_need_no_token(admin: Api) -> None:
    nobody = Api(admin.client, "")
    assert nobody.get("/healthz").json()["status"] == "ok"
    assert nobody.get("/readyz").status_code == 200


def test_the_document_is_served_as_it_is_published(admin: Api) -> None:
    nobody = Api(admin.client, "")
    served = nobody.get("/v1/openapi.json")
    assert served.status_code == 200
    published = json.loads(Path("frontend/openapi.json").read_text())
    assert served.json() == published


@pytest.fixture(scope="module")
def described(application: Litestar) -> dict[str, dict[str, dict[str, object]]]:
    """The whole document."""
    return document(application)


def test_every_operation_is_described_and_tells_its_problems(
    described: dict[str, dict[str, dict[str, object]]],
) -> None:
    ids: set[str] = set()
    for path, item in described["paths"].items():
        for operation in item.values():
            assert isinstance(operation, dict)
            assert operation["summary"]
            assert operation["tags"], path
            assert operation["operationId"] not in ids
            ids.add(operation["operationId"])
            if path.startswith("/v1/"):
                assert {"401", "403", "422", "500", "503"} <= set(operation["responses"])


def test_every_reference_of_the_document_leads_somewhere(
    described: dict[str, dict[str, dict[str, object]]],
) -> None:
    for reference in _references(described):
        found: object = described
        for part in reference.removeprefix("#/").split("/"):
            assert isinstance(found, dict)
            assert part in found, reference
            found = found[part]


def _references(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [found for inner in value.values() for found in _references(inner)]
    if isinstance(value, list):
        return [found for inner in value for found in _references(inner)]
    return []


def test_the_documentation_page_needs_nothing_from_elsewhere(admin: Api) -> None:
    nobody = Api(admin.client, "")
    page = nobody.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "http" not in page.text.replace("http-equiv", "")
    assert nobody.get("/docs/page.js").headers["content-type"].startswith("text/javascript")
    assert nobody.get("/docs/page.css").headers["content-type"].startswith("text/css")


def test_a_page_that_is_not_built_says_so(admin: Api) -> None:
    page = Api(admin.client, "").get("/workloads/team-a/x")
    assert page.status_code == 200
    assert "has not been built" in page.text


def test_the_documentation_is_served_under_help(
    admin: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "index.html").write_text("all pages")
    (tmp_path / "tasks" / "index.html").write_text("all tasks")
    anonymous = Api(admin.client, "")

    monkeypatch.setattr("headgate.api.web_pages.found_help", lambda: tmp_path)
    assert anonymous.get("/help").text == "all pages"
    assert anonymous.get("/help/tasks").text == "all tasks"
    assert anonymous.get("/help/tasks/index.html").headers["content-type"].startswith("text/html")
    assert anonymous.get("/help/none.html").status_code == 404
    assert anonymous.get("/help/%2e%2e/secret").status_code == 404

    monkeypatch.setattr("headgate.api.web_pages.found_help", lambda: None)
    assert "has not been built" in anonymous.get("/help").text


@pytest.fixture
def built(settings: Settings) -> Iterator[Path]:
    """A page that has been built."""
    directory = settings.ui_directory
    (directory / "assets").mkdir()
    yield directory
    shutil.rmtree(directory)
    directory.mkdir()


def test_the_page_is_served_with_caching_and_falls_back_to_its_index(
    admin: Api, built: Path
) -> None:
    directory = built
    (directory / "index.html").write_text("<!doctype html>the page")
    (directory / "assets" / "app-1a2b.js").write_text("run()")
    (directory.parent / "secret.txt").write_text("not yours")
    nobody = Api(admin.client, "")
    script = nobody.get("/assets/app-1a2b.js")
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert script.headers["content-type"].startswith("text/javascript")
    for path in ("/", "/queues/cq", "/workloads/team-a/x.y"):
        page = nobody.get(path)
        assert page.text == "<!doctype html>the page"
        assert page.headers["cache-control"] == "no-cache"
    assert nobody.get("/assets/gone.js").status_code == 404
    for path in ("/../secret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt", "/%00"):
        assert "not yours" not in nobody.get(path).text
    assert nobody.get("/v1/unknown").status_code == 404


def test_a_name_that_nothing_has_is_answered_with_what_is_likely_meant(
    callers: dict[str, Api],
) -> None:
    admin = callers["admin"]
    admin.post("/v1/clusterqueues", cluster_queue("language", cpu="1"))
    admin.post("/v1/namespaces/team-b/localqueues", local_queue("door", "language", "team-b"))
    made = admin.post("/v1/namespaces/team-b/workloads", workload("secret", "team-b", "door"))
    seen = int(made.headers["x-log-position"])
    near = admin.caught_up("/v1/clusterqueues/langauge", seen).json()
    assert near["remedy"] == "Did you mean language?"
    lost = "/v1/namespaces/team-a/workloads/secret"
    assert admin.get(lost).json()["remedy"] == "There is one of that name in namespace team-b."
    typo = admin.get("/v1/namespaces/team-b/workloads/secrets").json()
    assert typo["remedy"] == "Did you mean secret?"
    assert "team-b" not in callers["submitter"].get(lost).text
    door = admin.get("/v1/namespaces/team-a/localqueues/door").json()
    assert door["remedy"] == "There is one of that name in namespace team-b."
