"""PodSetUpdates: what admission checks add to pods before they start (queueing.md §3.11).

Kueue: podset.Merge. The updates of all checks are merged when the workload starts. If they
contradict each other or the pod template, the pods cannot be created and the workload finishes as
FailedToStart.
"""

from collections.abc import Iterator, Mapping

import msgspec

from headgate.domain.field_rules import (
    duplicate_violations,
    label_violations,
    shown,
    toleration_violations,
)
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.values.message import Message, message
from headgate.domain.values.selectors import Toleration
from headgate.domain.workloads.specs import PodSet

Texts = Mapping[str, str]


class PodSetUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """The additions to the template of one pod set."""

    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class PodSetUpdateConflict(Exception):
    """Two updates, or an update and the template, require different values of one key."""

    def __init__(self, found: Message) -> None:
        super().__init__(found.code)
        self.message = found


def update_violations(
    pointer: str, updates: tuple[PodSetUpdate, ...], pod_sets: tuple[PodSet, ...]
) -> Iterator[Violation]:
    """Violations of the updates that one check reports, without regard to other checks."""
    known = tuple(pod_set.name for pod_set in pod_sets)
    for index, update in enumerate(updates):
        place = child(pointer, index)
        if update.name not in known:
            yield violation(
                child(place, "name"), "NotOneOf", value=shown(update.name), choices=known
            )
        yield from label_violations(child(place, "labels"), update.labels)
        yield from label_violations(child(place, "nodeSelector"), update.node_selector)
        yield from toleration_violations(child(place, "tolerations"), update.tolerations)
    yield from duplicate_violations(
        (child(pointer, index, "name"), update.name) for index, update in enumerate(updates)
    )


def merged_updates(
    pod_sets: tuple[PodSet, ...], updates: Mapping[str, tuple[PodSetUpdate, ...]]
) -> tuple[PodSetUpdate, ...]:
    """The update of each pod set by all checks together; raises `PodSetUpdateConflict`."""
    found = {pod_set.name: PodSetUpdate(name=pod_set.name) for pod_set in pod_sets}
    templates = {pod_set.name: pod_set for pod_set in pod_sets}
    for check, additions in sorted(updates.items()):
        for update in additions:
            template = _of_template(templates[update.name])
            _raise_on_conflict(update, template, "PodSetUpdateContradictsPods", check)
            _raise_on_conflict(update, found[update.name], "PodSetUpdatesContradict", check)
            found[update.name] = _merged_pair(found[update.name], update)
    return tuple(update for update in found.values() if update != PodSetUpdate(name=update.name))


def _of_template(pod_set: PodSet) -> PodSetUpdate:
    metadata = pod_set.template.get("metadata") or {}
    return PodSetUpdate(
        name=pod_set.name,
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        node_selector=pod_set.scheduling.node_selector,
    )


def _raise_on_conflict(update: PodSetUpdate, other: PodSetUpdate, code: str, check: str) -> None:
    parts: tuple[tuple[str, Texts, Texts], ...] = (
        ("label", update.labels, other.labels),
        ("annotation", update.annotations, other.annotations),
        ("node selector", update.node_selector, other.node_selector),
    )
    for what, wanted, given in parts:
        for key, value in sorted(wanted.items()):
            if given.get(key, value) != value:
                raise PodSetUpdateConflict(
                    message(
                        code,
                        check=check,
                        field=what,
                        key=key,
                        pod_set=update.name,
                        value=value,
                        other=given[key],
                    )
                )


def _merged_pair(left: PodSetUpdate, right: PodSetUpdate) -> PodSetUpdate:
    return PodSetUpdate(
        name=left.name,
        labels={**left.labels, **right.labels},
        annotations={**left.annotations, **right.annotations},
        node_selector={**left.node_selector, **right.node_selector},
        tolerations=tuple(dict.fromkeys((*left.tolerations, *right.tolerations))),
    )
