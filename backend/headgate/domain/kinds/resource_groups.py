"""Quota of ClusterQueues and Cohorts: resource groups and weights (queueing.md §1.1, §1.3)."""

from collections.abc import Iterator

import msgspec

from headgate.domain.metadata import violation_of
from headgate.domain.rejection import Violation, violation
from headgate.domain.values.names import broken_rule_of_label_key, broken_rule_of_name
from headgate.domain.values.pointers import child
from headgate.domain.values.quantities import MAX_AMOUNT, quantity_of


class ResourceQuota(msgspec.Struct, frozen=True, kw_only=True):
    """Quota of one resource in one flavor; a missing limit means no limit."""

    name: str
    nominal_quota: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class FlavorQuotas(msgspec.Struct, frozen=True, kw_only=True):
    """The quotas of one flavor, in the order of the group's covered resources."""

    name: str
    resources: tuple[ResourceQuota, ...]


class ResourceGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Resources that are always taken from the same flavor; flavors in order of preference."""

    covered_resources: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


MAX_GROUPS = 16
MAX_IN_GROUP = 64
MAX_IN_ALL_GROUPS = 256
MAX_QUOTAS_IN_GROUP = 512
_GROUPS = "/spec/resourceGroups"


def group_violations(
    groups: tuple[ResourceGroup, ...], *, has_parent: bool, lends_at_most_nominal: bool
) -> Iterator[Violation]:
    """Broken rules of the resource groups of one node of the quota tree."""
    yield from _too_many(_GROUPS, len(groups), MAX_GROUPS, "resource groups")
    for index, group in enumerate(groups):
        yield from _size_violations(child(_GROUPS, index), group)
    yield from _total_violations(groups)
    yield from _repetitions(groups)
    yield from _impossible_sums(groups)
    for index, group in enumerate(groups):
        yield from _resource_name_violations(child(_GROUPS, index), group)
        for at, flavor in enumerate(group.flavors):
            place = child(_GROUPS, index, "flavors", at)
            yield from _flavor_violations(place, group, flavor)
            for quota_at, quota in enumerate(flavor.resources):
                quota_place = child(place, "resources", quota_at)
                yield from _quota_violations(quota_place, quota, has_parent=has_parent)
                if lends_at_most_nominal:
                    yield from _lending_violations(quota_place, quota)


def _size_violations(place: str, group: ResourceGroup) -> Iterator[Violation]:
    counted = (
        ("coveredResources", len(group.covered_resources), "covered resources"),
        ("flavors", len(group.flavors), "flavors"),
    )
    for field, count, things in counted:
        if count == 0:
            yield violation(
                child(place, field),
                "Stated",
                rule=f"A resource group has 1 to {MAX_IN_GROUP} {things}.",
                remedy=f"Name at least one under {field}, or remove the group.",
            )
        yield from _too_many(child(place, field), count, MAX_IN_GROUP, f"{things} in one group")
    quotas = len(group.covered_resources) * len(group.flavors)
    yield from _too_many(place, quotas, MAX_QUOTAS_IN_GROUP, "quotas in one group")


def _total_violations(groups: tuple[ResourceGroup, ...]) -> Iterator[Violation]:
    resources = sum(len(group.covered_resources) for group in groups)
    flavors = sum(len(group.flavors) for group in groups)
    yield from _too_many(_GROUPS, resources, MAX_IN_ALL_GROUPS, "covered resources in all groups")
    yield from _too_many(_GROUPS, flavors, MAX_IN_ALL_GROUPS, "flavors in all groups")


def _repetitions(groups: tuple[ResourceGroup, ...]) -> Iterator[Violation]:
    resources = (
        (child(_GROUPS, index, "coveredResources", at), "Resource", name)
        for index, group in enumerate(groups)
        for at, name in enumerate(group.covered_resources)
    )
    flavors = (
        (child(_GROUPS, index, "flavors", at, "name"), "Flavor", flavor.name)
        for index, group in enumerate(groups)
        for at, flavor in enumerate(group.flavors)
    )
    seen: dict[tuple[str, str], str] = {}
    for pointer, thing, name in (*resources, *flavors):
        first = seen.setdefault((thing, name), pointer)
        if first != pointer:
            yield violation(
                pointer,
                "Stated",
                rule=f"{thing} {name} is already listed at {first}; it belongs to one group only.",
                remedy="Remove one of the two.",
            )


def _impossible_sums(groups: tuple[ResourceGroup, ...]) -> Iterator[Violation]:
    """Resources of which all flavors together have more than can be counted.

    A quota of the most that can be counted stands for one without a limit.
    """
    totals: dict[str, int] = {}
    for index, group in enumerate(groups):
        for flavor in group.flavors:
            for quota in flavor.resources:
                before = totals.get(quota.name, 0)
                totals[quota.name] = before + quota.nominal_quota
                is_countable = max(before, quota.nominal_quota) < MAX_AMOUNT
                if is_countable and totals[quota.name] > MAX_AMOUNT:
                    yield violation(
                        child(_GROUPS, index),
                        "Stated",
                        rule=f"All flavors together have {totals[quota.name]} of {quota.name}; at "
                        f"most {MAX_AMOUNT} can be counted.",
                        remedy=f"Lower the quotas by {totals[quota.name] - MAX_AMOUNT}.",
                    )


def _resource_name_violations(place: str, group: ResourceGroup) -> Iterator[Violation]:
    for at, name in enumerate(group.covered_resources):
        found = violation_of(child(place, "coveredResources", at), name, broken_rule_of_label_key)
        if found:
            yield found


def _flavor_violations(
    place: str, group: ResourceGroup, flavor: FlavorQuotas
) -> Iterator[Violation]:
    found = violation_of(child(place, "name"), flavor.name, broken_rule_of_name)
    if found:
        yield found
    listed = tuple(quota.name for quota in flavor.resources)
    if listed != group.covered_resources:
        covered = ", ".join(group.covered_resources)
        yield violation(
            child(place, "resources"),
            "Stated",
            rule="Every flavor lists exactly the covered resources of its group, in their order.",
            remedy=f"List {covered or 'no resources'} in this order.",
        )


def _quota_violations(place: str, quota: ResourceQuota, *, has_parent: bool) -> Iterator[Violation]:
    limits = (
        ("borrowingLimit", quota.borrowing_limit),
        ("lendingLimit", quota.lending_limit),
    )
    for field, amount in (("nominalQuota", quota.nominal_quota), *limits):
        if amount is not None and amount < 0:
            yield violation(
                child(place, field),
                "Stated",
                rule=f"{field} is at least 0.",
                remedy="Give an amount that is not negative.",
            )
    for field, amount in limits:
        if amount is not None and not has_parent:
            yield violation(
                child(place, field),
                "Stated",
                rule=f"{field} means nothing without a cohort to share with.",
                remedy=f"Remove {field}, or name the cohort.",
            )


def _lending_violations(place: str, quota: ResourceQuota) -> Iterator[Violation]:
    if quota.lending_limit is not None and quota.lending_limit > quota.nominal_quota >= 0:
        yield violation(
            child(place, "lendingLimit"),
            "Stated",
            rule="A ClusterQueue lends at most its nominal quota, "
            f"{quantity_of(quota.name, quota.nominal_quota)}; "
            f"not {quantity_of(quota.name, quota.lending_limit)}.",
            remedy="Lower lendingLimit, or raise nominalQuota.",
        )


def _too_many(pointer: str, count: int, most: int, things: str) -> Iterator[Violation]:
    if count > most:
        yield violation(
            pointer,
            "Stated",
            rule=f"There are at most {most} {things}.",
            remedy=f"Remove {count - most} of the {count}.",
        )


def weight_violations(weight_milli: int) -> Iterator[Violation]:
    """Broken rules of the weight for fair sharing, in thousandths."""
    if weight_milli < 0:
        yield violation(
            "/spec/fairSharing/weight",
            "Stated",
            rule="A weight is at least 0.",
            remedy="Give 0 for a share that is always last, or a positive weight.",
        )
