"""Resource groups and weights of ClusterQueues and Cohorts in manifests (queueing.md §1.1)."""

from typing import Any

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.schemas import ManifestSchema
from headgate.domain.kinds.resource_groups import FlavorQuotas, ResourceGroup, ResourceQuota
from headgate.domain.values.quantities import milli_quantity, quantity_of


def read_groups(spec: Fields) -> tuple[ResourceGroup, ...]:
    """The resource groups of a ClusterQueue or Cohort."""
    return tuple(_group(group) for group in spec.children("resourceGroups"))


def read_weight(spec: Fields) -> int:
    """The weight in thousandths; what would vanish when rounded is refused, as in Kueue."""
    fields = spec.child("fairSharing")
    if fields is None:
        return 1000
    weight_milli = fields.milli("weight", 1000)
    if str(fields.raw("weight")) in {"1n", "1e-9", "0.000000001"}:
        fields.note("weight", "A weight is 0 or more than 1n.", "Give 0 or a larger weight.")
    fields.reject_unknown()
    return weight_milli


def _group(fields: Fields) -> ResourceGroup:
    read = ResourceGroup(
        covered_resources=fields.texts("coveredResources"),
        flavors=tuple(_flavor(flavor) for flavor in fields.children("flavors")),
    )
    fields.reject_unknown()
    return read


def _flavor(fields: Fields) -> FlavorQuotas:
    read = FlavorQuotas(
        name=fields.required_text("name"),
        resources=tuple(_quota(quota) for quota in fields.children("resources")),
    )
    fields.reject_unknown()
    return read


def _quota(fields: Fields) -> ResourceQuota:
    name = fields.required_text("name")
    if not fields.has("nominalQuota"):
        fields.note("nominalQuota", "nominalQuota is required.", "Give an amount, or 0.")
    read = ResourceQuota(
        name=name,
        nominal_quota=fields.quota("nominalQuota", name) or 0,
        borrowing_limit=fields.quota("borrowingLimit", name),
        lending_limit=fields.quota("lendingLimit", name),
    )
    fields.reject_unknown()
    return read


def rendered_groups(groups: tuple[ResourceGroup, ...]) -> list[dict[str, Any]]:
    """Resource groups with canonical quantities."""
    return [
        {
            "coveredResources": list(group.covered_resources),
            "flavors": [
                {
                    "name": flavor.name,
                    "resources": [_rendered_quota(quota) for quota in flavor.resources],
                }
                for flavor in group.flavors
            ],
        }
        for group in groups
    ]


def rendered_weight(weight_milli: int) -> dict[str, Any]:
    """The weight, where it is not the usual 1."""
    if weight_milli == 1000:  # noqa: PLR2004  (thousandths)
        return {}
    return {"fairSharing": {"weight": milli_quantity(weight_milli)}}


def rendered_share(weighted_share: int | None) -> dict[str, Any]:
    """The share of fair sharing in a status, where it is known."""
    return {} if weighted_share is None else {"fairSharing": {"weightedShare": weighted_share}}


def _rendered_quota(quota: ResourceQuota) -> dict[str, str]:
    limits = {"borrowingLimit": quota.borrowing_limit, "lendingLimit": quota.lending_limit}
    return {
        "name": quota.name,
        "nominalQuota": quantity_of(quota.name, quota.nominal_quota),
        **{
            field: quantity_of(quota.name, amount)
            for field, amount in limits.items()
            if amount is not None
        },
    }


class ResourceQuotaSchema(ManifestSchema, kw_only=True, frozen=True):
    """Quota of one resource in one flavor; quantities are Kubernetes quantities."""

    name: str
    nominal_quota: str | int
    borrowing_limit: str | int | None = None
    lending_limit: str | int | None = None


class FlavorQuotasSchema(ManifestSchema, kw_only=True, frozen=True):
    """The quotas of one flavor."""

    name: str
    resources: list[ResourceQuotaSchema]


class ResourceGroupSchema(ManifestSchema, kw_only=True, frozen=True):
    """Resources that are always taken from the same flavor."""

    covered_resources: list[str]
    flavors: list[FlavorQuotasSchema]


class FairSharingSchema(ManifestSchema, kw_only=True, frozen=True):
    """The weight in fair sharing."""

    weight: str | int | float | None = None


class FairSharingStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """Thousandths borrowed of what the cohort can lend, divided by the weight and rounded up."""

    weighted_share: int
