"""Short ways to read a manifest in tests."""

from typing import Any

import yaml

from headgate.adapters.manifests.parse import Desired, Refused, parse
from headgate.messages.catalogue import remedy_of, text_of


def a_manifest(kind: str, version: str = "kueue.x-k8s.io/v1beta2", **parts: Any) -> dict[str, Any]:
    """A manifest called `x` with these parts (`spec`, `metadata`, ...)."""
    metadata = {"name": "x"} | parts.pop("metadata", {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}


def read(manifest: dict[str, Any] | str) -> Desired:
    """The one object of a manifest that breaks no rule of reading, after a runtime it may name."""
    *_runtimes, found = parse(_text(manifest).encode())
    assert isinstance(found, Desired), found
    assert [each.kind for each in _runtimes] in ([], ["ClusterTrainingRuntime"]), _runtimes
    return found


def refused(manifest: dict[str, Any] | str) -> dict[str, str]:
    """The pointers of the one manifest's violations, each with its rule and remedy."""
    (found,) = parse(_text(manifest).encode())
    assert isinstance(found, Refused), found
    violations = found.problem.violations
    assert len({(v.pointer, text_of(v.message)) for v in violations}) == len(violations)
    return {v.pointer: f"{text_of(v.message)} {remedy_of(v.message)}" for v in violations}


def _text(manifest: dict[str, Any] | str) -> str:
    return manifest if isinstance(manifest, str) else str(yaml.safe_dump(manifest))
