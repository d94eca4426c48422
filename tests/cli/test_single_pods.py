"""Preemption of single pods (`submit --single-pods`)."""

import pytest

from headgate.cli.commands import preemptions
from headgate.cli.commands.submit import WorkloadOptions, manifest_of


def test_flags_say_that_single_pods_may_be_preempted() -> None:
    asked = WorkloadOptions(name="w", namespace="team", queue="q", requests={"cpu": "1"}, pods=6)
    (plain,) = manifest_of(asked)["spec"]["podSets"]
    assert "disruptionMode" not in plain
    single = WorkloadOptions(
        name="w", namespace="team", queue="q", requests={"cpu": "1"}, pods=6, minimum=2,
        single_pods=True,
    )  # fmt: skip
    (found,) = manifest_of(single)["spec"]["podSets"]
    assert (found["minCount"], found["disruptionMode"]) == (2, "Single")


def test_the_victims_of_a_round_are_named_with_their_pods(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = {
        "workload": "team/wide", "pods": 3, "shrinksTo": {"main": 3}, "indices": {"main": "1,4-5"},
        "clusterQueue": "q", "priority": 0, "reason": "InClusterQueue", "stage": "Requested",
        "runningSeconds": 60, "freed": {"tas/cpu": 3_000},
    }  # fmt: skip
    whole = one | {"workload": "team/whole", "shrinksTo": {}, "indices": {}}
    found = {
        "preemptor": "team/high", "preemptorPriority": 9, "clusterQueue": "q", "stage": "Committed",
        "considered": 2, "victims": [one, whole],
    }  # fmt: skip
    preemptions._show_round(found)  # noqa: SLF001 - the table, without a server
    rows = capsys.readouterr().out.splitlines()
    assert any("team/wide" in row and "3: main 1,4-5 (3 of main stay)" in row for row in rows)
    assert any("team/whole" in row and " all " in row for row in rows)
