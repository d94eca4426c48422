"""What can be asked of a Namespace."""

from headgate.domain.configuring import Change, Create, FinishDeletion, RequestDeletion
from headgate.domain.namespaces.specs import NamespaceSpec

NamespaceCommand = Create[NamespaceSpec] | Change[NamespaceSpec] | RequestDeletion | FinishDeletion
