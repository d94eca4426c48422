"""The Configuration singleton: its lifecycle, its rules, and the partitions a change wakes."""

from typing import Any

import pytest

from headgate.domain.kinds.configuration import (
    CONFIGURATION,
    AdmissionFairSharing,
    ConfigurationChanged,
    ConfigurationCreated,
    ConfigurationDeleted,
    ConfigurationSpec,
    FairSharing,
    PreemptionRules,
    ResourceRules,
    Retention,
    Transformation,
    configuration_violations,
)
from headgate.domain.kinds.metric_labels import MetricLabel, MetricRules
from headgate.domain.kinds.object_commands import Change, Create, RequestDeletion
from headgate.domain.kinds.topology import TopologyRules
from headgate.domain.kinds.wait_for_pods_ready import WaitForPodsReady
from headgate.domain.object_set import ObjectSet
from headgate.domain.rejection import InvalidObject
from headgate.messages.catalogue import remedy_of, text_of
from tests.builders.policies import a_configuration
from tests.builders.scenario import Scenario, pointers

FAIR = ConfigurationSpec(fair_sharing=FairSharing())
CREATED = ConfigurationCreated(uid="u", name="default", spec=FAIR)


def with_labels(*labels: MetricLabel) -> dict[str, Any]:
    return {"metrics": MetricRules(custom_labels=labels)}


def test_it_is_created_changed_and_deleted_like_any_object() -> None:
    story = Scenario(CONFIGURATION)
    assert story.when(Create(uid="u", name="default", spec=FAIR)) == (CREATED,)
    plain = ConfigurationSpec()
    assert story.when(Change(spec=plain)) == (ConfigurationChanged(spec=plain),)
    assert story.when(RequestDeletion()) == (ConfigurationDeleted(),)


def test_there_is_only_the_one_named_default() -> None:
    second = Create(uid="v", name="other", spec=FAIR)
    refusal = Scenario(CONFIGURATION).refuses(second, InvalidObject)
    assert pointers(refusal) == ["/metadata/name"]
    assert "default" in text_of(refusal.message)


def test_the_defaults_hold_where_none_is_written() -> None:
    assert ObjectSet().configuration == ConfigurationSpec()
    written = ObjectSet(configurations={"default": a_configuration(fair_sharing=FairSharing())})
    assert written.configuration == FAIR


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        (
            {"wait_for_pods_ready": WaitForPodsReady(timeout_seconds=-1)},
            "/spec/waitForPodsReady/timeout",
        ),
        (
            {
                "fair_sharing": FairSharing(
                    preemption_strategies=("LessThanInitialShare", "LessThanOrEqualToFinalShare")
                )
            },
            "/spec/fairSharing/preemptionStrategies",
        ),
        (with_labels(MetricLabel(name="2nd")), "/spec/metrics/customLabels/0/name"),
        (
            with_labels(MetricLabel(name="a"), MetricLabel(name="a")),
            "/spec/metrics/customLabels/1/name",
        ),
        (
            with_labels(MetricLabel(name="a", source_label_key="x", source_annotation_key="y")),
            "/spec/metrics/customLabels/0/sourceAnnotationKey",
        ),
        (
            with_labels(MetricLabel(name="a", source_label_key="no key")),
            "/spec/metrics/customLabels/0/sourceLabelKey",
        ),
        (
            with_labels(*(MetricLabel(name=f"l{n}", source_kinds=("Cohort",)) for n in range(7))),
            "/spec/metrics/customLabels",
        ),
        (
            {"admission_fair_sharing": AdmissionFairSharing(usage_half_life_seconds=-1)},
            "/spec/admissionFairSharing/usageHalfLifeTime",
        ),
        (
            {"admission_fair_sharing": AdmissionFairSharing(usage_sampling_interval_seconds=0)},
            "/spec/admissionFairSharing/usageSamplingInterval",
        ),
        (
            {"admission_fair_sharing": AdmissionFairSharing(resource_weights_milli={"cpu": -1})},
            "/spec/admissionFairSharing/resourceWeights/cpu",
        ),
        (
            {
                "resources": ResourceRules(
                    exclude_resource_prefixes=("x",), quota_check_strategy="IgnoreUndeclared"
                )
            },
            "/spec/resources/excludeResourcePrefixes",
        ),
        (
            {"resources": ResourceRules(exclude_resource_prefixes=("",))},
            "/spec/resources/excludeResourcePrefixes/0",
        ),
        (
            {
                "resources": ResourceRules(
                    transformations=(Transformation(input="cpu"), Transformation(input="cpu"))
                )
            },
            "/spec/resources/transformations/1/input",
        ),
        (
            {"resources": ResourceRules(transformations=(Transformation(input="no name"),))},
            "/spec/resources/transformations/0/input",
        ),
        (
            {"resources": ResourceRules(transformations=(Transformation(input="pods"),))},
            "/spec/resources/transformations/0/input",
        ),
        (
            {
                "resources": ResourceRules(
                    transformations=(Transformation(input="cpu", outputs_milli={"pods": 1000}),)
                )
            },
            "/spec/resources/transformations/0/outputs/pods",
        ),
        (
            {
                "resources": ResourceRules(
                    transformations=tuple(Transformation(input=f"r{n}") for n in range(65))
                )
            },
            "/spec/resources/transformations",
        ),
        (
            {"retention": Retention(after_finished_seconds=-1)},
            "/spec/objectRetentionPolicies/workloads/afterFinished",
        ),
        ({"preemption": PreemptionRules(most_domains=0)}, "/spec/preemption/mostDomains"),
        ({"preemption": PreemptionRules(round_ttl_seconds=0)}, "/spec/preemption/roundTimeToLive"),
        ({"topology": TopologyRules(not_ready_seconds=-1)}, "/spec/topology/notReadyTimeout"),
    ],
)
def test_a_broken_rule_is_pointed_to(fields: dict[str, Any], pointer: str) -> None:
    found = configuration_violations(ConfigurationSpec(**fields))
    assert [violation.pointer for violation in found] == [pointer]
    assert all(remedy_of(violation.message) for violation in found)


def test_the_defaults_break_no_rule() -> None:
    assert configuration_violations(ConfigurationSpec()) == ()
