"""The columns PHASE and REASON of workloads say how each one stands."""

from typing import Any

import pytest

from headgate.cli.cells import cells_of
from headgate.cli.commands.get import sorted_by
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
