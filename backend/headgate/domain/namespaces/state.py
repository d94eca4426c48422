"""The state of a Namespace."""

from headgate.domain.configured import Absent, Configured
from headgate.domain.namespaces.specs import NamespaceSpec

NamespaceState = Absent | Configured[NamespaceSpec]
