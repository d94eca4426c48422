"""Selectors and taints in their Kubernetes form."""

from typing import Any

from headgate.domain.values.selectors import LabelSelector, Taint


def rendered_selector(selector: LabelSelector) -> dict[str, Any]:
    """A label selector; `{}` selects everything."""
    rendered: dict[str, Any] = {}
    if selector.match_labels:
        rendered["matchLabels"] = selector.match_labels
    if selector.match_expressions:
        rendered["matchExpressions"] = [
            {"key": requirement.key, "operator": requirement.operator}
            | ({"values": list(requirement.values)} if requirement.values else {})
            for requirement in selector.match_expressions
        ]
    return rendered


def rendered_taint(taint: Taint) -> dict[str, str]:
    """A taint."""
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": taint.effect}
