"""What is accepted without effect is named, once for each field (nothing in silence)."""

from typing import Any

import pytest

from headgate.adapters.manifests.feature_gates import FEATURE_GATES
from headgate.domain.kinds.topology import TopologyRules
from headgate.messages.catalogue import text_of
from tests.manifests.readers import read, refused
from tests.manifests.workloads import TEMPLATE


def a_configuration(**fields: Any) -> dict[str, Any]:
    """Kueue's Configuration with these fields."""
    return {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **fields}


def told(manifest: dict[str, Any]) -> dict[str, str]:
    """The pointers of what has no effect, each with its text."""
    return {found.pointer: text_of(found.message) for found in read(manifest).warnings}


def a_job_set(replicated: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A JobSet of one replicated job."""
    job = {"name": "w", "template": {"spec": {"template": TEMPLATE}}} | (replicated or {})
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "x"},
        "spec": {"replicatedJobs": [job], **spec},
    }


def test_sections_about_kubernetes_are_named_one_by_one() -> None:
    given = {"webhook": {"port": 9443}, "metrics": {"bindAddress": ":8080"}, "tls": {}}
    assert told(a_configuration(**given)) == {
        "/webhook": "webhook has no effect here",
        "/metrics": "metrics has no effect here",
    }


def test_every_gate_of_kueue_is_in_the_table() -> None:
    assert len(FEATURE_GATES) == 114
    gate = FEATURE_GATES["PriorityBoost"]
    assert (gate.stage, gate.default, gate.effect) == ("Alpha", False, "Field")


@pytest.mark.parametrize("name", sorted(FEATURE_GATES))
def test_each_gate_is_honoured_or_warned_about_when_it_is_set(name: str) -> None:
    gate = FEATURE_GATES[name]
    usual = read(a_configuration()).spec
    effects = {
        value: bool(
            told(a_configuration(featureGates={name: value}))
            or read(a_configuration(featureGates={name: value})).spec != usual
        )
        for value in (True, False)
    }
    match gate.effect:
        case "NoOutcome":
            assert effects == {True: False, False: False}
        case "On":
            assert effects == {True: False, False: True}
        case "Field":
            assert any(effects.values())
        case _:
            assert effects == {True: True, False: False}


def test_a_gate_sets_its_field_unless_the_field_is_given() -> None:
    gates = {"TASProfileMixed": False, "TASFailedNodeReplacementFailFast": False}
    found = read(a_configuration(featureGates=gates)).spec.topology
    assert found == TopologyRules(profile="BestFit", fail_fast=False)
    own = a_configuration(featureGates=gates, topology={"profile": "Mixed"})
    assert read(own).spec.topology == TopologyRules(profile="Mixed", fail_fast=False)


def test_a_gate_that_kueue_does_not_have_is_refused() -> None:
    (text,) = refused(a_configuration(featureGates={"TASProfileMixd": True})).values()
    assert text == "Unknown feature gate TASProfileMixd Omit it, or write TASProfileMixed."
    assert refused(a_configuration(featureGates={"PriorityBoost": "yes"}))


def test_jobs_that_must_start_one_after_the_other_are_refused() -> None:
    after = [{"name": "v", "status": "Complete"}]
    manifest = a_job_set({"dependsOn": after}, startupPolicy={"startupPolicyOrder": "InOrder"})
    assert sorted(refused(manifest)) == [
        "/spec/replicatedJobs/0/dependsOn",
        "/spec/startupPolicy/startupPolicyOrder",
    ]
    at_once = read(a_job_set(startupPolicy={"startupPolicyOrder": "AnyOrder"}))
    assert at_once.warnings == ()


def test_fields_of_a_job_set_without_effect_are_named() -> None:
    found = told(a_job_set(network={"enableDNSHostnames": True}, suspend=True))
    assert found == {"/spec/network": "network has no effect here"}
