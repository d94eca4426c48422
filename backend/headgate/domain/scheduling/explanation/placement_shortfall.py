"""Why pods have no place on hosts, in words (reference topology.md §5)."""

from headgate.domain.scheduling.explanation.amounts import written_level
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.workloads.explanation import Blocker


def without_place(pod_set: str, flavor: str, why: PlacementShortfall) -> Blocker:
    """What stands in the way of a pod set, or of the leader that goes with it."""
    need, have = (1, 0) if why.lacks_leader else (why.needs, why.fits)
    return Blocker(
        type="Topology",
        reason="WaitingForHosts" if why.is_occupied else "TopologyPlacementFailed",
        message=_sentence(flavor, why),
        pod_set=pod_set,
        flavor=flavor,
        level=why.level,
        domain="/".join(why.domain),
        need=need if not why.reason else None,
        have=have if not why.reason else None,
        short_by=need - have if not why.reason else None,
        excluded_hosts=dict(why.excluded),
    )


def in_words(flavor: str, why: PlacementShortfall) -> str:
    """Why, as the end of a sentence."""
    if why.reason:
        return why.reason
    sentence = _sentence(flavor, why)
    return sentence[0].lower() + sentence[1:]


def _sentence(flavor: str, why: PlacementShortfall) -> str:
    if why.reason:
        return f"It cannot be placed: {why.reason}"
    level = written_level(why.level)
    if why.lacks_leader:
        where = f"in any {level}" if why.domain else f"of flavor {flavor}"
        return f"The leader of the group has no host {where} that its pods fit in"
    needs = f"Needs room for {_counted(why.needs, _added(why.unit, why))}"
    if not why.hosts:
        return f"{needs}; flavor {flavor} has no hosts"
    if not why.domain:
        return f"{needs}; {_all_together(flavor, why)}{_layers(why)}"
    best = why.domain[-1]
    together = f" beside the {why.standing} that run, in" if why.standing else " in"
    room = f"the best {level} {best} has room for {why.fits}{_layers(why)}"
    return f"{needs}{together} one {level}; {room}"


def _added(unit: str, why: PlacementShortfall) -> str:
    """The unit, or more of it where others stay where they are."""
    return f"more {unit}" if why.standing else unit


def _layers(why: PlacementShortfall) -> str:
    """How far each layer of slices comes in the best domain."""
    if not why.layers:
        return ""
    each = (f"{lay.fits} of {lay.needs} by {written_level(lay.level)}" for lay in why.layers)
    return f" (slices: {', '.join(each)})"


def _all_together(flavor: str, why: PlacementShortfall) -> str:
    """What the hosts of a flavor can take between them; with none to spare, why each is out."""
    if why.fits:
        return f"all {_counted(why.hosts, 'hosts')} of flavor {flavor} have room for {why.fits}"
    causes = ", ".join(f"{count} by {cause}" for cause, count in why.excluded)
    because = f" (ruled out: {causes})" if causes else ""
    return (
        f"none of the {_counted(why.hosts, 'hosts')} of flavor {flavor} has room for one{because}"
    )


def _counted(count: int, things: str) -> str:
    """A number with its word: `1 pod`, `3 pods`."""
    return f"{count} {things.removesuffix('s') if count == 1 else things}"
