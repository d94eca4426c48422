"""The text of a placement shortfall, with amounts as people write them (topology.md §5)."""

from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.workloads.explanation import Blocker


def placement_blocker(pod_set: str, flavor: str, shortfall: PlacementShortfall) -> Blocker:
    """The blocker of a pod set without a placement, or of the leader that goes with it."""
    need, have = (1, 0) if shortfall.lacks_leader else (shortfall.needs, shortfall.fits)
    return Blocker(
        type="Topology",
        reason="WaitingForHosts" if shortfall.is_occupied else "TopologyPlacementFailed",
        message=_sentence(flavor, shortfall),
        pod_set=pod_set,
        flavor=flavor,
        level=shortfall.level,
        domain="/".join(shortfall.domain),
        need=need if not shortfall.reason else None,
        have=have if not shortfall.reason else None,
        short_by=need - have if not shortfall.reason else None,
        excluded_hosts=dict(shortfall.excluded),
    )


def shortfall_text(flavor: str, shortfall: PlacementShortfall) -> str:
    """The shortfall as the end of a sentence."""
    if shortfall.reason:
        return shortfall.reason
    sentence = _sentence(flavor, shortfall)
    return sentence[0].lower() + sentence[1:]


def _sentence(flavor: str, shortfall: PlacementShortfall) -> str:
    if shortfall.reason:
        return f"It cannot be placed: {shortfall.reason}"
    level = written_level(shortfall.level)
    if shortfall.lacks_leader:
        where = f"in any {level}" if shortfall.domain else f"of flavor {flavor}"
        return f"The leader of the group has no host {where} that its pods fit in"
    needs = f"Needs room for {_counted(shortfall.needs, _added(shortfall.unit, shortfall))}"
    if not shortfall.hosts:
        return f"{needs}; flavor {flavor} has no hosts"
    if not shortfall.domain:
        return f"{needs}; {_all_together(flavor, shortfall)}{_layers(shortfall)}"
    best = shortfall.domain[-1]
    together = f" beside the {shortfall.standing} that run, in" if shortfall.standing else " in"
    room = f"the best {level} {best} has room for {shortfall.fits}{_layers(shortfall)}"
    return f"{needs}{together} one {level}; {room}"


def _added(unit: str, shortfall: PlacementShortfall) -> str:
    """The unit, or more of it where pods of the pod set run already."""
    return f"more {unit}" if shortfall.standing else unit


def _layers(shortfall: PlacementShortfall) -> str:
    """How many slices of each layer fit in the best domain."""
    if not shortfall.layers:
        return ""
    each = (f"{lay.fits} of {lay.needs} by {written_level(lay.level)}" for lay in shortfall.layers)
    return f" (slices: {', '.join(each)})"


def _all_together(flavor: str, shortfall: PlacementShortfall) -> str:
    """How many units all hosts of a flavor take together; if none, why hosts are excluded."""
    hosts = _counted(shortfall.hosts, "hosts")
    if shortfall.fits:
        return f"all {hosts} of flavor {flavor} have room for {shortfall.fits}"
    causes = ", ".join(f"{count} by {cause}" for cause, count in shortfall.excluded)
    because = f" (ruled out: {causes})" if causes else ""
    return f"none of the {hosts} of flavor {flavor} has room for one{because}"


def _counted(count: int, things: str) -> str:
    """A number with its word: `1 pod`, `3 pods`."""
    return f"{count} {things.removesuffix('s') if count == 1 else things}"


BINARY = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def written_amount(resource: str, amount: int) -> str:
    """An amount with its resource: `1.5 cpu`, `4Gi memory`, `8 nvidia.com/gpu`."""
    return f"{written_number(resource, amount)} {resource}"


def written_number(resource: str, amount: int) -> str:
    """An amount alone: cores from millicores, bytes with a binary suffix where it divides."""
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount / 1000:g}"
    if "memory" in resource or "storage" in resource:
        for suffix, size in BINARY:
            if amount and amount % size == 0:
                return f"{amount // size}{suffix}"
    return str(amount)


def written_level(level: str) -> str:
    """A level by the last part of its label: `rack` for `cloud.example/rack`."""
    return level.rpartition("/")[2] or level
