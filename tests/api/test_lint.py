"""What is hardly meant is told with the answer to an apply, on a page of its own, and at once."""

import json

from tests.api.callers import Api, cluster_queue, flavor


def test_apply_reports_likely_mistakes_and_applies_all_the_same(admin: Api) -> None:
    admin.post("/v1/resourceflavors", flavor())
    body = json.dumps(cluster_queue("huge", cpu="8000")).encode()
    tried = admin.send("/v1/apply?dryRun=All", body, "application/json").json()
    assert admin.get("/v1/clusterqueues/huge").status_code == 404
    applied = admin.send("/v1/apply", body, "application/json").json()
    assert applied["results"][0]["outcome"] == "created"
    for answer in (tried, applied):
        slips = [found for found in answer["warnings"] if found["rule"] == "UnitSlip"]
        assert [found["name"] for found in slips] == ["huge"]
    listed = admin.caught_up("/v1/lint", applied["position"]).json()["items"]
    assert "huge" in {found["name"] for found in listed if found["rule"] == "UnitSlip"}
    attention = admin.get("/v1/overview").json()["attention"]
    assert any("ClusterQueue huge" in found["title"] for found in attention)


def test_apply_says_nothing_about_objects_it_does_not_touch(admin: Api) -> None:
    admin.post("/v1/resourceflavors", flavor())
    admin.post("/v1/clusterqueues", cluster_queue("large", cpu="9000"))
    body = json.dumps(flavor("other")).encode()
    applied = admin.send("/v1/apply", body, "application/json").json()
    assert applied["warnings"] == []
