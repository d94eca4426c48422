"""The words for why a workload waits: ours, by the words that Kueue has for the same kinds."""

from collections.abc import Iterator

KINDS = {
    "Misconfigured": (
        "NoQueue",
        "LocalQueueDoesNotExist",
        "LocalQueueTerminating",
        "ClusterQueueDoesNotExist",
        "Terminating",
        "NamespaceMismatch",
        "OutsideLimitRange",
    ),
    "Suspended": ("LocalQueueStopped", "Stopped"),
}


def differing_reasons(place: str, wanted: str, found: str) -> Iterator[str]:
    """Whether the reason that is shown is of another kind than Kueue's."""
    if found != wanted and found not in KINDS.get(wanted, ()):
        yield f"{place}: wanted {wanted}, got {found or 'none'}"
