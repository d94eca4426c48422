"""The blocker and the message of a placement shortfall (topology.md §5)."""

from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.values.message import Argument, Message, message
from headgate.domain.workloads.explanation import Blocker


def placement_blocker(pod_set: str, flavor: str, shortfall: PlacementShortfall) -> Blocker:
    """The blocker of a pod set without a placement, or of the leader that goes with it."""
    need, have = (1, 0) if shortfall.lacks_leader else (shortfall.needs, shortfall.fits)
    is_counted = shortfall.reason is None
    return Blocker(
        type="Topology",
        reason="WaitingForHosts" if shortfall.is_occupied else "TopologyPlacementFailed",
        message=_message(shortfall),
        pod_set=pod_set,
        flavor=flavor,
        level=shortfall.level,
        domain="/".join(shortfall.domain),
        need=need if is_counted else None,
        have=have if is_counted else None,
        short_by=need - have if is_counted else None,
        excluded_hosts=shortfall.excluded,
    )


def described_shortfall(
    pod_set: str, flavor: str, shortfall: PlacementShortfall
) -> PlacementShortfall:
    """The shortfall as a reason alone, which names pod set and flavor."""
    if shortfall.reason is not None:
        return shortfall
    return PlacementShortfall(placement_blocker(pod_set, flavor, shortfall).full_message)


def _message(shortfall: PlacementShortfall) -> Message:
    if shortfall.reason is not None:
        return message("PlacementFailed", why=shortfall.reason)
    is_one_domain = bool(shortfall.domain)
    if shortfall.lacks_leader:
        return message("NoHostInDomainFitsLeader" if is_one_domain else "NoHostFitsLeader")
    if not shortfall.hosts:
        return message("FlavorHasNoHosts")
    arguments: dict[str, Argument] = {}
    if shortfall.running_pods:
        arguments["running"] = shortfall.running_pods
    if shortfall.layers:
        arguments["layers"] = tuple(
            message("SlicesOfLayer", fits=layer.fits, needs=layer.needs, slice_level=layer.level)
            for layer in shortfall.layers
        )
    is_sliced = shortfall.unit == "slices"
    if is_one_domain:
        return Message("SlicesExceedDomain" if is_sliced else "PodsExceedDomain", arguments)
    arguments["hosts"] = shortfall.hosts
    if shortfall.fits:
        return Message("SlicesExceedHosts" if is_sliced else "PodsExceedHosts", arguments)
    return Message("NoHostFitsSlice" if is_sliced else "NoHostFitsPod", arguments)
