"""Preemption of single pods (`submit --single-pods`)."""

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
