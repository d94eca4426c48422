"""The manifest of the Configuration, in Kueue's form and in ours."""

from typing import Any

import msgspec
import pytest

from headgate.adapters.manifests.parse import Desired, parse
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
from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, WaitForPodsReady
from tests.manifests.readers import a_manifest, read, refused

OURS = "headgate.dev/v1"
KUEUES_FILE = b"""
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: ":8081"}
manageJobsWithoutQueueName: false
integrations: {frameworks: [batch/job]}
waitForPodsReady:
  timeout: 10m
  recoveryTimeout: 3m
  blockAdmission: true
  requeuingStrategy: {timestamp: Creation, backoffLimitCount: 5, backoffBaseSeconds: 10}
fairSharing:
  preemptionStrategies: [LessThanInitialShare]
admissionFairSharing:
  usageHalfLifeTime: 168h
  usageSamplingInterval: 1m
  resourceWeights: {cpu: 2.0, memory: 0.5}
resources:
  excludeResourcePrefixes: [networking.example.com/]
  transformations:
  - input: nvidia.com/mig-1g.5gb
    strategy: Replace
    outputs: {example.com/accelerator-memory: 5Gi, example.com/credits: "0.25"}
  - {input: cpu, multiplyBy: nodes, outputs: {example.com/cores: 1}}
objectRetentionPolicies:
  workloads: {afterFinished: 0s, afterDeactivatedByKueue: 1h}
"""


def test_a_file_of_kueues_is_read_as_it_is() -> None:
    (found,) = parse(KUEUES_FILE)
    assert isinstance(found, Desired), found
    assert (found.kind, found.name) == ("Configuration", "default")
    assert found.spec == ConfigurationSpec(
        wait_for_pods_ready=WaitForPodsReady(
            timeout_seconds=600,
            recovery_timeout_seconds=180,
            requeuing_strategy=RequeuingStrategy(
                timestamp="Creation", backoff_limit_count=5, backoff_base_seconds=10
            ),
        ),
        block_admission=True,
        fair_sharing=FairSharing(preemption_strategies=("LessThanInitialShare",)),
        admission_fair_sharing=AdmissionFairSharing(
            usage_half_life_seconds=168 * 3600,
            usage_sampling_interval_seconds=60,
            resource_weights_milli={"cpu": 2000, "memory": 500},
        ),
        resources=ResourceRules(
            exclude_resource_prefixes=("networking.example.com/",),
            transformations=(
                Transformation(
                    input="nvidia.com/mig-1g.5gb",
                    strategy="Replace",
                    outputs_milli={
                        "example.com/accelerator-memory": 5 * 2**30 * 1000,
                        "example.com/credits": 250,
                    },
                ),
                Transformation(
                    input="cpu", multiply_by="nodes", outputs_milli={"example.com/cores": 1000}
                ),
            ),
        ),
        retention=Retention(after_finished_seconds=0, after_deactivated_seconds=3600),
    )


def test_our_own_fields_stand_beside_kueues() -> None:
    spec = {
        "preemption": {
            "defaultPreemptible": False,
            "legacyNonPreemptibleFrom": 1000,
            "defaultCanPreempt": False,
            "priorityDivergence": "Reject",
            "roundTimeToLive": "30m",
            "mostDomains": 8,
        },
        "topology": {"notReadyTimeout": "90s", "replaceFailedNodes": False, "failFast": False},
        "quotaRelease": "OnTerminating",
    }
    assert read(
        a_manifest("Configuration", OURS, metadata={"name": "default"}, spec=spec)
    ).spec == (
        ConfigurationSpec(
            preemption=PreemptionRules(
                default_preemptible=False,
                legacy_non_preemptible_from=1000,
                default_can_preempt=False,
                priority_divergence="Reject",
                round_ttl_seconds=1800,
                most_domains=8,
            ),
            topology=TopologyRules(
                not_ready_seconds=90, replace_failed_nodes=False, fail_fast=False
            ),
            quota_release="OnTerminating",
        )
    )


def test_parts_that_are_disabled_are_off() -> None:
    spec = {"waitForPodsReady": {"enable": False}, "fairSharing": {"enable": False}}
    found = read(a_manifest("Configuration", OURS, metadata={"name": "default"}, spec=spec))
    assert found.spec == ConfigurationSpec()


@pytest.mark.parametrize(
    ("part", "pointer"),
    [
        ({"multiKueue": {"gcInterval": "1m"}}, "/spec/multiKueue"),
        ({"fairSharing": {"preemptionStrategies": ["Any"]}}, "/spec/fairSharing"),
        ({"waitForPodsReady": {"timeout": "soon"}}, "/spec/waitForPodsReady/timeout"),
        ({"resources": {"deviceClassMappings": [{"name": "x"}]}}, "/spec/resources"),
        ({"resources": {"quotaCheckStrategy": "Any"}}, "/spec/resources/quotaCheckStrategy"),
        (
            {"resources": {"transformations": [{"input": "cpu", "outputs": {"x": "much"}}]}},
            "/spec/resources/transformations/0/outputs/x",
        ),
        ({"fairsharing": {}}, "/spec/fairsharing"),
    ],
)
def test_what_cannot_be_read_is_pointed_to(part: dict[str, object], pointer: str) -> None:
    found = refused(a_manifest("Configuration", OURS, metadata={"name": "default"}, spec=part))
    assert any(told.startswith(pointer) for told in found), found


def test_a_rule_about_kueues_file_points_into_that_file() -> None:
    body = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta1",
        "kind": "Configuration",
        "resources": {"transformations": [{"input": "cpu"}, {"input": "cpu"}]},
        "multikueue": {},
    }
    assert "/resources/transformations/1/input" in refused(body)


def preferring(**preemption: object) -> dict[str, Any]:
    return a_manifest(
        "Configuration", OURS, metadata={"name": "default"}, spec={"preemption": preemption}
    )


def test_koordinators_arguments_take_the_defaults_of_preemption_away() -> None:
    found = read(
        preferring(disableDefaultPreemptiable=True, disableDefaultTriggerPreemption=True)
    ).spec.preemption
    assert (found.default_preemptible, found.default_can_preempt) == (False, False)
    torn = refused(preferring(defaultPreemptible=True, disableDefaultPreemptiable=True))
    assert list(torn) == ["/spec/preemption/disableDefaultPreemptiable"]


@pytest.mark.parametrize(("is_deleted", "mode"), [(True, "Immediate"), (False, "Soft")])
def test_koordinators_argument_says_how_victims_leave(*, is_deleted: bool, mode: str) -> None:
    """KOO-30: deletion by the scheduler, or by the operator that the label tells."""
    found = read(preferring(podShouldBeDeletedWhenPreempted=is_deleted)).spec.preemption
    assert found.soft_eviction == mode
    other = "Soft" if is_deleted else "Immediate"
    torn = refused(preferring(podShouldBeDeletedWhenPreempted=is_deleted, softEviction=other))
    assert list(torn) == ["/spec/preemption/podShouldBeDeletedWhenPreempted"]


def test_the_threshold_of_kai_is_one_switch() -> None:
    """KAI-7: nothing said, priority < 100 is preemptible and >= 100 is not."""
    assert read(preferring()).spec.preemption.legacy_non_preemptible_from is None
    found = read(preferring(legacyPreemptibility=True)).spec.preemption
    assert found.legacy_non_preemptible_from == 100
    other = preferring(legacyPreemptibility=True, legacyNonPreemptibleFrom=1000)
    assert read(other).spec.preemption.legacy_non_preemptible_from == 1000


def imported(**fields: Any) -> ConfigurationSpec:
    """What Kueue's file with these fields becomes."""
    manifest = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **fields}
    spec: ConfigurationSpec = read(manifest).spec
    return spec


def test_an_imported_configuration_has_the_defaults_of_kueue() -> None:
    """Kueue 0.20: `apis/config/v1beta2/defaults.go`, `SetDefaults_Configuration`."""
    wait = imported().wait_for_pods_ready
    assert wait == WaitForPodsReady(
        timeout_seconds=1800,
        requeuing_strategy=RequeuingStrategy(
            timestamp="Eviction", backoff_base_seconds=60, backoff_max_seconds=3600
        ),
        max_timeout_on_workload_seconds=7200,
    )
    assert wait.recovery_limit_seconds == 1800
    assert not imported().block_admission


def test_only_waiting_for_ready_pods_differs_from_a_configuration_of_headgate() -> None:
    ours: ConfigurationSpec = read(a_manifest("Configuration", OURS, spec={})).spec
    assert ours == ConfigurationSpec()
    assert msgspec.structs.replace(imported(), wait_for_pods_ready=None) == ours
    assert ours.wait_for_pods_ready is None


@pytest.mark.parametrize("zero", ["0", "0s", "0h0m0s"])
def test_no_time_means_the_default_where_kueue_reads_it_so(zero: str) -> None:
    read_so = imported(
        waitForPodsReady={"timeout": zero, "recoveryTimeout": zero},
        admissionFairSharing={"usageSamplingInterval": zero},
    )
    wait, fair = read_so.wait_for_pods_ready, read_so.admission_fair_sharing
    assert wait is not None
    assert fair is not None
    # Only the recovery timeout may be none: then lost readiness has no limit.
    assert (wait.timeout_seconds, wait.recovery_limit_seconds) == (1800, 0)
    assert fair.usage_sampling_interval_seconds == 300


def test_the_gate_of_kueue_ends_the_waiting_for_ready_pods() -> None:
    gates = {"DisableWaitForPodsReady": True}
    assert imported(featureGates=gates).wait_for_pods_ready is None
    given = imported(featureGates=gates, waitForPodsReady={"timeout": "5m", "blockAdmission": True})
    assert given.wait_for_pods_ready is None
    assert not given.block_admission


def test_a_gate_about_waiting_sets_its_field_where_waiting_is_a_default() -> None:
    wait = imported(featureGates={"WorkloadLevelWaitForPodsReady": True}).wait_for_pods_ready
    assert wait is not None
    assert wait.workload_timeouts


def test_the_older_version_of_kueues_file_waits_only_where_it_says_so() -> None:
    older = {"apiVersion": "config.kueue.x-k8s.io/v1beta1", "kind": "Configuration"}
    assert read(older).spec.wait_for_pods_ready is None
