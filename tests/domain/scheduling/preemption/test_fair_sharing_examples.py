"""The worked examples 10 to 12 and 22 of preemption.md §7: fair sharing."""

from headgate.domain.kinds.configuration import FairSharing, FairStrategy
from headgate.domain.values.message import message
from tests.builders.cohorts import Cohorts, Victims, policies

ANY = policies("LowerPriority", "Any")
BACK, FAIR = "InCohortReclamation", "InCohortFairSharing"


def thirds(*strategies: FairStrategy) -> Cohorts:
    """Three ClusterQueues that own a third each and may reclaim at any priority."""
    world = Cohorts()
    rules = FairSharing(preemption_strategies=strategies) if strategies else FairSharing()
    world.configure(fair_sharing=rules)
    for name in ("a", "b", "c"):
        world.queue(name, 3, ANY)
    return world


def low_and_high(*strategies: FairStrategy) -> Victims:
    world = thirds(*strategies)
    world.runs("a1@a", 3)
    world.runs("b-low@b", 5)
    world.runs("b-high@b", 1, 1)
    return world.victims_for("p@a", 1)


def test_10_by_the_initial_share_the_big_low_one_goes() -> None:
    assert low_and_high("LessThanInitialShare") == {"b-low": FAIR}


def test_10_by_the_final_share_the_small_high_one_goes() -> None:
    assert low_and_high("LessThanOrEqualToFinalShare") == {"b-high": FAIR}


def borrowed_by_b() -> Cohorts:
    world = thirds()
    for name in ("a1", "a2", "a3"):
        world.runs(f"{name}@a", 1)
    for name in ("b1", "b2", "b3", "b4", "b5"):
        world.runs(f"{name}@b", 1)
    world.runs("c1@c", 1)
    return world


def test_11_within_nominal_no_share_is_compared() -> None:
    assert borrowed_by_b().victims_for("p@c", 1) == {"b5": BACK}


def test_11_above_nominal_the_larger_share_gives() -> None:
    assert borrowed_by_b().victims_for("p@a", 1) == {"b5": FAIR}


def test_11_no_workload_is_evicted_if_that_would_reverse_the_imbalance() -> None:
    assert borrowed_by_b().victims_for("p@a", 2) == {}


def test_12_two_queues_give_one_each_and_neither_undoes_it() -> None:
    world = Cohorts()
    world.configure(fair_sharing=FairSharing())
    for name in ("a", "b", "c"):
        world.queue(name, 30, ANY)
    for name, size in (("b2@b", 25), ("c2@c", 25), ("b1@b", 20), ("c1@c", 20)):
        world.runs(name, size)
    assert world.victims_for("p@a", 35) == {"b1": FAIR, "c1": FAIR}
    for key in ("team/b1", "team/c1"):
        world.stop(key)
    world.settle()
    assert world.admitted() == ["team/b2", "team/c2", "team/p"]
    assert world.victims_of("b1") == {}


def test_22_giving_back_must_not_make_a_victim_illegal() -> None:
    world = Cohorts()
    world.configure(fair_sharing=FairSharing())
    world.queue("a", 2, ANY)
    world.queue("b", 1, ANY)
    world.runs("a0@a", 1, 1)
    world.runs("b1@b", 2, 2)
    assert world.victims_for("p@a", 2, 2) == {}
    refused = world["team/p"].explanation
    assert refused is not None
    rules = {r.workload: r.rule for blocker in refused.blockers for r in blocker.refused}
    assert rules["team/b1"] == message("NoLargerShare")
