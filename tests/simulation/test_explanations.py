"""Every pending workload says why it waits, and an independent reckoning finds it so."""

import pytest

from headgate.domain.workloads.explanation import Explanation
from tests.simulation.explanations import Checker, live_and_check
from tests.simulation.life import morning


@pytest.mark.parametrize("seed", range(2))
def test_explanations_of_a_day_are_true(seed: int) -> None:
    checker = live_and_check(seed, workloads=60, positions=40)
    assert checker.contradictions == []
    assert sum(checker.checked.values()) > 100


def test_an_untrue_explanation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = morning(2, 150)
    untrue = Explanation(dominant="OnHold", sentence="Somebody holds it.")
    monkeypatch.setattr("tests.simulation.explanations.explain_now", lambda *_: untrue)
    checker = Checker()
    checker.look_at(cluster.witness.cell, cluster.now)
    assert checker.contradictions
