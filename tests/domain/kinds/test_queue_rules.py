"""Rules for the specs of ClusterQueues, LocalQueues and Cohorts."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.domain.kinds.cluster_queue import (
    CLUSTER_QUEUE,
    COHORT,
    AdmissionCheckRule,
    CohortSpec,
    FlavorFungibility,
    cluster_queue_violations,
    cohort_violations,
)
from headgate.domain.kinds.local_queue import LOCAL_QUEUE, LocalQueueSpec, local_queue_violations
from headgate.domain.kinds.object_commands import Change, Create
from headgate.domain.kinds.queue_settings import (
    BorrowWithinCohort,
    ClusterQueuePreemption,
    FlavorQuotas,
    ResourceGroup,
)
from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, WaitForPodsReady
from headgate.domain.rejection import InvalidObject
from headgate.domain.values.selectors import LabelSelector, Requirement
from headgate.messages.catalogue import text_of
from tests.builders.queues import (
    a_cluster_queue,
    a_cluster_queue_spec,
    a_group,
    a_group_with,
    a_local_queue,
    a_quota,
)
from tests.builders.scenario import Scenario, pointers

QUOTA = "/spec/resourceGroups/0/flavors/0/resources/0"
CHECKS = "/spec/admissionChecksStrategy/admissionChecks"


def found(**fields: Any) -> list[str]:
    return [v.pointer for v in cluster_queue_violations(a_cluster_queue_spec(**fields))]


def with_quota(cohort_name: str = "all", **fields: Any) -> list[str]:
    return found(cohort_name=cohort_name, resource_groups=(a_group_with(a_quota(**fields)),))


def test_a_usual_cluster_queue_breaks_no_rule() -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"nominal_quota": -1}, f"{QUOTA}/nominalQuota"),
        ({"borrowing_limit": -1}, f"{QUOTA}/borrowingLimit"),
        ({"lending_limit": -1}, f"{QUOTA}/lendingLimit"),
        ({"lending_limit": 10_001}, f"{QUOTA}/lendingLimit"),
        ({"borrowing_limit": 1, "cohort_name": ""}, f"{QUOTA}/borrowingLimit"),
        ({"lending_limit": 1, "cohort_name": ""}, f"{QUOTA}/lendingLimit"),
    ],
)
def test_a_quota_is_held_to_its_limits(fields: dict[str, Any], pointer: str) -> None:
    assert with_quota(**fields) == [pointer]


def test_limits_up_to_the_nominal_quota_are_fine_in_a_cohort() -> None:
    assert with_quota(borrowing_limit=0, lending_limit=10_000) == []


def test_a_cohort_may_lend_more_than_its_nominal_quota() -> None:
    group = a_group_with(a_quota(lending_limit=99_999))
    spec = CohortSpec(parent_name="root", resource_groups=(group,))
    assert cohort_violations(spec) == ()


def test_a_cohort_without_parent_has_no_limits() -> None:
    spec = CohortSpec(resource_groups=(a_group_with(a_quota(borrowing_limit=1)),))
    assert [v.pointer for v in cohort_violations(spec)] == [f"{QUOTA}/borrowingLimit"]


def test_a_resource_belongs_to_one_group() -> None:
    groups = (a_group("a", cpu=1), a_group("b", cpu=1))
    assert found(resource_groups=groups) == ["/spec/resourceGroups/1/coveredResources/0"]


def test_a_flavor_belongs_to_one_group() -> None:
    groups = (a_group("a", cpu=1), a_group("a", memory=1))
    assert found(resource_groups=groups) == ["/spec/resourceGroups/1/flavors/0/name"]


def test_every_flavor_lists_the_covered_resources_in_their_order() -> None:
    flavor = FlavorQuotas(name="a", resources=(a_quota("memory"), a_quota("cpu")))
    group = ResourceGroup(covered_resources=("cpu", "memory"), flavors=(flavor,))
    assert found(resource_groups=(group,)) == ["/spec/resourceGroups/0/flavors/0/resources"]


def test_a_group_has_a_resource_and_a_flavor() -> None:
    group = ResourceGroup(covered_resources=(), flavors=())
    assert found(resource_groups=(group,)) == [
        "/spec/resourceGroups/0/coveredResources",
        "/spec/resourceGroups/0/flavors",
    ]


def test_there_are_at_most_16_groups() -> None:
    groups = tuple(a_group(f"f{i}", **{f"r{i}": 1}) for i in range(17))
    assert found(resource_groups=groups[:16]) == []
    assert found(resource_groups=groups) == ["/spec/resourceGroups"]


def test_a_group_has_at_most_64_flavors() -> None:
    assert found(resource_groups=(a_group(*(f"f{i}" for i in range(64))),)) == []
    many = a_group(*(f"f{i}" for i in range(65)))
    assert found(resource_groups=(many,)) == ["/spec/resourceGroups/0/flavors"]


def test_a_group_has_at_most_512_quotas() -> None:
    resources = {f"r{i}": 1 for i in range(9)}
    group = a_group(*(f"f{i}" for i in range(57)), **resources)
    assert found(resource_groups=(group,)) == ["/spec/resourceGroups/0"]


def test_all_groups_together_have_at_most_256_flavors() -> None:
    groups = tuple(a_group(*(f"f{g}-{i}" for i in range(52)), **{f"r{g}": 1}) for g in range(5))
    assert found(resource_groups=groups) == ["/spec/resourceGroups"]


def test_a_preference_needs_both_policies_to_try_the_next_flavor() -> None:
    preference = FlavorFungibility(preference="PreemptionOverBorrowing")
    assert found(flavor_fungibility=preference) == ["/spec/flavorFungibility/preference"]
    both = replace(preference, when_can_borrow="TryNextFlavor")
    assert found(flavor_fungibility=both) == []


def test_preempting_while_borrowing_needs_reclaiming() -> None:
    borrow = ClusterQueuePreemption(borrow_within_cohort=BorrowWithinCohort(policy="LowerPriority"))
    assert found(preemption=borrow) == ["/spec/preemption/borrowWithinCohort/policy"]
    assert found(preemption=replace(borrow, reclaim_within_cohort="Any")) == []


def test_checks_are_named_once_and_at_most_64_times() -> None:
    twice = (AdmissionCheckRule(name="a"), AdmissionCheckRule(name="a"))
    assert found(admission_checks=twice) == [f"{CHECKS}/1/name"]
    many = tuple(AdmissionCheckRule(name=f"c{i}") for i in range(65))
    assert found(admission_checks=many) == [CHECKS]


def test_a_check_names_at_most_64_flavors() -> None:
    check = AdmissionCheckRule(name="a", on_flavors=tuple(f"f{i}" for i in range(65)))
    assert found(admission_checks=(check,)) == [f"{CHECKS}/0/onFlavors"]


def test_a_new_queue_names_only_its_own_flavors_in_checks() -> None:
    spec = a_cluster_queue_spec(
        admission_checks=(AdmissionCheckRule(name="a", on_flavors=("default", "spot")),)
    )
    refusal = Scenario(CLUSTER_QUEUE).refuses(Create(uid="u", name="q", spec=spec), InvalidObject)
    assert pointers(refusal) == [f"{CHECKS}/0/onFlavors/1"]


def test_an_old_list_of_unknown_flavors_passes_until_it_or_the_flavors_change() -> None:
    check = AdmissionCheckRule(name="a", on_flavors=("gone",))
    queue = a_cluster_queue(admission_checks=(check,))
    story = Scenario(CLUSTER_QUEUE).given_state(queue)
    assert story.when(Change(spec=replace(queue.spec, queueing_strategy="StrictFIFO")))
    other = replace(queue.spec, resource_groups=(a_group("other"),))
    assert pointers(story.refuses(Change(spec=other), InvalidObject)) == [f"{CHECKS}/0/onFlavors/0"]


@pytest.mark.parametrize(
    ("requirement", "field"),
    [
        (Requirement(key="a", operator="In"), "values"),
        (Requirement(key="a", operator="Exists", values=("x",)), "values"),
        (Requirement(key="-", operator="Exists"), "key"),
        (Requirement(key="a", operator="Gt", values=("1",)), "operator"),
    ],
)
def test_a_namespace_selector_is_well_formed(requirement: Requirement, field: str) -> None:
    selector = LabelSelector(match_expressions=(requirement,))
    place = "/spec/namespaceSelector/matchExpressions/0"
    assert found(namespace_selector=selector) == [f"{place}/{field}"]


def test_a_weight_is_not_negative() -> None:
    assert found(fair_weight_milli=-1) == ["/spec/fairSharing/weight"]
    assert found(fair_weight_milli=0) == []


def test_lengths_of_waiting_are_not_negative() -> None:
    wait = WaitForPodsReady(
        recovery_timeout_seconds=-1,
        requeuing_strategy=RequeuingStrategy(backoff_limit_count=-1, backoff_base_seconds=-1),
    )
    assert found(wait_for_pods_ready=wait) == [
        "/spec/waitForPodsReady/recoveryTimeout",
        "/spec/waitForPodsReady/requeuingStrategy/backoffLimitCount",
        "/spec/waitForPodsReady/requeuingStrategy/backoffBaseSeconds",
    ]


def test_references_are_names() -> None:
    assert found(cohort_name="No!") == ["/spec/cohortName"]
    spec = LocalQueueSpec(cluster_queue="No!", fair_weight_milli=-1)
    assert [v.pointer for v in local_queue_violations(spec)] == [
        "/spec/clusterQueue",
        "/spec/fairSharing/weight",
    ]
    refusal = Scenario(COHORT).refuses(
        Create(uid="u", name="c", spec=CohortSpec(parent_name="No!")), InvalidObject
    )
    assert pointers(refusal) == ["/spec/parentName"]


def test_a_local_queue_leads_to_one_cluster_queue_permanently() -> None:
    story = Scenario(LOCAL_QUEUE).given_state(a_local_queue())
    change = Change(spec=LocalQueueSpec(cluster_queue="other"))
    assert pointers(story.refuses(change, InvalidObject)) == ["/spec/clusterQueue"]


def test_a_negative_amount_or_weight_is_told_as_it_was_written() -> None:
    """Rules count millicores and thousandths; a user wrote neither."""
    quota = replace(a_quota(), nominal_quota=-1_500, borrowing_limit=-1_000)
    group = ResourceGroup(
        covered_resources=(quota.name,), flavors=(FlavorQuotas(name="f", resources=(quota,)),)
    )
    spec = a_cluster_queue_spec(resource_groups=(group,), cohort_name="c", fair_weight_milli=-2_500)
    broken = cluster_queue_violations(spec)
    assert {each.pointer.rpartition("/")[2]: text_of(each.message) for each in broken} == {
        "nominalQuota": "Must be at least 0; got -1.5 CPU",
        "borrowingLimit": "Must be at least 0; got -1 CPU",
        "weight": "Must be at least 0; got -2.5",
    }
