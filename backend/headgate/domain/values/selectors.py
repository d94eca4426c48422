"""Label selectors, node affinity, taints and tolerations, meaning what Kubernetes means."""

from typing import Any, Literal

import msgspec

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
TaintEffect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """One condition on one label key; `values` is empty for Exists and DoesNotExist."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


class LabelSelector(msgspec.Struct, frozen=True, kw_only=True):
    """All requirements must hold; with none it selects everything. "Selects nothing" is `None`."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()


class NodeSelectorTerm(msgspec.Struct, frozen=True, kw_only=True):
    """Requirements on one node, all of which must hold; terms of a list are alternatives."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class PreferredTerm(msgspec.Struct, frozen=True, kw_only=True):
    """A wish for a node with a weight from 1 to 100."""

    weight: int
    term: NodeSelectorTerm


class PodTerm(msgspec.Struct, frozen=True, kw_only=True):
    """Pods near which a pod must be, or must not be: in one domain of the label `topology_key`.

    Without `namespaces` and `namespace_selector` the pods are those of the pod's own namespace.
    """

    topology_key: str
    selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class SpreadConstraint(msgspec.Struct, frozen=True, kw_only=True):
    """How much more selected pods of its namespace a pod's domain may have than any other domain.

    Domains are those of nodes that the pod may use: with `honors_affinity` by its node selector and
    affinity, with `honors_taints` by their taints. Fewer than `min_domains` count as an empty one.
    """

    topology_key: str
    max_skew: int
    selector: LabelSelector | None = None
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


class PodConstraints(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod requires of the pods around it (Kubernetes: inter-pod affinity, spreading)."""

    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()


class Taint(msgspec.Struct, frozen=True, kw_only=True):
    """A mark on a node that keeps away pods that do not tolerate it."""

    key: str
    value: str = ""
    effect: TaintEffect = "NoSchedule"


class Toleration(msgspec.Struct, frozen=True, kw_only=True):
    """What taint a pod tolerates; an empty key with Exists means all, no effect every effect.

    With `seconds` a NoExecute taint is tolerated only that long, which the host itself sees to.
    """

    key: str = ""
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str = ""
    effect: TaintEffect | None = None
    seconds: int | None = None


def toleration_fields(toleration: Toleration) -> dict[str, Any]:
    """A toleration as it stands in pods, in Kubernetes' names."""
    rendered: dict[str, Any] = {"key": toleration.key} if toleration.key else {}
    rendered["operator"] = toleration.operator
    if toleration.value:
        rendered["value"] = toleration.value
    if toleration.effect:
        rendered["effect"] = toleration.effect
    if toleration.seconds is not None:
        rendered["tolerationSeconds"] = toleration.seconds
    return rendered
