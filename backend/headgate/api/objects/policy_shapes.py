"""Priority classes, admission checks, disruption budgets and namespaces as they are written."""

from typing import Literal

from headgate.api.schemas import Condition, LabelSelector, ListMeta, ObjectMeta, Schema


class WorkloadPriorityClassObject(Schema, kw_only=True, frozen=True):
    """A WorkloadPriorityClass; its value stands beside the metadata, as in Kueue."""

    api_version: str
    kind: Literal["WorkloadPriorityClass"]
    metadata: ObjectMeta
    value: int
    description: str = ""
    global_default: bool = False
    preemption_policy: str | None = None
    max_protection_delta: int | None = None


class WorkloadPriorityClassList(Schema, kw_only=True, frozen=True):
    """One page of WorkloadPriorityClasses."""

    api_version: str
    kind: Literal["WorkloadPriorityClassList"]
    metadata: ListMeta
    items: list[WorkloadPriorityClassObject]


class CheckParameters(Schema, kw_only=True, frozen=True):
    """What the controller reads its settings from."""

    api_group: str
    kind: str
    name: str


class AdmissionCheckSpec(Schema, kw_only=True, frozen=True):
    """Which controller reports on the check."""

    controller_name: str
    parameters: CheckParameters | None = None


class AdmissionCheckStatus(Schema, kw_only=True, frozen=True):
    """Whether its controller serves it."""

    conditions: list[Condition] = []


class AdmissionCheckObject(Schema, kw_only=True, frozen=True):
    """An AdmissionCheck."""

    api_version: str
    kind: Literal["AdmissionCheck"]
    metadata: ObjectMeta
    spec: AdmissionCheckSpec
    status: AdmissionCheckStatus | None = None


class AdmissionCheckList(Schema, kw_only=True, frozen=True):
    """One page of AdmissionChecks."""

    api_version: str
    kind: Literal["AdmissionCheckList"]
    metadata: ListMeta
    items: list[AdmissionCheckObject]


class DisruptionBudgetSpec(Schema, kw_only=True, frozen=True):
    """How many of the selected must stay, or may be gone."""

    selector: LabelSelector
    unit: Literal["Workload", "Pod"] = "Workload"
    min_available: int | None = None
    max_unavailable: int | None = None
    enforcement: Literal["BestEffort", "Strict"] = "BestEffort"


class DisruptionBudgetStatus(Schema, kw_only=True, frozen=True):
    """In units of the budget: those there are, those that run, and how many more may be taken."""

    expected: int
    healthy: int
    allowed: int
    disrupted: list[str] = []


class DisruptionBudgetObject(Schema, kw_only=True, frozen=True):
    """A DisruptionBudget."""

    api_version: str
    kind: Literal["DisruptionBudget"]
    metadata: ObjectMeta
    spec: DisruptionBudgetSpec
    status: DisruptionBudgetStatus | None = None


class DisruptionBudgetList(Schema, kw_only=True, frozen=True):
    """One page of DisruptionBudgets."""

    api_version: str
    kind: Literal["DisruptionBudgetList"]
    metadata: ListMeta
    items: list[DisruptionBudgetObject]


class NamespaceObject(Schema, kw_only=True, frozen=True):
    """A Namespace."""

    api_version: str
    kind: Literal["Namespace"]
    metadata: ObjectMeta


class NamespaceList(Schema, kw_only=True, frozen=True):
    """One page of Namespaces."""

    api_version: str
    kind: Literal["NamespaceList"]
    metadata: ListMeta
    items: list[NamespaceObject]
