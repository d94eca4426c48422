"""Submitting workloads, reading them, acting on them."""

from tests.api.callers import Api, workload


def test_a_submitted_workload_is_there_with_its_position(admin: Api) -> None:
    made = admin.post("/v1/namespaces/team-a/workloads", workload("one"))
    assert made.status_code == 201, made.text
    assert made.headers["location"] == "/v1/namespaces/team-a/workloads/one"
    position = made.headers["x-log-position"]
    assert made.json()["metadata"]["resourceVersion"] == position
    found = admin.get("/v1/namespaces/team-a/workloads/one")
    assert found.status_code == 200
    assert found.json() == made.json()
    assert found.headers["etag"] == made.headers["etag"] == '"1"'
