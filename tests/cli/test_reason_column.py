"""The columns PHASE, ACTIVE and REASON say how each workload and queue stands."""

from typing import Any

import pytest

from headgate.cli.cells import cells_of
from headgate.cli.commands.get import of_activity, sorted_by
from headgate.cli.failures import CommandFailed


def row(phase: str, dominant: str, summary: str) -> dict[str, Any]:
    return {
        "kind": "Workload",
        "metadata": {"name": "a"},
        "spec": {"podSets": []},
        "status": {"phase": phase, "explanation": {"dominant": dominant, "summary": summary}},
    }


@pytest.mark.parametrize(
    ("found", "phase", "reason"),
    [
        (row("Pending", "WaitingForQuota", "8 GPU short in cq"), "Pending", "8 GPU short in cq"),
        (row("Pending", "Unschedulable", "8 GPU max, needs 9"), "Unschedulable",
         "8 GPU max, needs 9"),
        (row("OnHold", "Unschedulable", "8 GPU max, needs 9"), "OnHold",
         "Unschedulable: 8 GPU max, needs 9"),
        (row("Failed", "Failed", "Exit 137: OOMKilled in main-3"), "Failed",
         "Exit 137: OOMKilled in main-3"),
        (row("Running", "Admitted", "Running"), "Running", "-"),
        ({**row("Pending", "", ""), "status": {"phase": "Pending"}}, "Pending", "-"),
    ],
)  # fmt: skip
def test_a_row_says_the_status_and_the_reason(
    found: dict[str, Any], phase: str, reason: str
) -> None:
    cells = dict(cells_of(found, wide=False))
    assert (cells["phase"], cells["reason"]) == (phase, reason)


def test_a_list_is_sorted_by_a_field_as_kubectl_does() -> None:
    given: list[tuple[str, object]] = [("b", 10), ("a", 9), ("c", None), ("d", 100)]
    items = [{"metadata": {"name": n}, "status": {"priority": p} if p else {}} for n, p in given]

    def names(path: str) -> str:
        return "".join(item["metadata"]["name"] for item in sorted_by(items, path))

    assert names("") == "bacd"
    assert names(".metadata.name") == names("{.metadata.name}") == "abcd"
    assert names(".status.priority") == "cabd"
    with pytest.raises(CommandFailed, match="no object has this field"):
        names(".spec.none")
    texts = ["host-10", "host-9", "1Gi", "900Mi", "host-9b", "1500m", "2"]
    written = [{"at": text} for text in texts]
    assert [each["at"] for each in sorted_by(written, ".at")] == [
        "1500m", "2", "900Mi", "1Gi", "host-9", "host-9b", "host-10",
    ]  # fmt: skip


def a_queue(name: str, kind: str, *, active: bool) -> dict[str, Any]:
    status, reason = ("True", "Ready") if active else ("False", "Stopped")
    return {
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"clusterQueue": "cq"},
        "status": {"conditions": [{"type": "Active", "status": status, "reason": reason}]},
    }


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
def test_wide_rows_of_queues_say_why_they_are_active_or_not(kind: str) -> None:
    """Kueue 0.20, change 46 (#15633): columns ACTIVE and REASON of both kinds of queues."""
    cells = dict(cells_of(a_queue("a", kind, active=False), wide=True))
    assert (cells["active"], cells["reason"]) == ("False", "Stopped")
    assert "reason" not in dict(cells_of(a_queue("a", kind, active=False), wide=False))


def test_queues_are_listed_by_whether_they_are_active() -> None:
    """Kueue 0.20, change 46 (#15866): `list localqueue --active=true|false`."""
    queues = [a_queue(name, "LocalQueue", active=name != "b") for name in "abc"]

    def names(active: str) -> str:
        return "".join(item["metadata"]["name"] for item in of_activity(queues, active))

    assert (names(""), names("true"), names("false")) == ("abc", "ac", "b")
    with pytest.raises(CommandFailed, match="true or false"):
        names("yes")
    with pytest.raises(CommandFailed, match="only ClusterQueues"):
        of_activity([row("Running", "", "")], "true")
