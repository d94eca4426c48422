"""The spec of DisruptionBudget (reference preemption.md §6.2)."""

from typing import Literal

import msgspec

from headgate.domain.values.selectors import LabelSelector


class DisruptionBudgetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the selected must stay, or may be gone; exactly one bound is set."""

    selector: LabelSelector
    unit: Literal["Workload", "Pod"] = "Workload"
    min_available: int | None = None
    max_unavailable: int | None = None
    enforcement: Literal["BestEffort", "Strict"] = "BestEffort"
