"""Rules of Executors: which nodes are theirs, their lease and their ports."""

import pytest
from msgspec.structs import replace

from headgate.domain.kinds.executor import (
    EXECUTOR,
    ClaimExecutor,
    ExecutorClaimed,
    ExecutorSpec,
    LogRetention,
    LoseExecutor,
    OrphansDecided,
    OrphansReported,
    PortRange,
)
from headgate.domain.kinds.object_commands import Change, Create
from headgate.domain.kinds.orphaned_pods import DecideOrphans, OrphanedPod, ReportOrphans
from headgate.domain.rejection import IllegalNow, InvalidObject, NotFound
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


def orphan(name: str) -> OrphanedPod:
    return OrphanedPod(id=name, workload="team-a/lost", pod_set="main", index=0, node="n1")


def with_orphans(*names: str) -> Scenario:
    """A claimed Executor that has reported orphaned pods."""
    story = Scenario(EXECUTOR)
    story.when(Create(uid="u", name="slurm", spec=SPEC))
    story.when(ClaimExecutor(version="1", capabilities=(), boot_id="b"))
    story.when(ReportOrphans(epoch=1, orphans=tuple(map(orphan, names))))
    return story


@pytest.mark.parametrize(
    ("first", "lost", "second", "accepted"),
    [
        ("host", False, "host", True),
        ("host", False, "other", False),
        ("host", True, "other", True),
        ("host", False, "", True),
        ("", False, "other", True),
    ],
)
def test_another_host_claims_an_executor_once_its_lease_has_ended(
    first: str, second: str, *, lost: bool, accepted: bool
) -> None:
    story = Scenario(EXECUTOR)
    story.when(Create(uid="u", name="slurm", spec=SPEC))
    story.when(ClaimExecutor(boot_id=first))
    if lost:
        story.when(LoseExecutor(epoch=1))
    if accepted:
        assert story.when(ClaimExecutor(boot_id=second)) == (
            ExecutorClaimed(epoch=2, boot_id=second),
        )
    else:
        refusal = story.refuses(ClaimExecutor(boot_id=second), IllegalNow)
        assert refusal.message.code == "ExecutorOnOtherHost"


def test_orphans_are_recorded_as_they_appear_and_end() -> None:
    story = with_orphans("a", "b")
    later = ReportOrphans(epoch=1, orphans=(orphan("b"), orphan("c")))
    assert story.when(later) == (OrphansReported(appeared=(orphan("c"),), gone=("a",)),)
    assert [each.id for each in story.state.spec.orphans] == ["b", "c"]
    assert story.when(later) == ()
    assert story.state.generation == 1


def test_a_report_after_a_loss_of_events_is_recorded_though_nothing_changed() -> None:
    """The report that there are none is what admission waits for; it comes once for each loss."""
    story = with_orphans("a")
    same = ReportOrphans(epoch=1, orphans=(orphan("a"),), losses=1)
    assert story.when(same) == (OrphansReported(losses=1),)
    assert story.when(same) == ()
    ended = ReportOrphans(epoch=1, orphans=(), losses=0)
    assert story.when(ended) == (OrphansReported(gone=("a",)),)
    assert story.state.spec.losses == 1


def test_a_decision_stands_until_the_orphan_has_ended() -> None:
    story = with_orphans("a", "b")
    kill = DecideOrphans(pods=("a",), decision="Kill")
    assert story.when(kill) == (OrphansDecided(pods=("a",), decision="Kill"),)
    assert story.when(kill) == ()
    story.when(ReportOrphans(epoch=1, orphans=(orphan("a"), orphan("b"))))
    assert [each.decision for each in story.state.spec.orphans] == ["Kill", None]
    story.when(ReportOrphans(epoch=1, orphans=(orphan("b"),)))
    assert [each.id for each in story.state.spec.orphans] == ["b"]


def test_orphans_of_other_processes_and_names_are_refused() -> None:
    story = with_orphans("a", "b")
    story.refuses(ReportOrphans(epoch=2, orphans=()), IllegalNow)
    story.refuses(DecideOrphans(pods=("a", "z"), decision="Keep"), NotFound)
    story.when(DecideOrphans(pods=("a",), decision="Kill"))
    story.refuses(DecideOrphans(pods=("b", "a"), decision="Keep"), IllegalNow)
    twice = ReportOrphans(epoch=1, orphans=(orphan("b"), orphan("b")))
    assert pointers(story.refuses(twice, InvalidObject)) == ["/orphans/1/id"]
    assert [each.decision for each in story.state.spec.orphans] == ["Kill", None]
