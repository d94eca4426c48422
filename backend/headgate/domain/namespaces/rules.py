"""Rules for Namespaces: none beside those for names and labels that hold for every object."""

from headgate.domain.namespaces.specs import NamespaceSpec
from headgate.domain.rejection import Violation


def namespace_violations(spec: NamespaceSpec) -> tuple[Violation, ...]:  # noqa: ARG001
    """Nothing: the spec is empty."""
    return ()
