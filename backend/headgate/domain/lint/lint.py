"""The lint of a whole configuration, as one pure function."""

from headgate.domain.lint.quotas import capacity_of_flavors, quota_warnings
from headgate.domain.lint.unusable_objects import flavor_warnings, queue_warnings
from headgate.domain.lint.warnings import LintWarning
from headgate.domain.object_set import ObjectSet


def lint(config: ObjectSet) -> tuple[LintWarning, ...]:
    """Returns all lint warnings in order of kind, name and field; warnings before notes."""
    capacity = capacity_of_flavors(config)
    found = (
        *queue_warnings(config),
        *quota_warnings(config, capacity),
        *flavor_warnings(config, capacity),
    )
    return tuple(
        sorted(
            found,
            key=lambda a: (a.severity != "warning", a.kind, a.namespace, a.name, a.pointer, a.rule),
        )
    )
