"""The spec of WorkloadPriorityClass (reference queueing.md §1.5, preemption.md §6.2)."""

from typing import Literal

import msgspec


class WorkloadPriorityClassSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A named priority; `global_default` serves workloads that name no class."""

    value: int
    description: str = ""
    global_default: bool = False
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"
    max_protection_delta: int | None = None
