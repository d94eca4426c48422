"""The Configuration as it is shown, defaults spelled out."""

from headgate.adapters.manifests.durations import duration_of
from headgate.adapters.manifests.parsing.configuration import NEVER
from headgate.adapters.manifests.rendering.wait_for_pods_ready import rendered_wait
from headgate.domain.kinds.configuration import AdmissionFairSharing
from headgate.domain.kinds.configuration import ConfigurationSpec
from headgate.domain.kinds.configuration import PreemptionRules
from headgate.domain.kinds.configuration import ResourceRules
from headgate.domain.kinds.configuration import Retention
from headgate.domain.kinds.configuration import TopologyRules
from headgate.domain.kinds.configuration import Transformation
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.values.quantities import milli_quantity
from headgate.domain.values.quantities import quantity_of
from typing import Any


def configuration_body(configuration: Configured[ConfigurationSpec]) -> dict[str, Any]:
    """The spec of the Configuration; parts that are switched off are left out."""
    spec = configuration.spec
    wait = spec.wait_for_pods_ready
    fair, admission = spec.fair_sharing, spec.admission_fair_sharing
    parts: dict[str, Any] = {
        "waitForPodsReady": wait
        and {**rendered_wait(wait), "blockAdmission": spec.block_admission},
        "fairSharing": fair and {"preemptionStrategies": list(fair.preemption_strategies)},
        "admissionFairSharing": admission and _admission_fair_sharing(admission),
        "resources": _resources(spec.resources),
        "preemption": _preemption(spec.preemption),
        "objectRetentionPolicies": _retention(spec.retention),
        "topology": _topology(spec.topology),
        "quotaRelease": spec.quota_release,
    }
    return {"spec": {name: part for name, part in parts.items() if part is not None}}


def _admission_fair_sharing(sharing: AdmissionFairSharing) -> dict[str, Any]:
    weights = sharing.resource_weights_milli.items()
    return {
        "usageHalfLifeTime": duration_of(sharing.usage_half_life_seconds),
        "usageSamplingInterval": duration_of(sharing.usage_sampling_interval_seconds),
        "resourceWeights": {name: milli_quantity(weight) for name, weight in weights},
    }


def _resources(rules: ResourceRules) -> dict[str, Any]:
    return {
        "excludeResourcePrefixes": list(rules.exclude_resource_prefixes),
        "quotaCheckStrategy": rules.quota_check_strategy,
        "transformations": [_transformation(entry) for entry in rules.transformations],
    }


def _transformation(transformation: Transformation) -> dict[str, Any]:
    outputs = transformation.outputs_milli.items()
    multiplied = transformation.multiply_by
    return {
        "input": transformation.input,
        "strategy": transformation.strategy,
        **({"multiplyBy": multiplied} if multiplied else {}),
        "outputs": {name: _factor(name, thousandths) for name, thousandths in outputs},
    }


def _factor(resource: str, thousandths: int) -> str:
    whole, rest = divmod(thousandths, 1000)
    if rest or resource == "cpu":
        return milli_quantity(thousandths)
    return quantity_of(resource, whole)


def _preemption(rules: PreemptionRules) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "defaultPreemptible": rules.default_preemptible,
        "legacyNonPreemptibleFrom": rules.legacy_non_preemptible_from,
        "defaultCanPreempt": rules.default_can_preempt,
        "priorityDivergence": rules.priority_divergence,
        "roundTimeToLive": duration_of(rules.round_ttl_seconds),
        "mostDomains": rules.most_domains,
        "priorityBoost": rules.priority_boost,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _retention(retention: Retention) -> dict[str, Any] | None:
    fields = {
        "afterFinished": retention.after_finished_seconds,
        "afterDeactivatedByKueue": retention.after_deactivated_seconds,
    }
    kept = {name: duration_of(value) for name, value in fields.items() if value is not None}
    return {"workloads": kept} if kept else None


def _topology(rules: TopologyRules) -> dict[str, Any]:
    timeout = rules.not_ready_seconds
    return {
        "profile": rules.profile,
        "respectPreferredAffinity": rules.respect_preferred_affinity,
        "notReadyTimeout": NEVER if timeout is None else duration_of(timeout),
        "replaceFailedNodes": rules.replace_failed_nodes,
        "failFast": rules.fail_fast,
    }
