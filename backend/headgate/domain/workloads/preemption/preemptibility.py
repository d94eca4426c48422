"""Whether a workload may be preempted and may preempt, and where that comes from.

Reference preemption.md §6.3: what the workload or its pods say, else the Configuration, else the
legacy threshold, else yes. It is resolved once, when it is submitted, and stored (trap T20).
"""

from msgspec.structs import replace

from headgate.domain.configuration.specs import PreemptionRules
from headgate.domain.workloads.specs import Preemptibility, SettingSource, WorkloadSpec

SUBMITTER_SOURCES: tuple[SettingSource, ...] = ("Spec", "Label", "PodTemplates")
"""Sources that are words of the submitter; the others are found here."""


def with_preemption_settings(
    spec: WorkloadSpec, rules: PreemptionRules, before: WorkloadSpec | None = None
) -> WorkloadSpec:
    """The spec with both settings resolved; `spec.priority` and its policy must be so already.

    What says nothing keeps what was found before, so that a change of the Configuration touches
    only what is submitted from then on.
    """
    return _with_can_preempt(_with_preemptibility(spec, rules, before), rules, before)


def _with_preemptibility(
    spec: WorkloadSpec, rules: PreemptionRules, before: WorkloadSpec | None
) -> WorkloadSpec:
    if spec.preemptibility_source in SUBMITTER_SOURCES:
        return spec
    if spec.preemptibility != "Preemptible":
        return replace(spec, preemptibility_source="Spec")
    if before is not None and before.preemptibility_source not in SUBMITTER_SOURCES:
        value, source = before.preemptibility, before.preemptibility_source
    else:
        value, source = _default_preemptibility(spec.priority, rules)
    return replace(spec, preemptibility=value, preemptibility_source=source)


def _default_preemptibility(
    priority: int, rules: PreemptionRules
) -> tuple[Preemptibility, SettingSource | None]:
    if rules.default_preemptible is not None:
        return "Preemptible" if rules.default_preemptible else "NonPreemptible", "Configuration"
    threshold = rules.legacy_non_preemptible_from
    if threshold is not None:
        return "NonPreemptible" if priority >= threshold else "Preemptible", "LegacyPriority"
    return "Preemptible", "Default"


def _with_can_preempt(
    spec: WorkloadSpec, rules: PreemptionRules, before: WorkloadSpec | None
) -> WorkloadSpec:
    if spec.preemption_policy == "Never":
        return replace(spec, can_preempt=False, can_preempt_source="PriorityClass")
    if spec.can_preempt_source in SUBMITTER_SOURCES:
        return spec
    if not spec.can_preempt:
        return replace(spec, can_preempt_source="Spec")
    if before is not None and before.can_preempt_source in (None, "Configuration", "Default"):
        value, source = before.can_preempt, before.can_preempt_source
    else:
        value = rules.default_can_preempt
        source = "Default" if value else "Configuration"
    return replace(spec, can_preempt=value, can_preempt_source=source)
