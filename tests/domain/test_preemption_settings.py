"""What a workload may do and suffer in preemptions, and where that comes from (§6.2, §6.3)."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.domain.kinds.configuration import PreemptionRules, SubmissionRule
from headgate.domain.rejection import InvalidObject
from headgate.domain.workloads.commands import ChangeProtection, ChangeSpec, SetPreemptionGate
from headgate.domain.workloads.commands import Submit as SubmitWorkload
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.predicates import closed_preemption_gates
from headgate.domain.workloads.preemption_events import (
    DivergingPodSet,
    PreemptionGateClosed,
    PreemptionGateOpened,
    PreemptionWithheld,
    PriorityDivergenceCleared,
    PriorityDivergenceObserved,
    ProtectionChanged,
)
from headgate.domain.workloads.priority import diverging_pod_sets, resolve_priority
from headgate.domain.workloads.protection import protection_bound, protection_of
from headgate.domain.workloads.specs import PriorityClassReference, WorkloadSpec
from headgate.domain.workloads.state import is_condition_true
from headgate.domain.workloads.submission_rules import submission_violations
from headgate.messages.catalogue import text_of
from tests.builders.config import by_name
from tests.builders.policies import a_priority_class
from tests.builders.scenario import Scenario, pointers
from tests.builders.workloads import RESERVED, a_pod_set, a_submission, a_workload, a_workload_spec

CLASSES = by_name(
    a_priority_class("lo", 10),
    a_priority_class("hi", 100),
    a_priority_class("shy", 1000, preemption_policy="Never"),
    a_priority_class("bounded", 50, max_protection_delta=20),
)


def of(spec: WorkloadSpec, rules: PreemptionRules | None = None, **how: Any) -> WorkloadSpec:
    return resolve_priority(spec, CLASSES, rules=rules or PreemptionRules(), **how)


def found(spec: WorkloadSpec, **rules: Any) -> tuple[str, str | None]:
    settled = of(spec, PreemptionRules(**rules))
    return settled.preemptibility, settled.preemptibility_source


def test_example_20_the_resolution_table() -> None:
    says = a_workload_spec(priority=125, preemptibility="Preemptible", preemptibility_source="Spec")
    assert found(says, legacy_non_preemptible_from=100) == ("Preemptible", "Spec")
    label = a_workload_spec(
        priority=50, preemptibility="NonPreemptible", preemptibility_source="Label"
    )
    assert found(label, legacy_non_preemptible_from=100) == ("NonPreemptible", "Label")
    silent = a_workload_spec(priority=50)
    assert found(silent, legacy_non_preemptible_from=100) == ("Preemptible", "LegacyPriority")
    high = a_workload_spec(priority=100)
    assert found(high, legacy_non_preemptible_from=100) == ("NonPreemptible", "LegacyPriority")
    assert found(high) == ("Preemptible", "Default")
    assert found(high, default_preemptible=False) == ("NonPreemptible", "Configuration")


def test_a_flipped_default_leaves_existing_workloads_alone() -> None:
    before = of(a_workload_spec(priority=100))
    flipped = PreemptionRules(default_preemptible=False, default_can_preempt=False)
    again = of(a_workload_spec(priority=100), flipped, before=before)
    assert (again.preemptibility, again.can_preempt) == ("Preemptible", True)
    assert (again.preemptibility_source, again.can_preempt_source) == ("Default", "Default")


def test_the_configuration_may_keep_the_silent_from_preempting() -> None:
    rules = PreemptionRules(default_can_preempt=False)
    silent = of(a_workload_spec(), rules)
    assert (silent.can_preempt, silent.can_preempt_source) == (False, "Configuration")
    says = of(a_workload_spec(can_preempt=True, can_preempt_source="Spec"), rules)
    assert says.can_preempt


def test_never_wins_over_whatever_the_workload_says() -> None:
    shy = PriorityClassReference(name="shy")
    wants = a_workload_spec(priority_class=shy, can_preempt=True, can_preempt_source="Spec")
    settled = of(wants)
    assert (settled.can_preempt, settled.can_preempt_source) == (False, "PriorityClass")
    own = of(a_workload_spec(preemption_policy="Never"))
    assert not own.can_preempt


def test_example_19a_protection_below_priority_cannot_be_written() -> None:
    loops = a_workload_spec(
        priority_class=PriorityClassReference(name="hi"), preemption_priority_class_name="lo"
    )
    with pytest.raises(InvalidObject):
        of(loops)


def test_example_19d_protection_above_the_delta_is_refused() -> None:
    wants = a_workload_spec(
        priority_class=PriorityClassReference(name="bounded"), preemption_priority_class_name="hi"
    )
    with pytest.raises(InvalidObject) as refused:
        of(wants)
    assert "maxProtectionDelta 20" in text_of(refused.value.violations[0].message)


def test_protection_may_be_changed_at_any_time_within_its_bounds() -> None:
    story = Scenario(WORKLOAD).given(a_submission(priority=50), RESERVED)
    raised = story.when(ChangeProtection(priority=70, class_name="c", most=20, reason="saving"))
    assert raised == (ProtectionChanged(before=50, after=70, class_name="c", reason="saving"),)
    assert protection_of(story.state.spec) == 70
    assert story.when(ChangeProtection(priority=70, class_name="c", most=20)) == ()
    for wanted in (71, 49):
        story.refuses(ChangeProtection(priority=wanted, class_name="c", most=20), InvalidObject)
    back = story.when(ChangeProtection())
    assert back == (ProtectionChanged(before=70, after=50),)


def test_a_plain_number_needs_a_bound_or_an_admin() -> None:
    story = Scenario(WORKLOAD).given(a_submission(priority=50))
    refused = story.refuses(ChangeProtection(priority=60), InvalidObject)
    assert pointers(refused) == ["/preemptionPriority"]
    story.when(ChangeProtection(priority=60, authority="Admin"))
    assert protection_of(story.state.spec) == 60


def test_the_narrower_of_both_classes_bounds_protection() -> None:
    spec = a_workload_spec(priority_class=PriorityClassReference(name="bounded"))
    assert protection_bound(spec, "hi", CLASSES) == 20
    assert protection_bound(a_workload_spec(), "hi", CLASSES) is None


def test_pods_with_another_priority_are_reported_and_their_workloads_counts() -> None:
    spec = of(a_workload_spec(priority=50, pod_sets=(a_pod_set(priority_class_name="hi"),)))
    diverging = diverging_pod_sets(spec, CLASSES)
    assert diverging == (DivergingPodSet(name="main", priority=100, policy="PreemptLowerPriority"),)
    story = Scenario(WORKLOAD)
    events = story.when(
        SubmitWorkload(uid="u", namespace="team-a", name="t", spec=spec, diverging=diverging)
    )
    assert events[1] == PriorityDivergenceObserved(pod_sets=diverging)
    assert is_condition_true(story.state, "PodsNotMatchingPriority")
    mended = replace(spec, pod_sets=(a_pod_set(),))
    cleared = story.when(ChangeSpec(spec=mended, eviction="e"))
    assert cleared[-1] == PriorityDivergenceCleared()
    assert not is_condition_true(story.state, "PodsNotMatchingPriority")


def test_divergence_is_refused_where_the_configuration_says_so() -> None:
    spec = a_workload_spec(priority=50, pod_sets=(a_pod_set(priority_class_name="hi"),))
    with pytest.raises(InvalidObject) as refused:
        of(spec, PreemptionRules(priority_divergence="Reject"))
    assert pointers(refused.value) == ["/spec/podSets/0/priorityClassName"]


PROTECT = PreemptionRules(priority_divergence="Protect")


def test_the_class_of_a_pod_set_protects_it_where_the_configuration_says_so() -> None:
    """KEP-5710, non-uniform priority (5710-45): above the workload's, as it was at submission."""
    leader, workers = a_pod_set("leader", priority_class_name="hi"), a_pod_set("workers")
    lower = a_pod_set("lower", priority_class_name="lo")
    spec = of(a_workload_spec(priority=50, pod_sets=(leader, workers, lower)), PROTECT)
    assert spec.pod_set_protections == {"leader": 100}
    assert [found.name for found in diverging_pod_sets(spec, CLASSES)] == ["lower"]
    assert of(spec, PreemptionRules(), before=spec) == spec
    without = replace(spec, pod_sets=(a_pod_set("leader"), workers, lower))
    assert of(without, PROTECT, before=spec).pod_set_protections == {}


def test_the_class_of_a_pod_set_protects_it_within_the_bound_of_the_classes() -> None:
    pod_sets = (a_pod_set("leader", priority_class_name="bounded"),)
    assert of(a_workload_spec(priority=30, pod_sets=pod_sets), PROTECT).pod_set_protections
    with pytest.raises(InvalidObject) as refused:
        of(a_workload_spec(priority=29, pod_sets=pod_sets), PROTECT)
    assert pointers(refused.value) == ["/spec/podSets/0/priorityClassName"]


def test_a_tenant_protects_pod_sets_no_farther_than_the_rule_of_submission_allows() -> None:
    spec = of(a_workload_spec(pod_sets=(a_pod_set(priority_class_name="hi"),)), PROTECT)
    for delta, places in ((99, ["/spec/podSets/0/priorityClassName"]), (100, [])):
        bounds = [("submitter", SubmissionRule(max_protection_delta=delta))]
        found = submission_violations(spec, None, bounds, CLASSES)
        assert [violation.pointer for violation in found] == places


def test_the_class_in_a_pod_template_is_compared_too_if_it_is_known() -> None:
    template = {"spec": {"priorityClassName": "hi"}}
    known = a_workload_spec(priority=50, pod_sets=(a_pod_set(template=template),))
    assert [found.priority for found in diverging_pod_sets(known, CLASSES)] == [100]
    assert diverging_pod_sets(known, {}) == ()


def test_every_gate_must_be_opened_and_is_closed_again_by_an_eviction() -> None:
    story = Scenario(WORKLOAD).given(a_submission(preemption_gates=("a", "b")))
    story.given(PreemptionWithheld(gates=("a", "b")))
    assert is_condition_true(story.state, "BlockedOnPreemptionGates")
    opened = story.when(SetPreemptionGate(gate="a", open=True))
    assert opened == (PreemptionGateOpened(gate="a"),)
    assert story.when(SetPreemptionGate(gate="a", open=True)) == ()
    assert (
        closed_preemption_gates(story.state),
        is_condition_true(story.state, "BlockedOnPreemptionGates"),
    ) == (
        ("b",),
        True,
    )
    story.when(SetPreemptionGate(gate="b", open=True))
    assert not is_condition_true(story.state, "BlockedOnPreemptionGates")
    assert story.when(SetPreemptionGate(gate="b", open=False)) == (PreemptionGateClosed(gate="b"),)


def test_a_gate_that_is_not_there_cannot_be_opened() -> None:
    story = Scenario(WORKLOAD).given_state(a_workload())
    refused = story.refuses(SetPreemptionGate(gate="a", open=True), InvalidObject)
    assert pointers(refused) == ["/gate"]
