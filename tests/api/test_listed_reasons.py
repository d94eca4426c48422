"""The list of workloads has the current reason of every row, and can be narrowed to it."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.callers import Api, local_queue, open_queue, workload

HERE = "/v1/namespaces/reasons/workloads"
QUEUE = "listed-reasons"


def asking(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    """A workload of one pod, which is created after the ones before."""
    body = workload(name, namespace="reasons", queue=QUEUE, **spec)
    (pod_set,) = body["spec"]["podSets"]
    pod_set["count"] = 1
    pod_set["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    return body


@pytest.fixture(scope="module")
def position(admin: Api, schedule: Callable[[], int]) -> int:
    """A full queue with workloads that are refused, equal to a refused one, held and too large."""
    open_queue(admin, QUEUE, cpu="2")
    door = local_queue(QUEUE, QUEUE, "reasons")
    assert admin.post("/v1/namespaces/reasons/localqueues", door).status_code == 201
    for name, cpu in (("runs", "2"), ("refused", "1"), ("equal", "1"), ("large", "3")):
        made = admin.post(HERE, asking(name, cpu))
        assert made.status_code == 201, made.text
    for name in ("held", "ended"):
        assert admin.post(HERE, asking(name, "5")).status_code == 201
    schedule()
    admin.post(f"{HERE}/held/hold", {"reason": "wrong data"})
    admin.post(f"{HERE}/ended/cancel", {"reason": "wrong image"})
    return schedule()


def listed(admin: Api, position: int, query: str = "") -> dict[str, dict[str, Any]]:
    items = admin.caught_up(f"{HERE}?{query}", position).json()["items"]
    return {item["metadata"]["name"]: item["status"] for item in items}


def test_every_row_has_its_reason_as_code_arguments_and_text(admin: Api, position: int) -> None:
    rows = listed(admin, position)

    told = {
        name: (row["phase"], row["explanation"]["dominant"], row["explanation"]["summary"])
        for name, row in rows.items()
    }
    assert told == {
        "runs": ("Starting", "Admitted", "Admitted; starting pods"),
        "refused": ("Pending", "WaitingForQuota", "1 CPU short in listed-reasons"),
        "equal": ("Pending", "WaitingForQuota", "1 CPU short in listed-reasons"),
        "large": ("Pending", "Unschedulable", "2 CPU max, needs 3"),
        "held": ("OnHold", "Unschedulable", "2 CPU max, needs 5"),
        "ended": ("Cancelled", "Cancelled", "wrong image"),
    }
    refused = rows["refused"]["explanation"]
    assert refused["code"] == "InsufficientQuota"
    assert refused["arguments"]["cluster_queue"] == QUEUE
    assert refused["sentence"].startswith("Insufficient quota: 1 CPU (default) requested, 0 avail")
    assert rows["ended"]["explanation"]["sentence"] == "Cancelled: wrong image"


@pytest.mark.parametrize("name", ["refused", "equal", "large", "held"])
def test_the_row_and_the_explanation_agree(admin: Api, position: int, name: str) -> None:
    row = listed(admin, position)[name]["explanation"]
    whole = admin.caught_up(f"{HERE}/{name}/explanation", position).json()

    assert (row["dominant"], row["code"]) == (whole["dominant"], row["code"])
    # An equal workload names the one that was evaluated; its own fresh evaluation does not.
    assert whole["code"] in {row["code"], "InsufficientQuota"}


def test_the_condition_keeps_the_word_of_kueue(admin: Api, position: int) -> None:
    found = reserved(listed(admin, position)["large"])
    assert (found["status"], found["reason"]) == ("False", "ExceedsMaxQuota")


@pytest.mark.parametrize(
    ("phases", "names"),
    [
        ("Unschedulable", {"large", "held"}),
        ("Unschedulable,Cancelled", {"large", "held", "ended"}),
        ("Pending", {"refused", "equal", "large"}),
    ],
)
def test_the_list_is_narrowed_to_what_can_never_start(
    admin: Api, position: int, phases: str, names: set[str]
) -> None:
    assert set(listed(admin, position, f"phase={phases}")) == names


def test_unschedulable_workloads_come_page_by_page(admin: Api, position: int) -> None:
    query, names = f"{HERE}?phase=Unschedulable&limit=1", []
    page = admin.caught_up(query, position).json()
    while True:
        names += [item["metadata"]["name"] for item in page["items"]]
        if (token := page["metadata"].get("continue")) is None:
            break
        page = admin.get(f"{query}&continue={token}").json()
    assert names == ["held", "large"]


def test_the_past_has_the_reasons_of_then(admin: Api, position: int) -> None:
    held = admin.get(f"{HERE}/held/timeline").json()["entries"]
    (before,) = [entry["position"] - 1 for entry in held if entry["type"] == "workload.held"]
    items = admin.get(f"{HERE}?at={before}&phase=Unschedulable").json()["items"]

    then = {item["metadata"]["name"]: item["status"]["phase"] for item in items}
    assert then == {"large": "Pending", "held": "Pending", "ended": "Pending"}
    assert set(listed(admin, position, "phase=Unschedulable")) == {"large", "held"}


def test_a_workload_that_no_evaluation_reaches_has_its_condition_everywhere(
    admin: Api, position: int
) -> None:
    """Kueue: `syncQuotaReservedFalseCondition`, in the list, by name, and in the past."""
    path = "/v1/namespaces/lost-reasons/workloads"
    made = admin.post(path, workload("lost", namespace="lost-reasons", queue="not-yet"))
    before = int(made.headers["X-Log-Position"])
    (row,) = admin.caught_up(path, before).json()["items"]
    for status in (row["status"], admin.get(f"{path}/lost").json()["status"]):
        assert reserved(status)["status"] == "False"
        assert reserved(status)["reason"] == "Misconfigured"
        assert "not-yet" in reserved(status)["message"]

    # The workload does not change, so its version does not tell that its condition has.
    tag = admin.get(f"{path}/lost").headers["ETag"]
    door = local_queue("not-yet", QUEUE, "lost-reasons")
    door["spec"]["stopPolicy"] = "Hold"
    stopped = admin.post("/v1/namespaces/lost-reasons/localqueues", door)
    at = int(stopped.headers["X-Log-Position"])
    now = admin.get(f"{path}/lost?minPosition={at}", if_none_match=tag).json()
    assert reserved(now["status"])["reason"] == "Suspended"
    then = admin.get(f"{path}/lost?at={before}").json()
    assert reserved(then["status"])["reason"] == "Misconfigured"


def reserved(status: dict[str, Any]) -> dict[str, Any]:
    """The condition QuotaReserved of a status."""
    (found,) = [each for each in status["conditions"] if each["type"] == "QuotaReserved"]
    return dict(found)
