"""Random valid objects: states of every configured kind, and workload manifests."""

from typing import Any

from hypothesis import strategies as st

from headgate.domain.budgets.specs import DisruptionBudgetSpec
from headgate.domain.checks.specs import AdmissionCheckSpec, CheckParameters
from headgate.domain.configuration.specs import (
    AdmissionFairSharing,
    ConfigurationSpec,
    FairSharing,
    PreemptionRules,
    ResourceRules,
    Retention,
    TopologyRules,
    Transformation,
)
from headgate.domain.configured import Configured
from headgate.domain.limits.specs import LimitRangeItem, LimitRangeSpec, RuntimeClassSpec
from headgate.domain.namespaces.specs import NamespaceSpec
from headgate.domain.priorities.specs import WorkloadPriorityClassSpec
from headgate.domain.queues.specs import (
    AdmissionCheckRule,
    BorrowWithinCohort,
    ClusterQueuePreemption,
    ClusterQueueSpec,
    CohortSpec,
    FlavorFungibility,
    FlavorQuotas,
    LocalQueueSpec,
    MinimumRuntime,
    PreemptionRate,
    RequeuingStrategy,
    ResourceGroup,
    ResourceQuota,
    SoftEviction,
    StopPolicy,
    WaitForPodsReady,
)
from headgate.domain.topology.specs import NodeSpec, ResourceFlavorSpec, TopologySpec
from headgate.domain.values.selectors import LabelSelector, Requirement, Taint, Toleration
from tests.builders.instants import T0

NAMES = st.from_regex(r"[a-z]([a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)
KEYS = st.builds(lambda prefix, name: f"{prefix}{name}", st.sampled_from(["", "a.io/"]), NAMES)
LABELS = st.dictionaries(KEYS, st.one_of(NAMES, st.just("")), max_size=3)
AMOUNTS = st.integers(0, 2**50)
RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
SECONDS = st.integers(1, 10**6)
MAYBE_AMOUNT = st.one_of(st.none(), AMOUNTS)
WEIGHTS = st.integers(0, 10**6)
POLICIES: st.SearchStrategy[StopPolicy] = st.sampled_from(["None", "Hold", "HoldAndDrain"])

SELECTORS = st.builds(
    LabelSelector,
    match_labels=LABELS,
    match_expressions=st.lists(
        st.one_of(
            st.builds(Requirement, key=KEYS, operator=st.sampled_from(["Exists", "DoesNotExist"])),
            st.builds(
                Requirement,
                key=KEYS,
                operator=st.sampled_from(["In", "NotIn"]),
                values=st.tuples(NAMES),
            ),
        ),
        max_size=2,
    ).map(tuple),
)
TAINTS = st.lists(
    st.builds(Taint, key=KEYS, value=NAMES, effect=st.sampled_from(["NoSchedule", "NoExecute"])),
    max_size=3,
    unique_by=lambda taint: (taint.key, taint.effect),
).map(tuple)
WAITS = st.builds(
    WaitForPodsReady,
    timeout_seconds=SECONDS,
    recovery_timeout_seconds=st.one_of(st.none(), st.just(0), SECONDS),
    requeuing_strategy=st.builds(
        RequeuingStrategy,
        timestamp=st.sampled_from(["Eviction", "Creation"]),
        backoff_limit_count=st.one_of(st.none(), st.integers(0, 9)),
        backoff_base_seconds=SECONDS,
        backoff_max_seconds=SECONDS,
        retry_limit_seconds=st.one_of(st.none(), SECONDS),
        reset_after_seconds=st.one_of(st.none(), SECONDS),
    ),
)
TOLERATIONS = st.lists(
    st.one_of(
        st.just(Toleration(operator="Exists")),
        st.builds(Toleration, key=KEYS, value=NAMES, effect=st.sampled_from([None, "NoExecute"])),
    ),
    max_size=3,
).map(tuple)


@st.composite
def groups(draw: st.DrawFn, *, has_parent: bool, lends_more: bool) -> tuple[ResourceGroup, ...]:
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
    parent = draw(st.sampled_from(["", "root"]))
    return CohortSpec(
        parent_name=parent,
        resource_groups=draw(
            st.one_of(st.just(()), groups(has_parent=bool(parent), lends_more=True))
        ),
        fair_weight_milli=draw(WEIGHTS),
        min_runtime=draw(st.sampled_from([MinimumRuntime(), MinimumRuntime(reclaim_seconds=600)])),
    )


_RESOURCE_RULES = st.builds(
    ResourceRules,
    exclude_resource_prefixes=st.lists(NAMES, max_size=2).map(tuple),
    transformations=st.lists(
        st.builds(
            Transformation,
            input=KEYS,
            strategy=st.sampled_from(["Retain", "Replace"]),
            outputs_milli=st.dictionaries(
                st.one_of(KEYS, st.sampled_from(RESOURCES)),
                st.integers(-(10**9), 10**9),
                max_size=2,
            ),
            multiply_by=st.one_of(st.just(""), KEYS),
        ),
        max_size=3,
        unique_by=lambda transformation: transformation.input,
    ).map(tuple),
)


@st.composite
def configuration_specs(draw: st.DrawFn) -> ConfigurationSpec:
    wait = draw(st.one_of(st.none(), WAITS))
    maybe_seconds = st.one_of(st.none(), st.just(0), SECONDS)
    return ConfigurationSpec(
        wait_for_pods_ready=wait,
        block_admission=wait is not None and draw(st.booleans()),
        fair_sharing=draw(
            st.sampled_from(
                [None, FairSharing(), FairSharing(preemption_strategies=("LessThanInitialShare",))]
            )
        ),
        admission_fair_sharing=draw(
            st.one_of(
                st.none(),
                st.builds(
                    AdmissionFairSharing,
                    usage_half_life_seconds=SECONDS,
                    usage_sampling_interval_seconds=SECONDS,
                    resource_weights_milli=st.dictionaries(KEYS, WEIGHTS, max_size=2),
                ),
            )
        ),
        resources=draw(
            st.one_of(
                _RESOURCE_RULES, st.just(ResourceRules(quota_check_strategy="IgnoreUndeclared"))
            )
        ),
        preemption=draw(
            st.builds(
                PreemptionRules,
                default_preemptible=st.sampled_from([None, True, False]),
                legacy_non_preemptible_from=st.one_of(st.none(), st.integers(-9, 9)),
                default_can_preempt=st.booleans(),
                priority_divergence=st.sampled_from(["Report", "Reject"]),
                round_ttl_seconds=SECONDS,
                most_domains=st.integers(1, 99),
                priority_boost=st.booleans(),
            )
        ),
        retention=draw(
            st.builds(
                Retention,
                after_finished_seconds=maybe_seconds,
                after_deactivated_seconds=maybe_seconds,
            )
        ),
        topology=draw(
            st.builds(
                TopologyRules,
                not_ready_seconds=SECONDS,
                replace_failed_nodes=st.booleans(),
                fail_fast=st.booleans(),
            )
        ),
        quota_release=draw(st.sampled_from(["OnStopped", "OnTerminating"])),
    )


_ROOM = st.dictionaries(st.sampled_from(RESOURCES), AMOUNTS, max_size=3)
_SPECS: dict[str, st.SearchStrategy[Any]] = {
    "ClusterQueue": cluster_queue_specs(),
    "LocalQueue": st.builds(
        LocalQueueSpec, cluster_queue=NAMES, stop_policy=POLICIES, fair_weight_milli=WEIGHTS
    ),
    "Cohort": cohort_specs(),
    "ResourceFlavor": st.builds(
        ResourceFlavorSpec, node_labels=LABELS, node_taints=TAINTS, tolerations=TOLERATIONS
    ),
    "Topology": st.builds(
        TopologySpec, levels=st.lists(KEYS, min_size=1, max_size=4, unique=True).map(tuple)
    ),
    "Node": st.builds(
        NodeSpec,
        taints=TAINTS,
        unschedulable=st.booleans(),
        ready=st.booleans(),
        allocatable=_ROOM,
        used_by_others=_ROOM,
    ),
    "WorkloadPriorityClass": st.builds(
        WorkloadPriorityClassSpec,
        value=st.integers(-(2**31), 2**31 - 1),
        description=st.text(alphabet="äöü words: {}", max_size=20),
        global_default=st.booleans(),
        preemption_policy=st.sampled_from(["PreemptLowerPriority", "Never"]),
        max_protection_delta=st.one_of(st.none(), st.integers(0, 9)),
    ),
    "AdmissionCheck": st.builds(
        AdmissionCheckSpec,
        controller_name=NAMES,
        parameters=st.one_of(
            st.none(), st.builds(CheckParameters, api_group=NAMES, kind=NAMES, name=NAMES)
        ),
        active=st.booleans(),
    ),
    "DisruptionBudget": st.builds(
        DisruptionBudgetSpec,
        selector=SELECTORS,
        unit=st.sampled_from(["Workload", "Pod"]),
        max_unavailable=st.integers(0, 9),
        enforcement=st.sampled_from(["BestEffort", "Strict"]),
    ),
    "LimitRange": st.builds(
        LimitRangeSpec,
        limits=st.lists(st.builds(LimitRangeItem, type=st.just("Pod"), max=_ROOM), max_size=2).map(
            tuple
        ),
    ),
    "RuntimeClass": st.builds(RuntimeClassSpec, handler=NAMES, overhead=_ROOM),
    "Namespace": st.just(NamespaceSpec()),
    "Configuration": configuration_specs(),
}


@st.composite
def configured_objects(draw: st.DrawFn) -> tuple[str, Configured[Any]]:
    """A kind, and an object of it as it may stand."""
    kind = draw(st.sampled_from(sorted(_SPECS)))
    state: Configured[Any] = Configured(
        name="default" if kind == "Configuration" else draw(NAMES),
        namespace=draw(NAMES) if kind in {"LocalQueue", "DisruptionBudget", "LimitRange"} else "",
        uid=draw(NAMES),
        labels=draw(LABELS),
        annotations=draw(
            st.dictionaries(KEYS, st.text(alphabet="ab \n:#", max_size=9), max_size=2)
        ),
        created_at=T0,
        generation=draw(st.integers(1, 9)),
        spec=draw(_SPECS[kind]),
    )
    return kind, state


_QUANTITIES = st.sampled_from([1, "2", "500m", 0.25, "4Gi", "1e3", "100u"])
_CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={
            "resources": st.fixed_dictionaries(
                {"requests": st.dictionaries(st.sampled_from(RESOURCES), _QUANTITIES, max_size=3)}
            ),
            "image": NAMES,
            "args": st.lists(st.text(alphabet="-xyz ", max_size=5), max_size=2),
        },
    ),
    min_size=1,
    max_size=3,
)


@st.composite
def workload_manifests(draw: st.DrawFn) -> dict[str, Any]:
    """A Workload manifest that breaks no rule."""
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    size = draw(st.integers(1, 4))
    topologies: list[dict[str, Any] | None] = [
        None,
        {"required": "a.io/rack"},
        {"preferred": "rack", "balanced": True},
        {"unconstrained": True},
        {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": size},
        {
            "podsetSliceRequiredTopologyConstraints": [
                {"topology": "block", "size": 2 * size},
                {"topology": "rack", "size": size},
            ]
        },
    ]
    pod_sets = [
        {
            "name": name,
            "count": 4 * size,
            "template": {
                "metadata": {"labels": draw(LABELS)},
                "spec": {
                    "containers": draw(_CONTAINERS),
                    "initContainers": draw(_CONTAINERS),
                    "nodeSelector": draw(LABELS),
                },
            },
            "topologyRequest": draw(st.sampled_from(topologies)),
            "disruptionMode": draw(st.sampled_from(["All", "Single"])),
        }
        for name in names
    ]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": draw(NAMES), "namespace": draw(NAMES), "labels": draw(LABELS)},
        "spec": {
            "podSets": pod_sets,
            "queueName": draw(NAMES),
            "priority": draw(st.integers(-9, 9)),
            "preemptibility": draw(st.sampled_from(["Preemptible", "NonPreemptible"])),
            "canPreempt": draw(st.booleans()),
            "preemptionPolicy": draw(st.sampled_from(["PreemptLowerPriority", "Never"])),
            "preemptionGates": draw(st.sampled_from([[], [{"name": "a.io/b"}]])),
            "evictionPolicy": draw(
                st.sampled_from(
                    [
                        None,
                        {"mode": "Immediate"},
                        {"gracePeriodSeconds": 5, "requireAck": True, "handler": "h"},
                    ]
                )
            ),
            "active": draw(st.booleans()),
            "maximumExecutionTimeSeconds": draw(st.one_of(st.none(), SECONDS)),
        },
    }
