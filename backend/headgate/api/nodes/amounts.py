"""Amounts of a heartbeat, from Kubernetes quantities."""

from typing import Any

from headgate.adapters.manifests.fields import Fields, Problems
from headgate.domain.rejection import InvalidObject


def read_amounts(
    allocatable: dict[str, Any], others: dict[str, Any]
) -> tuple[dict[str, int], dict[str, int]]:
    """Both as amounts; raises `InvalidObject` with every quantity that is none."""
    problems: Problems = []
    fields = Fields({"allocatable": allocatable, "usedByOthers": others}, "", problems)
    found = (fields.amounts("allocatable"), fields.amounts("usedByOthers"))
    if problems:
        raise InvalidObject(
            "The report holds quantities that are none.",
            remedy="Correct what each entry of errors points to.",
            violations=tuple(problems),
        )
    return found
