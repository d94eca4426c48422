"""Rules of Executors: which nodes are theirs, their lease and their ports."""

import pytest
from msgspec.structs import replace

from headgate.domain.kinds.executor import EXECUTOR, ExecutorSpec, LogRetention, PortRange
from headgate.domain.kinds.object_commands import Change, Create
from headgate.domain.rejection import InvalidObject
from tests.builders.scenario import Scenario, pointers

SPEC = ExecutorSpec(node_selector={"pool": "slurm"})


def test_an_executor_is_created_and_changed_as_every_object() -> None:
    story = Scenario(EXECUTOR)
    story.when(Create(uid="u", name="slurm", spec=SPEC))
    story.when(Change(spec=replace(SPEC, node_loss_policy="Wait")))
    assert (story.state.spec.node_loss_policy, story.state.generation) == ("Wait", 2)


@pytest.mark.parametrize(
    ("spec", "broken"),
    [
        (ExecutorSpec(), ["/spec"]),
        (replace(SPEC, flavors=("a",)), ["/spec"]),
        (ExecutorSpec(flavors=("a", "a")), ["/spec/flavors/1"]),
        (ExecutorSpec(flavors=("No Name",)), ["/spec/flavors/0"]),
        (replace(SPEC, lease_seconds=4), ["/spec/leaseSeconds"]),
        (
            replace(SPEC, rendezvous_ports=PortRange(first=80)),
            ["/spec/rendezvousPorts/first"],
        ),
        (
            replace(SPEC, rendezvous_ports=PortRange(first=9000, last=8000)),
            ["/spec/rendezvousPorts/last"],
        ),
        (
            replace(SPEC, log_retention=LogRetention(max_mebibytes=-1)),
            ["/spec/logRetention/maxMebibytes"],
        ),
    ],
)
def test_broken_rules_are_told_at_their_fields(spec: ExecutorSpec, broken: list[str]) -> None:
    refusal = Scenario(EXECUTOR).refuses(Create(uid="u", name="slurm", spec=spec), InvalidObject)
    assert pointers(refusal) == broken
