"""The life that all configured objects share, told with ClusterQueues and Namespaces."""

from msgspec.structs import replace

from headgate.domain.kinds.cluster_queue import (
    CLUSTER_QUEUE,
    COHORT,
    ClusterQueueChanged,
    ClusterQueueCreated,
    ClusterQueueDeleted,
    ClusterQueueDeletionRequested,
    CohortCreated,
    CohortDeleted,
    CohortSpec,
)
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.kubernetes_kinds import NAMESPACE, NamespaceCreated, NamespaceSpec
from headgate.domain.kinds.object_commands import Change, Create, FinishDeletion, RequestDeletion
from headgate.domain.rejection import AlreadyExists, InUse, InvalidObject, NotFound
from headgate.messages.catalogue import text_of
from tests.builders.instants import T0, after
from tests.builders.queues import a_cluster_queue, a_cluster_queue_spec
from tests.builders.scenario import Scenario, pointers

SPEC = a_cluster_queue_spec()
CREATED = ClusterQueueCreated(uid="u", name="gpu", spec=SPEC)


def a_queue() -> Scenario:
    return Scenario(CLUSTER_QUEUE).given(CREATED)


def test_a_new_object_is_created_as_generation_1() -> None:
    story = Scenario(CLUSTER_QUEUE)
    events = story.when(Create(uid="u", name="gpu", labels={"a": "b"}, spec=SPEC))
    assert events == (ClusterQueueCreated(uid="u", name="gpu", labels={"a": "b"}, spec=SPEC),)
    assert (story.state.generation, story.state.created_at) == (1, T0)


def test_a_name_that_is_taken_is_refused() -> None:
    a_queue().refuses(Create(uid="v", name="gpu", spec=SPEC), AlreadyExists)


def test_a_name_that_is_being_freed_is_refused_too() -> None:
    story = a_queue().given(ClusterQueueDeletionRequested())
    refusal = story.refuses(Create(uid="v", name="gpu", spec=SPEC), AlreadyExists)
    assert "being deleted" in text_of(refusal.message)


def test_a_deleted_name_can_be_used_again() -> None:
    story = a_queue().given(ClusterQueueDeleted())
    assert story.when(Create(uid="v", name="gpu", spec=SPEC))[0].uid == "v"


def test_the_same_again_is_no_event() -> None:
    assert a_queue().when(Change(spec=SPEC)) == ()


def test_a_changed_spec_is_a_new_generation() -> None:
    story = a_queue()
    other = replace(SPEC, queueing_strategy="StrictFIFO")
    assert story.when(Change(spec=other)) == (ClusterQueueChanged(spec=other),)
    assert story.state.generation == 2


def test_changed_labels_are_no_new_generation() -> None:
    story = a_queue()
    story.when(Change(labels={"team": "a"}, spec=SPEC))
    assert (story.state.labels, story.state.generation) == ({"team": "a"}, 1)


def test_what_does_not_exist_cannot_change_or_go() -> None:
    Scenario(CLUSTER_QUEUE).refuses(Change(spec=SPEC), NotFound)
    Scenario(CLUSTER_QUEUE).refuses(RequestDeletion(), NotFound)


def test_an_unreferenced_object_is_deleted_at_once() -> None:
    story = a_queue()
    assert story.when(RequestDeletion()) == (ClusterQueueDeleted(),)
    assert story.state == Absent()


def test_what_is_in_use_waits_until_nothing_uses_it() -> None:
    story = a_queue().later(after(5))
    busy = RequestDeletion(users=("workload/team-a/train",))
    assert story.when(busy) == (ClusterQueueDeletionRequested(),)
    assert story.state.terminating_at == after(5)
    assert story.when(busy) == ()
    assert story.when(FinishDeletion(users=busy.users)) == ()
    assert story.when(FinishDeletion()) == (ClusterQueueDeleted(),)


def test_finalizing_without_a_deletion_request_is_no_event() -> None:
    assert a_queue().when(FinishDeletion()) == ()
    assert Scenario(CLUSTER_QUEUE).when(FinishDeletion()) == ()


def test_a_cohort_is_deleted_in_spite_of_members() -> None:
    story = Scenario(COHORT).given(CohortCreated(uid="u", name="all", spec=CohortSpec()))
    assert story.when(RequestDeletion(users=("clusterqueue/gpu",))) == (CohortDeleted(),)


def test_a_namespace_with_inhabitants_stays() -> None:
    story = Scenario(NAMESPACE).given(NamespaceCreated(uid="u", name="a", spec=NamespaceSpec()))
    refusal = story.refuses(RequestDeletion(users=("localqueue/a/lq",)), InUse)
    assert "localqueue/a/lq" in text_of(refusal.message)


def test_bad_names_and_labels_are_told_together() -> None:
    command = Create(
        uid="u",
        name="No Good",
        labels={"-bad": "x", "good": "not good"},
        annotations={"also bad!": ""},
        spec=SPEC,
    )
    refusal = Scenario(CLUSTER_QUEUE).refuses(command, InvalidObject)
    assert pointers(refusal) == [
        "/metadata/name",
        "/metadata/labels/-bad",
        "/metadata/labels/good",
        "/metadata/annotations/also bad!",
    ]


def test_a_namespace_is_named_like_a_dns_label() -> None:
    create = Create(uid="u", name="team.a", spec=NamespaceSpec())
    assert pointers(Scenario(NAMESPACE).refuses(create, InvalidObject)) == ["/metadata/name"]
    queue = Create(uid="u", name="team.a", spec=SPEC)
    assert Scenario(CLUSTER_QUEUE).when(queue)


def test_annotations_have_a_limit() -> None:
    command = Create(uid="u", name="gpu", annotations={"a": "x" * 300_000}, spec=SPEC)
    refusal = Scenario(CLUSTER_QUEUE).refuses(command, InvalidObject)
    assert pointers(refusal) == ["/metadata/annotations"]


def test_a_change_keeps_what_the_caller_leaves_to_others() -> None:
    stopped = a_cluster_queue(stop_policy="Hold")
    story = Scenario(CLUSTER_QUEUE).given_state(stopped)
    assert story.when(Change(spec=SPEC, keeps=("stop_policy",))) == ()
