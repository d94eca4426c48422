"""Stopping and resuming queues, with owner, reason and expiry."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.domain.kinds.cluster_queue import (
    CLUSTER_QUEUE,
    ClusterQueueChanged,
    ClusterQueueResumed,
    ClusterQueueStopped,
)
from headgate.domain.kinds.local_queue import LOCAL_QUEUE
from headgate.domain.kinds.object_commands import Change, Create
from headgate.domain.kinds.queue_stop import ResumeQueue, Stop, StopQueue
from headgate.domain.rejection import Decider, InvalidObject, NotFound
from tests.builders.instants import T0, after
from tests.builders.queues import a_cluster_queue, a_cluster_queue_spec, a_local_queue
from tests.builders.scenario import Scenario, pointers

BOTH = pytest.mark.parametrize(
    ("decider", "queue"),
    [(CLUSTER_QUEUE, a_cluster_queue()), (LOCAL_QUEUE, a_local_queue())],
    ids=["ClusterQueue", "LocalQueue"],
)
HOLD = StopQueue(policy="Hold", owner="admin:ann", reason="maintenance")


@BOTH
def test_a_stop_records_actor_reason_and_expiry(
    decider: Decider[Any, Any, Any], queue: Any
) -> None:
    story = Scenario(decider).given_state(queue)
    story.when(replace(HOLD, policy="HoldAndDrain", expires_at=after(60)))
    assert story.state.spec.stop_policy == "HoldAndDrain"
    assert story.state.spec.stop == Stop(
        owner="admin:ann", reason="maintenance", stopped_at=T0, expires_at=after(60)
    )
    assert story.state.generation == 2


@BOTH
def test_the_same_stop_again_is_no_event(decider: Decider[Any, Any, Any], queue: Any) -> None:
    story = Scenario(decider).given_state(queue)
    assert story.when(HOLD)
    assert story.later(after(9)).when(HOLD) == ()
    assert story.when(replace(HOLD, reason="longer maintenance"))


@BOTH
def test_resuming_ends_the_stop_once(decider: Decider[Any, Any, Any], queue: Any) -> None:
    story = Scenario(decider).given_state(queue)
    assert story.when(ResumeQueue()) == ()
    story.when(HOLD)
    assert story.when(ResumeQueue())
    assert (story.state.spec.stop_policy, story.state.spec.stop) == ("None", None)


@BOTH
def test_a_stop_runs_out_at_its_expiry_and_not_before(
    decider: Decider[Any, Any, Any], queue: Any
) -> None:
    story = Scenario(decider).given_state(queue)
    story.when(replace(HOLD, expires_at=after(60)))
    assert story.later(after(59)).when(ResumeQueue(expired=True)) == ()
    (resumed,) = story.later(after(60)).when(ResumeQueue(expired=True))
    assert resumed.expired


@BOTH
def test_a_stop_without_expiry_never_runs_out(decider: Decider[Any, Any, Any], queue: Any) -> None:
    story = Scenario(decider).given_state(queue)
    story.when(HOLD)
    assert story.later(after(10**9)).when(ResumeQueue(expired=True)) == ()


@BOTH
def test_a_stop_needs_a_policy_a_reason_and_an_end_to_come(
    decider: Decider[Any, Any, Any], queue: Any
) -> None:
    story = Scenario(decider).given_state(queue)
    nothing = StopQueue(policy="None", owner="admin:ann", reason=" ", expires_at=T0)
    refusal = story.refuses(nothing, InvalidObject)
    assert pointers(refusal) == ["/policy", "/reason", "/expiresAt"]
    assert (refusal.message.code, refusal.message.arguments["errors"]) == ("ObjectInvalid", 3)


def test_what_does_not_exist_cannot_be_stopped_or_resumed() -> None:
    Scenario(CLUSTER_QUEUE).refuses(HOLD, NotFound)
    Scenario(LOCAL_QUEUE).refuses(ResumeQueue(), NotFound)


def test_a_manifest_that_names_a_policy_stops_and_resumes() -> None:
    story = Scenario(CLUSTER_QUEUE).given_state(a_cluster_queue())
    (stopped,) = story.when(Change(spec=a_cluster_queue_spec(stop_policy="Hold"), by="user:bo"))
    assert isinstance(stopped, ClusterQueueStopped)
    assert (stopped.policy, stopped.stop.owner) == ("Hold", "user:bo")
    assert story.when(Change(spec=a_cluster_queue_spec())) == (ClusterQueueResumed(),)


def test_a_manifest_without_a_policy_leaves_a_stop_alone() -> None:
    story = Scenario(CLUSTER_QUEUE).given_state(a_cluster_queue())
    story.when(HOLD)
    other = a_cluster_queue_spec(queueing_strategy="StrictFIFO")
    (changed,) = story.when(Change(spec=other, keeps=("stop_policy",)))
    assert isinstance(changed, ClusterQueueChanged)
    assert story.state.spec.stop_policy == "Hold"
    assert story.state.spec.stop.owner == "admin:ann"


def test_one_manifest_can_change_the_quota_and_stop_the_queue() -> None:
    story = Scenario(CLUSTER_QUEUE).given_state(a_cluster_queue())
    wanted = a_cluster_queue_spec(queueing_strategy="StrictFIFO", stop_policy="HoldAndDrain")
    changed, stopped = story.when(Change(spec=wanted, by="user:bo"))
    assert (changed.spec.stop_policy, stopped.policy) == ("None", "HoldAndDrain")
    assert story.state.spec.queueing_strategy == "StrictFIFO"


def test_a_queue_created_stopped_names_the_actor() -> None:
    story = Scenario(CLUSTER_QUEUE)
    spec = a_cluster_queue_spec(stop_policy="Hold")
    story.when(Create(uid="u", name="gpu", spec=spec, by="user:bo"))
    assert story.state.spec.stop.owner == "user:bo"
