"""Resource groups and weights of ClusterQueues and Cohorts in manifests (queueing.md §1.1)."""

from typing import Any

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.records import Record, field, listed
from headgate.adapters.manifests.schemas import ManifestSchema
from headgate.domain.kinds.resource_groups import FlavorQuotas, ResourceGroup, ResourceQuota
from headgate.domain.values.quantities import milli_quantity, quantity_of


def _quota(fields: Fields) -> ResourceQuota:
    name = fields.required_text("name")
    fields.require("nominalQuota")
    read = ResourceQuota(
        name=name,
        nominal_quota=fields.quota("nominalQuota", name) or 0,
        borrowing_limit=fields.quota("borrowingLimit", name),
        lending_limit=fields.quota("lendingLimit", name),
    )
    fields.reject_unknown()
    return read


def _rendered_quota(quota: ResourceQuota) -> dict[str, str]:
    amounts = {
        "nominalQuota": quota.nominal_quota,
        "borrowingLimit": quota.borrowing_limit,
        "lendingLimit": quota.lending_limit,
    }
    given = {name: amount for name, amount in amounts.items() if amount is not None}
    return {"name": quota.name} | {
        name: quantity_of(quota.name, amount) for name, amount in given.items()
    }


def _read_quotas(fields: Fields, name: str, _: object) -> tuple[ResourceQuota, ...]:
    return tuple(_quota(quota) for quota in fields.children(name))


def _read_weight(spec: Fields, name: str, usual: int) -> int:
    """The weight in thousandths; what would vanish when rounded is refused, as in Kueue."""
    fields = spec.child(name)
    if fields is None:
        return usual
    weight_milli = fields.milli("weight", usual)
    if str(fields.raw("weight")) in {"1n", "1e-9", "0.000000001"}:
        fields.note("weight", "WeightTooSmall")
    fields.reject_unknown()
    return weight_milli


WEIGHT_FIELD = field(
    "fairSharing",
    "fair_weight_milli",
    read=_read_weight,
    render=lambda weight_milli: {"weight": milli_quantity(weight_milli)},
    omits_usual=True,
)

GROUP_RECORD = Record(
    ResourceGroup,
    field("coveredResources"),
    listed(
        "flavors",
        Record(
            FlavorQuotas,
            field("name"),
            field(
                "resources",
                read=_read_quotas,
                render=lambda quotas: [_rendered_quota(quota) for quota in quotas],
            ),
        ),
    ),
)
"""The resource groups of a ClusterQueue or Cohort, with canonical quantities."""


def rendered_share(weighted_share: int | None) -> dict[str, Any]:
    """The share of fair sharing in a status, where it is known."""
    return {} if weighted_share is None else {"fairSharing": {"weightedShare": weighted_share}}


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

    weight: str | float | None = None


class FairSharingStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """Thousandths borrowed of what the cohort can lend, divided by the weight and rounded up."""

    weighted_share: int
