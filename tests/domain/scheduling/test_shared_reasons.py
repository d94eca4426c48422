"""The reasons of a page of workloads cost one evaluation for each class, not for each row.

They are those of the state that the queues have.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from headgate.application.ports import Loaded
from headgate.application.queries.explanations import explanation_of, newest_state
from headgate.domain.recorded_event import workload_stream
from headgate.domain.scheduling import pending_reasons
from headgate.domain.scheduling.evaluation import unschedulable
from headgate.domain.scheduling.ordering.pending_queue import PendingQueue
from headgate.domain.scheduling.pending_reasons import SharedReasons, recorded_reason
from tests.builders.world import World, quotas

ROWS = 30


def counting(counts: Counter[str], name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*given: Any, **named: Any) -> Any:
        counts[name] += 1
        return real(*given, **named)

    return counted


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The evaluations and sorted queues from here on."""
    found = Counter[str]()
    for owner, name in (
        (pending_reasons, "evaluate"),
        (unschedulable, "evaluate_emptied"),
        (unschedulable, "with_free"),
        (PendingQueue, "in_order"),
    ):
        monkeypatch.setattr(owner, name, counting(found, name, getattr(owner, name)))
    return found


def full_queue(strategy: str) -> tuple[World, list[str]]:
    """A queue without free quota, and workloads of two classes, one of which can never start."""
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=4), queueing_strategy=strategy)
    world.submit("runs", "q", {"gpu": 4}, priority=9)
    world.settle()
    keys = [world.submit(f"w{n}", "q", {"gpu": 5 if n % 2 else 3}) for n in range(ROWS)]
    return world, keys


@pytest.mark.parametrize("strategy", ["BestEffortFIFO", "StrictFIFO"])
def test_a_page_evaluates_no_row(strategy: str, counts: Counter[str]) -> None:
    world, keys = full_queue(strategy)
    shared = SharedReasons()
    told = [recorded_reason(world.cluster_state, world[key], world.at, shared) for key in keys]

    assert [found.is_unschedulable for found in told if found] == [False, True] * (ROWS // 2)
    assert counts["evaluate"] == 0
    assert counts["evaluate_emptied"] == 2  # once for each class, until the configuration changes
    assert counts["with_free"] == 1
    assert counts["in_order"] == 0  # the place of each is found without sorting the queue

    shared = SharedReasons()
    for key in keys:
        recorded_reason(world.cluster_state, world[key], world.at, shared)
    assert counts["evaluate_emptied"] == 2


def test_what_was_pending_when_it_was_loaded_is_explained_as_it_is_now() -> None:
    world = World()
    world.flavor()
    world.cluster_queue("cq", quotas("cpu", default=4))
    key = world.submit("w", "cq", {"cpu": 1})
    position = world.cluster_state.position
    before = Loaded(
        stream=workload_stream(key), version=1, position=position, state=world.rows[key]
    )
    world.cycle()
    found = newest_state(world.cluster_state, before)
    assert found is world[key]
    reason = explanation_of(world.cluster_state, found, world.at)
    assert reason.dominant == "Admitted"
    ahead = replace(before, position=world.cluster_state.position + 1)
    assert newest_state(world.cluster_state, ahead) is before.state
    other = replace(before, state=replace(before.state, uid="another"))
    assert newest_state(world.cluster_state, other) is other.state
