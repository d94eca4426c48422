"""Random specs of ClusterQueues and Cohorts."""

from hypothesis import strategies as st

from headgate.domain.kinds.cluster_queue import (
    AdmissionCheckRule,
    ClusterQueueSpec,
    CohortSpec,
    FlavorFungibility,
)
from headgate.domain.kinds.queue_settings import (
    BorrowWithinCohort,
    ClusterQueuePreemption,
    FlavorQuotas,
    MinimumRuntime,
    PreemptionRate,
    ResourceGroup,
    ResourceQuota,
    SoftEviction,
)
from tests.manifests.drawing.values import (
    AMOUNTS,
    MAYBE_AMOUNT,
    NAMES,
    POLICIES,
    RESOURCES,
    SELECTORS,
    WAITS,
    WEIGHTS,
)


@st.composite
def groups(draw: st.DrawFn, *, has_parent: bool, lends_more: bool) -> tuple[ResourceGroup, ...]:
    """The quotas of a queue or a cohort; one without a parent neither borrows nor lends."""
    flavors = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    covered = draw(st.sampled_from([RESOURCES[:1], RESOURCES[:2], RESOURCES]))

    def quota(name: str) -> ResourceQuota:
        nominal = draw(AMOUNTS)
        most = 2**51 if lends_more else nominal
        lending = draw(st.one_of(st.none(), st.integers(0, most))) if has_parent else None
        borrowing = draw(MAYBE_AMOUNT) if has_parent else None
        return ResourceQuota(
            name=name, nominal_quota=nominal, borrowing_limit=borrowing, lending_limit=lending
        )

    return (
        ResourceGroup(
            covered_resources=covered,
            flavors=tuple(
                FlavorQuotas(name=flavor, resources=tuple(quota(name) for name in covered))
                for flavor in flavors
            ),
        ),
    )


@st.composite
def cluster_queue_specs(draw: st.DrawFn) -> ClusterQueueSpec:
    """A ClusterQueue, alone or in a cohort."""
    cohort = draw(st.sampled_from(["", "all"]))
    resource_groups = draw(groups(has_parent=bool(cohort), lends_more=False))
    flavors = [flavor.name for flavor in resource_groups[0].flavors]
    check = st.builds(
        AdmissionCheckRule, name=NAMES, on_flavors=st.sampled_from([(), tuple(flavors)])
    )
    return ClusterQueueSpec(
        resource_groups=resource_groups,
        cohort_name=cohort,
        queueing_strategy=draw(st.sampled_from(["StrictFIFO", "BestEffortFIFO"])),
        namespace_selector=draw(st.one_of(st.none(), SELECTORS)),
        flavor_fungibility=draw(
            st.sampled_from(
                [
                    FlavorFungibility(),
                    FlavorFungibility(
                        when_can_borrow="TryNextFlavor", preference="PreemptionOverBorrowing"
                    ),
                ]
            )
        ),
        preemption=draw(
            st.sampled_from(
                [
                    ClusterQueuePreemption(),
                    ClusterQueuePreemption(
                        within_cluster_queue="LowerOrNewerEqualPriority",
                        reclaim_within_cohort="Any",
                        order_profile="PriorityFirst",
                        min_runtime=MinimumRuntime(preempt_seconds=90),
                        soft_eviction=SoftEviction(default="Soft", max_grace_seconds=60),
                        reserve_for_pending_non_preemptible=True,
                        rate_limit=PreemptionRate(per_minute=3, burst=2),
                        borrow_within_cohort=BorrowWithinCohort(
                            policy="LowerPriority", max_priority_threshold=-7
                        ),
                    ),
                ]
            )
        ),
        admission_checks=draw(
            st.lists(check, max_size=2, unique_by=lambda rule: rule.name).map(tuple)
        ),
        stop_policy=draw(POLICIES),
        fair_weight_milli=draw(WEIGHTS),
        admission_mode=draw(st.sampled_from([None, "NoAdmissionFairSharing"])),
        wait_for_pods_ready=draw(st.one_of(st.none(), WAITS)),
    )


@st.composite
def cohort_specs(draw: st.DrawFn) -> CohortSpec:
    """A Cohort, with a parent or without."""
    parent = draw(st.sampled_from(["", "root"]))
    return CohortSpec(
        parent_name=parent,
        resource_groups=draw(
            st.one_of(st.just(()), groups(has_parent=bool(parent), lends_more=True))
        ),
        fair_weight_milli=draw(WEIGHTS),
        min_runtime=draw(st.sampled_from([MinimumRuntime(), MinimumRuntime(reclaim_seconds=600)])),
    )
