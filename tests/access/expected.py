"""The rights that the matrix expects, and the routes that the API describes."""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

Namespace: TypeAlias = Literal["own", "foreign"]

ROLES = (
    "nobody", "viewer", "viewer-a", "submitter", "namespace-admin", "queue-admin", "executor",
    "admin",
)  # fmt: skip
CONFINED = ("viewer-a", "submitter", "namespace-admin")
"""Roles that see team-a alone."""
NAMESPACES: tuple[Namespace, ...] = ("own", "foreign")
METHODS = ("get", "post", "put", "delete", "patch")


@cache
def document() -> dict[str, dict[str, dict[str, object]]]:
    """What each path does by method, in the API's own description."""
    found: dict[str, dict[str, dict[str, object]]] = json.loads(
        Path("frontend/openapi.json").read_text()
    )["paths"]
    return found


def routes() -> list[str]:
    """Every route of the API as `METHOD /path`."""
    return [
        f"{method.upper()} {path}"
        for path, does in document().items()
        for method in does
        if method in METHODS
    ]


@cache
def expected() -> dict[str, dict[Namespace, frozenset[str]]]:
    """The roles that may use a route, in each namespace; raises for a route that is named twice."""
    matrix = tomllib.loads(Path(__file__).with_name("matrix.toml").read_text())
    groups = {name: frozenset(roles) for name, roles in matrix["groups"].items()}
    found: dict[str, dict[Namespace, frozenset[str]]] = {}
    for rule in matrix["rule"]:
        for route in rule["routes"]:
            assert route not in found, f"{route} is named twice"
            found[route] = {place: groups[rule[place]] for place in NAMESPACES}
    return found
