"""What every store promises of the sums of preemptions."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.application.projections.followers import (
    PreemptionQuery,
    PreemptionSum,
    PreemptionSums,
    PreemptionVictims,
)
from headgate.domain.rounds.state import RoundCommitted, RoundVictim
from tests.contracts.adapters import Adapters
from tests.contracts.history import MINUTE, START, History, committed, victim_of

GPU, CPU = "a100/nvidia.com/gpu", "a100/cpu"
RECLAIM, OWN = "InCohortReclamation", "InClusterQueue"


def victim(name: str, queue: str, gpus: int, seconds: int, **fields: Any) -> RoundVictim:
    freed = {GPU: gpus, CPU: 64_000}
    changes: dict[str, Any] = {"reason": RECLAIM, **fields}
    return replace(
        victim_of(name), cluster_queue=queue, freed=freed, running_seconds=seconds, **changes
    )


def a_round(
    name: str, preemptor: str, queue: str, *victims: RoundVictim, cohort: str = ""
) -> RoundCommitted:
    return replace(committed(name, preemptor), cluster_queue=queue, victims=victims, cohort=cohort)


@pytest.fixture
def followed(adapters: Adapters) -> Adapters:
    """Four rounds, a minute apart: two workloads preempt each other, one has two queues."""
    rounds = (
        a_round("1", "a/x", "vision", victim("b/y", "language", 4, 100), cohort="campus"),
        a_round("2", "b/y", "language", victim("a/x", "vision", 2, 10, cohort="other")),
        a_round("3", "a/x", "vision", victim("b/y", "language", 4, 50, reason=OWN)),
        a_round(
            "4",
            "c/z",
            "vision",
            victim("b/v", "language", 8, 1_000),
            victim("b/w", "language", 0, 3_600),
            victim("d/u", "robotics", 1, 60, reason=OWN),
        ),
    )
    history = History()
    for number, found in enumerate(rounds):
        history.add(f"round/{found.round_id}", found, START + number * MINUTE)
    adapters.log.append(history.units)
    while adapters.followers.advance(PreemptionVictims.name):
        pass
    return adapters


def sums(adapters: Adapters, **query: Any) -> PreemptionSums:
    return adapters.followers.preemption_sums(PreemptionQuery(**query))


def figures(found: list[PreemptionSum]) -> list[tuple[Any, ...]]:
    return [(*each.names, each.rounds, each.victims, each.gpu_seconds) for each in found]


def test_without_preemptions_all_sums_are_empty(adapters: Adapters) -> None:
    assert sums(adapters) == PreemptionSums(position=0)


def test_preemptions_are_summed_by_preemptor_pair_queue_and_rule(followed: Adapters) -> None:
    found = sums(followed)

    assert found.position == 4
    assert found.total == PreemptionSum(
        rounds=4,
        victims=6,
        gpu_seconds=8_680,
        cluster_queue="vision",
        priority=100,
        rules=(OWN, RECLAIM),
        first_at=START,
        last_at=START + 3 * MINUTE,
    )
    assert figures(found.preemptors) == [
        ("c/z", 1, 3, 8_060),
        ("a/x", 2, 2, 600),
        ("b/y", 1, 1, 20),
    ]
    assert found.preemptors[1].rules == (OWN, RECLAIM)
    assert figures(found.pairs) == [
        ("vision", "language", 3, 4, 8_600),
        ("vision", "robotics", 1, 1, 60),
        ("language", "vision", 1, 1, 20),
    ]
    assert figures(found.queues) == [("vision", 3, 5, 8_660), ("language", 1, 1, 20)]
    assert figures(found.rules) == [(RECLAIM, 3, 4, 8_420), (OWN, 2, 2, 260)]
    (repeated,) = found.repeated
    assert (repeated.names, repeated.rounds) == (("a/x", "b/y"), 3)
    assert (repeated.first_at, repeated.last_at) == (START, START + 2 * MINUTE)


@pytest.mark.parametrize(
    ("query", "rounds", "victims"),
    [
        ({"workload": "a/x"}, 3, 3),
        ({"workload": "b/w"}, 1, 3),
        ({"cluster_queue": "robotics"}, 1, 3),
        ({"preemptor_queue": "vision"}, 3, 5),
        ({"preemptor_queue": "language", "victim_queue": "vision"}, 1, 1),
        ({"preemptor_queue": "language", "victim_queue": "robotics"}, 0, 0),
        ({"cohort": "other"}, 1, 1),
        ({"rule": OWN}, 2, 4),
        ({"rule": OWN, "workload": "b/y"}, 1, 1),
        ({"since": START + MINUTE, "until": START + 2 * MINUTE}, 2, 2),
        ({"up_to": 3}, 3, 3),
        ({"namespaces": frozenset({"d"})}, 1, 3),
        ({"namespaces": frozenset({"absent"})}, 0, 0),
    ],
)
def test_a_filter_chooses_whole_rounds(
    followed: Adapters, query: dict[str, Any], rounds: int, victims: int
) -> None:
    found = sums(followed, **query).total

    assert (found.rounds, found.victims) == (rounds, victims)
