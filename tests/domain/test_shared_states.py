"""Workloads share what equals, and are equal to what they would be without that."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.domain.kinds.configured_object import Absent
from headgate.domain.workloads.admission import TopologyAssignment, TopologyDomain
from headgate.domain.workloads.events import (
    WorkloadQuotaReserved,
    WorkloadSpecChanged,
    WorkloadSubmitted,
)
from headgate.domain.workloads.evolve import evolve
from headgate.domain.workloads.specs import NO_ENTRIES, PodSet, Scheduling, WorkloadSpec
from headgate.domain.workloads.state import Workload, with_shared_parts
from headgate.event_log.codec import decode, encode
from tests.builders.instants import T0
from tests.builders.mixes import TEMPLATES, Mix, a_submission_of, an_admission_of

TEXTS = st.dictionaries(st.sampled_from(["team", "run"]), st.sampled_from(["a", "b"]))
POD_SETS = st.builds(
    PodSet,
    count=st.integers(1, 2),
    scheduling=st.builds(
        Scheduling,
        requests=st.dictionaries(st.sampled_from(["cpu", "gpu"]), st.integers(1, 2)),
        node_selector=TEXTS,
    ),
    template=st.fixed_dictionaries({"metadata": st.fixed_dictionaries({"labels": TEXTS})}),
    written=st.sampled_from(["", "0a", "0b"]),
)
SUBMISSIONS = st.builds(
    WorkloadSubmitted,
    uid=st.just("u"),
    namespace=st.sampled_from(["n", "m"]),
    name=st.just("w"),
    labels=TEXTS,
    annotations=TEXTS,
    spec=st.builds(
        WorkloadSpec,
        pod_sets=st.lists(POD_SETS, min_size=1, max_size=2).map(tuple),
        queue_name=st.sampled_from(["", "q"]),
        priority=st.integers(0, 1),
    ),
)


def as_read(event: Any) -> Any:
    """An event as it is decoded from the log: no part of it is another's."""
    return decode(*encode(event))


def folded(*events: Any) -> Workload:
    state: Any = Absent()
    for event in events:
        state = evolve(state, as_read(event), T0)
    assert isinstance(state, Workload)
    return state


@given(SUBMISSIONS, SUBMISSIONS)
def test_workloads_are_as_submitted_and_share_a_spec_exactly_if_it_is_written_alike(
    one: WorkloadSubmitted, other: WorkloadSubmitted
) -> None:
    first, second = folded(one), folded(other)
    for event, found in ((one, first), (other, second)):
        assert replace(event, uid="") == WorkloadSubmitted(
            uid="",
            namespace=found.namespace,
            name=found.name,
            labels=found.labels,
            annotations=found.annotations,
            spec=found.spec,
        )
        assert list(found.labels) == list(event.labels), "in the order in which they were written"
    is_alike = repr(one.spec) == repr(other.spec)
    assert (first.spec is second.spec) == is_alike
    assert NO_ENTRIES == {}, "no state is ever changed in place"


def test_pod_sets_that_differ_in_unread_fields_share_what_is_read() -> None:
    first, _ = a_submission_of("unique", 3, "lq")
    later, _ = a_submission_of("unique", 3 + 4 * TEMPLATES["unique"], "lq")
    (left,), (right,) = folded(first).spec.pod_sets, folded(later).spec.pod_sets
    assert left.written != right.written
    assert left.template is right.template
    assert left.scheduling is right.scheduling


def test_a_changed_spec_is_shared_with_workloads_submitted_with_it() -> None:
    first, _ = a_submission_of("training", 1, "lq")
    second, _ = a_submission_of("training", 2, "lq")
    changed = folded(first, WorkloadSpecChanged(labels=second.labels, spec=second.spec))
    submitted = folded(second)
    assert changed.spec is submitted.spec
    assert changed.labels is submitted.labels
    assert changed.generation == 2


def test_equal_admissions_are_shared_but_those_with_hosts() -> None:
    first, second = (a_submission_of("training", n, "lq")[0] for n in (3, 3 + 640))
    plain = an_admission_of(first, "lq")
    one, other = (folded(each, WorkloadQuotaReserved(admission=plain)) for each in (first, second))
    assert one.admission == plain
    assert one.admission is other.admission

    hosts = TopologyAssignment(levels=("rack",), domains=(TopologyDomain(("r1",), 1),))
    (given,) = plain.pod_set_assignments
    placed = replace(plain, pod_set_assignments=(replace(given, topology_assignment=hosts),))
    one, other = (folded(each, WorkloadQuotaReserved(admission=placed)) for each in (first, second))
    assert one.admission == other.admission == placed
    assert one.admission is not other.admission


def test_a_decoded_workload_shares_what_a_folded_one_has() -> None:
    mix: Mix = "training"
    workload = folded(a_submission_of(mix, 5, "lq")[0])
    (copied,) = (replace(workload, spec=as_read(a_submission_of(mix, 5, "lq")[0]).spec),)
    assert copied.spec is not workload.spec
    shared = with_shared_parts(replace(copied, labels=dict(copied.labels), check_states={}))
    assert shared == workload
    assert shared.spec is workload.spec
    assert shared.labels is workload.labels
    assert shared.check_states is NO_ENTRIES
