"""What workloads say of themselves in annotations of Kueue's."""

from collections.abc import Mapping

ALLOWED_FLAVORS = "kueue.x-k8s.io/workload-allowed-resource-flavors"


def allowed_flavors(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """The only flavors the workload may have; empty means any."""
    return listed(annotations.get(ALLOWED_FLAVORS, ""))


def listed(text: str) -> tuple[str, ...]:
    """The words of a list with commas, without the blanks around them."""
    return tuple(word for part in text.split(",") if (word := part.strip()))
