"""Every pending workload has a reason, and independent accounting confirms it."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.scheduling.pending_reasons import current_reason
from headgate.domain.values.message import Message
from headgate.domain.workloads.explanation import Blocker, Explanation
from tests.hypothesis_profiles import examples
from tests.simulation import explanations
from tests.simulation.cluster import Cluster
from tests.simulation.explanations import Checker, check, has_text, run_cluster

REAL = current_reason
Mutant = Callable[[Explanation], Explanation | None]


def _first_contradiction(day: Cluster) -> str:
    checker, cluster_state = Checker(), ClusterState()
    for recorded in day.database.events:
        cluster_state.apply(recorded)
        if recorded.position % 11 == 0:
            checker.look_at(cluster_state, recorded.at)
        if checker.contradictions:
            return checker.contradictions[0]
    return ""


def _told(
    found: Explanation, instead_of: str, dominant: str = "", code: str = "DoesNotFit"
) -> Explanation:
    if found.dominant != instead_of:
        return found
    return replace(found, dominant=dominant or instead_of, message=Message(code))


def _each_blocker(found: Explanation, change: Callable[[Blocker], Blocker]) -> Explanation:
    return replace(found, blockers=tuple(change(blocker) for blocker in found.blockers))


def _each_refusal(found: Explanation, change: Callable[[Message], Message]) -> Explanation:
    return _each_blocker(
        found,
        lambda blocker: replace(
            blocker,
            refused=tuple(replace(one, rule=change(one.rule)) for one in blocker.refused),
        ),
    )


def _more(blocker: Blocker, need: int = 0, have: int = 0) -> Blocker:
    if blocker.need is None or blocker.have is None or blocker.short_by is None:
        return blocker
    return replace(
        blocker,
        need=blocker.need + need,
        have=blocker.have + have,
        short_by=blocker.short_by + need - have,
    )


MUTANTS: dict[str, Mutant] = {
    "no reason is recorded": lambda _: None,
    "no text": lambda found: replace(found, message=Message("Untold")),
    "held": lambda _: Explanation(dominant="OnHold", message=Message("Queued")),
    "fits": lambda found: _told(found, "WaitingForQuota", "PendingEvaluation", "FitsNow"),
    "first in line": lambda found: _told(found, "BehindHead", "WaitingForQuota"),
    "not stopped": lambda found: _told(found, "Stopped", "WaitingForQuota"),
    "active": lambda found: _told(found, "Deactivated", "BackingOff"),
    "no checks": lambda found: _told(found, "UnsatisfiedAdmissionChecks", code="ChecksPassed"),
    "quota for hosts": lambda found: _told(found, "WaitingForHosts", "WaitingForQuota"),
    "never": lambda found: _told(found, "WaitingForQuota", "Unschedulable"),
    "one more there": lambda found: _each_blocker(found, lambda one: _more(one, have=1)),
    "one more needed": lambda found: _each_blocker(found, lambda one: _more(one, need=1)),
    "short by all": lambda found: _each_blocker(found, lambda o: replace(o, short_by=o.need)),
    "safe by another rule": lambda found: _each_refusal(found, lambda _: Message("NoLargerShare")),
    "another holder": lambda found: _each_blocker(found, lambda o: replace(o, held_by=("a/b",))),
}


@pytest.fixture(scope="module")
def day() -> Cluster:
    return run_cluster(2, workloads=examples(200, quick=100))


@pytest.mark.parametrize("seed", range(2))
def test_explanations_of_a_day_are_true(seed: int) -> None:
    checker = check(run_cluster(seed, workloads=60).database.events, seed, positions=30)
    assert checker.contradictions == []
    assert sum(checker.checked.values()) > 100


def test_the_reckoning_meets_every_kind_of_reason(day: Cluster) -> None:
    checker = check(day.database.events, seed=0, positions=examples(80, quick=20))
    assert checker.contradictions == []
    assert {
        "AdmissionGated",
        "BehindHead",
        "Deactivated",
        "Stopped",
        "UnsatisfiedAdmissionChecks",
        "Unschedulable",
        "WaitingForHosts",
        "WaitingForPreemptedWorkloads",
        "WaitingForQuota",
    } <= set(checker.checked)


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_an_untrue_explanation_is_found(
    monkeypatch: pytest.MonkeyPatch, day: Cluster, mutant: Mutant
) -> None:
    def untrue(*arguments: object) -> Explanation | None:
        found = REAL(*arguments)  # type: ignore[arg-type]
        return mutant(found) if found is not None else None

    monkeypatch.setattr(explanations, "current_reason", untrue)
    assert _first_contradiction(day)


@pytest.mark.parametrize(("code", "expected"), [("Terminating", True), ("Untold", False)])
def test_seed_5_a_text_may_be_the_word_of_its_code(code: str, expected: bool) -> None:
    ending = Blocker(type="Hold", reason="Ending", message=Message(code))
    assert has_text(Explanation(dominant="Ending", blockers=(ending,))) is expected


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 7])
def test_a_crowded_day_has_no_findings(seed: int) -> None:
    """Seed 1 invalidates a nomination in the cycle that admits; seed 7 deletes a reservation."""
    assert run_cluster(seed, 240).witness.audits.findings.found == []
