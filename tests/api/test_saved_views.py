"""Views of the list of workloads that users saved: their own, and those that others share."""

import pytest

from headgate.application.access.identity import MAX_SAVED_VIEWS
from tests.api.callers import Api

QUERY = "filter=owner:me&sort=-gpu"


@pytest.fixture
def ana(callers: dict[str, Api]) -> Api:
    return callers["viewer"]


@pytest.fixture
def ben(callers: dict[str, Api]) -> Api:
    return callers["submitter"]


def names(caller: Api) -> list[tuple[str, str, bool]]:
    items = caller.get("/v1/views").json()["items"]
    return [(each["owner"], each["name"], each["isMine"]) for each in items]


def test_a_view_is_its_owners_until_it_is_shared(ana: Api, ben: Api) -> None:
    saved = ana.put("/v1/views/Large and mine", {"query": QUERY})
    assert saved.status_code == 200, saved.text
    assert names(ana) == [("viewer", "Large and mine", True)]
    assert names(ben) == []

    ana.put("/v1/views/Large and mine", {"query": QUERY, "isShared": True})
    ben.put("/v1/views/Zeros", {"query": "filter=gpu:0"})

    assert names(ben) == [("submitter", "Zeros", True), ("viewer", "Large and mine", False)]
    assert ben.delete("/v1/views/Large and mine").status_code == 404
    assert ana.delete("/v1/views/Large and mine").status_code == 204
    assert names(ben) == [("submitter", "Zeros", True)]


def test_a_user_keeps_a_limited_number_of_views(ana: Api) -> None:
    for number in range(MAX_SAVED_VIEWS):
        assert ana.put(f"/v1/views/v{number}", {"query": ""}).status_code == 200

    refused = ana.put("/v1/views/more", {"query": ""})

    assert refused.status_code == 422
    assert "At most 100 views" in refused.text
    assert ana.put("/v1/views/v0", {"query": QUERY}).status_code == 200
    assert ana.put("/v1/views/long", {"query": "x" * 2_001}).status_code == 422
    for number in range(MAX_SAVED_VIEWS):
        assert ana.delete(f"/v1/views/v{number}").status_code == 204


@pytest.mark.parametrize("other", [0, "true", None])
def test_a_value_of_another_type_is_refused_with_its_field(ana: Api, other: object) -> None:
    refused = ana.put("/v1/views/odd", {"query": "", "isShared": other})

    assert refused.status_code == 422
    assert "isShared" in refused.text
