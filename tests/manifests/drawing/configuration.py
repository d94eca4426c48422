"""Random specs of the Configuration."""

from hypothesis import strategies as st

from headgate.domain.kinds.configuration import (
    AdmissionFairSharing,
    ConfigurationSpec,
    FairSharing,
    PreemptionRules,
    ResourceRules,
    Retention,
    Transformation,
)
from headgate.domain.kinds.topology import TopologyRules
from tests.manifests.drawing.values import KEYS, NAMES, RESOURCES, SECONDS, WAITS, WEIGHTS

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


_TOPOLOGY_RULES = st.builds(
    TopologyRules,
    not_ready_seconds=SECONDS,
    replace_failed_nodes=st.booleans(),
    fail_fast=st.booleans(),
    node_feasibility_for_all_levels=st.booleans(),
    partial_slices=st.booleans(),
    grouped_pod_set_slicing=st.booleans(),
    unknown_level=st.sampled_from(("Wait", "Deactivate")),
    mixed_requests=st.sampled_from(("Admit", "Deactivate")),
)


@st.composite
def configuration_specs(draw: st.DrawFn) -> ConfigurationSpec:
    """A Configuration of which any part may be set."""
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
        topology=draw(_TOPOLOGY_RULES),
        quota_release=draw(st.sampled_from(["OnStopped", "OnTerminating"])),
    )
