"""Where priorities come from."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.domain.kinds.priority_classes import MAX_PRIORITY
from headgate.domain.object_set import ObjectSet
from headgate.domain.rejection import InvalidObject
from headgate.domain.workloads.priority import resolve_priority
from headgate.domain.workloads.specs import PriorityClassReference, WorkloadSpec
from tests.builders.config import by_name
from tests.builders.policies import a_priority_class
from tests.builders.scenario import pointers
from tests.builders.workloads import a_pod_set, a_workload_spec

CLASSES = by_name(a_priority_class("low", 10), a_priority_class("high", 100))
HIGH = PriorityClassReference(name="high")


def of(spec: WorkloadSpec, classes: Any = CLASSES, **how: Any) -> WorkloadSpec:
    return resolve_priority(spec, classes, **how)


def refusal(spec: WorkloadSpec, classes: Any = CLASSES) -> list[str]:
    with pytest.raises(InvalidObject) as refused:
        resolve_priority(spec, classes)
    return pointers(refused.value)


def test_a_named_class_gives_the_priority_whatever_number_stands_there() -> None:
    spec = a_workload_spec(priority_class=HIGH, priority=7)
    assert of(spec).priority == 100


def test_a_stated_number_counts_without_a_class() -> None:
    assert of(a_workload_spec(priority=7), has_explicit_priority=True).priority == 7


def test_nothing_stated_means_the_global_default_class() -> None:
    classes = {**CLASSES, **by_name(a_priority_class("usual", 50, global_default=True))}
    spec = of(a_workload_spec(), classes, has_explicit_priority=False)
    assert (spec.priority, spec.priority_class) == (50, PriorityClassReference(name="usual"))


def test_of_two_global_defaults_the_lowest_counts() -> None:
    classes = by_name(
        a_priority_class("a", 70, global_default=True),
        a_priority_class("b", 50, global_default=True),
    )
    assert of(a_workload_spec(), classes, has_explicit_priority=False).priority == 50


def test_nothing_at_all_means_0() -> None:
    assert of(a_workload_spec(), {}, has_explicit_priority=False).priority == 0


def test_an_unknown_class_is_told_together_with_all_other_broken_rules() -> None:
    spec = a_workload_spec(
        priority_class=PriorityClassReference(name="absent"),
        preemption_priority_class_name="missing",
        pod_sets=(a_pod_set(count=-1),),
    )
    assert refusal(spec) == [
        "/spec/priorityClassRef/name",
        "/spec/preemptionPriorityClassName",
        "/spec/podSets/0/count",
    ]


def test_the_critical_classes_of_the_system_need_not_be_created() -> None:
    """KEP-5710: the two highest priorities, the first above the second (5710-6)."""
    config = ObjectSet(workload_priority_classes=dict(CLASSES))
    named = [
        of(
            a_workload_spec(priority_class=PriorityClassReference(name=name)),
            config.priority_classes,
        ).priority
        for name in ("system-node-critical", "system-cluster-critical", "high")
    ]
    assert named == [MAX_PRIORITY, MAX_PRIORITY - 1, 100]
    own = by_name(a_priority_class("system-node-critical", 7))
    config = ObjectSet(workload_priority_classes=own)
    spec = a_workload_spec(priority_class=PriorityClassReference(name="system-node-critical"))
    assert of(spec, config.priority_classes).priority == 7


def test_protection_is_never_below_priority() -> None:
    spec = a_workload_spec(priority_class=HIGH, preemption_priority_class_name="low")
    assert refusal(spec) == ["/spec/preemptionPriorityClassName"]


def test_protection_may_be_above_priority_as_far_as_the_class_allows() -> None:
    low = PriorityClassReference(name="low")
    spec = a_workload_spec(priority_class=low, preemption_priority_class_name="high")
    assert of(spec).preemption_priority == 100
    strict = {**CLASSES, **by_name(a_priority_class("low", 10, max_protection_delta=20))}
    assert refusal(spec, strict) == ["/spec/preemptionPriorityClassName"]
    wide = {**CLASSES, **by_name(a_priority_class("low", 10, max_protection_delta=90))}
    assert of(spec, wide).preemption_priority == 100


def test_a_class_that_never_preempts_overrides_the_wish_to() -> None:
    shy = by_name(a_priority_class("high", 100, preemption_policy="Never"))
    spec = a_workload_spec(priority_class=HIGH, can_preempt=True)
    assert not of(spec, shy).can_preempt
    assert not of(replace(spec, can_preempt=False)).can_preempt


def test_a_change_of_another_field_takes_no_other_value_of_the_class() -> None:
    before = of(a_workload_spec(priority_class=HIGH))
    edited = by_name(a_priority_class("high", 999))
    wanted = a_workload_spec(priority_class=HIGH)
    assert of(wanted, edited, before=before, has_explicit_priority=False) == before


def test_a_deleted_class_does_not_block_changes_of_its_workloads() -> None:
    before = of(a_workload_spec(priority_class=HIGH))
    wanted = a_workload_spec(priority_class=HIGH, queue_name="other")
    assert of(wanted, {}, before=before).priority == 100


def test_naming_another_class_takes_its_present_value() -> None:
    before = of(a_workload_spec(priority_class=HIGH))
    wanted = a_workload_spec(priority_class=PriorityClassReference(name="low"))
    assert of(wanted, before=before).priority == 10


def test_stating_another_number_changes_it() -> None:
    before = a_workload_spec(priority=7)
    assert of(a_workload_spec(priority=9), before=before, has_explicit_priority=True).priority == 9
    assert of(a_workload_spec(), before=before, has_explicit_priority=False).priority == 7
