"""Each pod is handed the place of its rank; where ranks cannot be had, places are filled in turn.

Reference topology.md §6.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.domain.rejection import InvalidObject, NotFound
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyAssignment,
    TopologyDomain,
)
from headgate.domain.workloads.pods.attempt_pods import AttemptLayout
from headgate.domain.workloads.pods.pod_ranks import INDEX_OFFSET, ExecutorPod, assign_ranks
from headgate.domain.workloads.specs import (
    PodIndex,
    PodSet,
    Scheduling,
    TopologyRequest,
    WorkloadSpec,
)
from headgate.domain.workloads.state import Workload

INDEX = "index"
JOB = "job"
HOST = "kubernetes.io/hostname"
SIMPLE = PodIndex(label=INDEX)


def assigned(name: str, domains: dict[str, int]) -> PodSetAssignment:
    topology = TopologyAssignment(
        levels=(HOST,),
        domains=tuple(TopologyDomain(values=(host,), count=n) for host, n in domains.items()),
    )
    return PodSetAssignment(
        name=name,
        flavors={},
        resource_usage={},
        count=sum(domains.values()),
        topology_assignment=topology,
    )


def a_workload(
    index: PodIndex | None = SIMPLE, group: str | None = None, **domains: dict[str, int]
) -> Workload:
    request = TopologyRequest(preferred="rack", pod_set_group_name=group)
    sets = tuple(
        PodSet(
            name=name,
            count=sum(there.values()),
            scheduling=Scheduling(requests={}),
            pod_index=index,
            topology_request=request,
        )
        for name, there in domains.items()
    )
    admission = Admission(
        cluster_queue="q",
        pod_set_assignments=tuple(assigned(name, there) for name, there in domains.items()),
    )
    return Workload(
        uid="u",
        namespace="team",
        name="job",
        created_at=0,
        spec=WorkloadSpec(pod_sets=sets),
        admission=admission,
    )


def pod(name: str, rank: int | str | None = None, host: str = "", **fields: object) -> ExecutorPod:
    labels = {} if rank is None else {INDEX: str(rank)}
    seen = ExecutorPod(name=name, labels=labels, values=(host,) if host else ())
    return replace(seen, **fields)


def places(workload: Workload, *pods: ExecutorPod, pod_set: str = "main") -> dict[str, str]:
    return {p.pod: p.values[-1] for p in assign_ranks(workload, pod_set, pods)}


def test_pods_go_to_the_domains_of_their_ranks_whatever_the_order_they_come_in() -> None:
    workload = a_workload(main={"a": 2, "b": 1})

    assert places(workload, pod("p2", 2), pod("p0", 0), pod("p1", 1)) == {
        "p2": "b",
        "p0": "a",
        "p1": "a",
    }


def test_a_place_names_the_node_labels_it_is_found_by() -> None:
    (place,) = assign_ranks(a_workload(main={"a": 1}), "main", [pod("p", 0)])

    assert (place.levels, place.values) == ((HOST,), ("a",))


@pytest.mark.parametrize(
    "pods",
    [
        [pod("x"), pod("y", 0)],
        [pod("x", 0), pod("y", 0)],
        [pod("x", 7), pod("y", 0)],
        [pod("x", "one"), pod("y", 0)],
        [pod("x", "-1"), pod("y", 0)],
        [pod("x", 1, host="a"), pod("y", 0), pod("z", 2)],
    ],
)
def test_domains_are_filled_in_turn_where_ranks_cannot_be_had(pods: list[ExecutorPod]) -> None:
    found = places(a_workload(main={"a": 2, "b": 1}), *pods)
    waiting = [each.name for each in pods if not each.values]
    free = ["a", "b"] if any(each.values for each in pods) else ["a", "a"]

    assert found == dict(zip(waiting, free, strict=True))


def test_ranks_hold_for_pods_that_run_where_they_belong() -> None:
    workload = a_workload(main={"a": 1, "b": 1, "c": 1})

    found = places(workload, pod("p0", 0, host="a"), pod("p2", 2), pod("p1", 1))

    assert found == {"p2": "c", "p1": "b"}


def test_ranks_of_parts_follow_one_another() -> None:
    index = PodIndex(label=INDEX, sub_group_label=JOB, sub_group_count=2)
    workload = a_workload(index, main={"a": 2, "b": 2})
    pods = [
        ExecutorPod(name=f"{job}-{rank}", labels={INDEX: str(rank), JOB: str(job)})
        for job in (1, 0)
        for rank in (1, 0)
    ]

    assert places(workload, *pods) == {"1-1": "b", "1-0": "b", "0-1": "a", "0-0": "a"}


@pytest.mark.parametrize(("rank", "job"), [(0, 2), (2, 0)])
def test_parts_that_cannot_be_are_filled_in_turn(rank: int, job: int) -> None:
    index = PodIndex(label=INDEX, sub_group_label=JOB, sub_group_count=2)
    workload = a_workload(index, main={"a": 1, "b": 3})

    seen = ExecutorPod(name="p", labels={INDEX: str(rank), JOB: str(job)})

    assert places(workload, seen) == {"p": "a"}


def test_workers_of_a_group_are_counted_after_their_leader() -> None:
    workload = a_workload(group="g", leader={"a": 1}, workers={"b": 1, "c": 1})

    assert places(workload, pod("l", 0), pod_set="leader") == {"l": "a"}
    assert places(workload, pod("w2", 2), pod("w1", 1), pod_set="workers") == {
        "w2": "c",
        "w1": "b",
    }


def test_an_offset_shifts_the_indices() -> None:
    workload = a_workload(main={"a": 1, "b": 1})
    shifted = {INDEX_OFFSET: "1"}

    found = places(workload, pod("p2", 2, annotations=shifted), pod("p1", 1))

    assert found == {"p2": "b", "p1": "a"}


def test_an_offset_that_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidObject) as refused:
        places(a_workload(main={"a": 1}), pod("p", 0, annotations={INDEX_OFFSET: "x"}))

    assert [v.pointer for v in refused.value.violations] == [
        "/pods/0/annotations/kueue.x-k8s.io~1pod-index-offset"
    ]


def test_ended_pods_free_capacity_for_their_replacements() -> None:
    workload = a_workload(main={"a": 1, "b": 1})

    found = places(workload, pod("old", 0, host="a", has_ended=True), pod("new", 0))

    assert found == {"new": "a"}


def test_no_pod_is_assigned_to_a_failed_host() -> None:
    workload = replace(a_workload(main={"a": 1, "b": 1}), unhealthy_nodes={"a": "NotReady"})

    assert places(workload, pod("p0", 0), pod("p1", 1)) == {"p1": "b"}


def test_after_a_replacement_only_the_pods_that_lost_their_host_are_placed() -> None:
    workload = a_workload(main={"b": 1, "c": 1})

    found = places(workload, pod("p0", 0), pod("p1", 1, host="b"))

    assert found == {"p0": "c"}


def test_ranks_stay_where_single_pods_have_left_a_gap() -> None:
    whole = a_workload(main={"a": 2, "b": 2, "c": 2})
    left = a_workload(main={"a": 2, "c": 2})
    nodes = {0: "a", 1: "a", 4: "c", 5: "c"}
    layout = AttemptLayout(counts={"main": 6}, nodes={"main": nodes})
    workload = replace(whole, admission=left.admission, layout=layout)

    found = places(workload, pod("p5", 5), pod("p4", 4), pod("p1", 1), pod("p0", 0, host="a"))

    assert found == {"p5": "c", "p4": "c", "p1": "a"}


def test_a_pod_set_without_a_topology_has_no_places() -> None:
    workload = replace(a_workload(main={"a": 1}), admission=None)

    with pytest.raises(NotFound):
        places(workload, pod("p", 0))


@given(
    st.dictionaries(st.sampled_from("abcd"), st.integers(1, 3), min_size=1),
    st.lists(st.tuples(st.none() | st.integers(-1, 9), st.none() | st.sampled_from("abcd"))),
)
def test_no_domain_gets_more_pods_than_it_was_assigned(
    domains: dict[str, int], made: list[tuple[int | None, str | None]]
) -> None:
    pods = [pod(f"p{n}", rank, host=host or "") for n, (rank, host) in enumerate(made)]
    there = {host: sum(each.values == (host,) for each in pods) for host in domains}

    found = list(places(a_workload(main=domains), *pods).values())

    for host, most in domains.items():
        assert found.count(host) <= max(0, most - there[host])
