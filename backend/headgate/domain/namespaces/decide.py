"""What Namespaces answer to commands."""

from headgate.domain.configured import Absent
from headgate.domain.configuring import (
    Life,
    answer,
)
from headgate.domain.decider import Decider
from headgate.domain.namespaces.commands import NamespaceCommand
from headgate.domain.namespaces.events import (
    NamespaceChanged,
    NamespaceCreated,
    NamespaceDeleted,
    NamespaceDeletionRequested,
    NamespaceEvent,
)
from headgate.domain.namespaces.evolve import evolve_namespace
from headgate.domain.namespaces.rules import namespace_violations
from headgate.domain.namespaces.specs import NamespaceSpec
from headgate.domain.namespaces.state import NamespaceState
from headgate.domain.values.instants import Instant

_NAMESPACE: Life[NamespaceSpec, NamespaceEvent] = Life(
    kind="Namespace",
    created=lambda command: NamespaceCreated(
        uid=command.uid,
        name=command.name,
        labels=command.labels,
        annotations=command.annotations,
        spec=command.spec,
    ),
    changed=lambda command: NamespaceChanged(
        labels=command.labels, annotations=command.annotations, spec=command.spec
    ),
    deletion_requested=NamespaceDeletionRequested(),
    deleted=NamespaceDeleted(),
    rules=namespace_violations,
    when_in_use="Refuses",
)


def decide_namespace(
    state: NamespaceState,
    command: NamespaceCommand,
    at: Instant,  # noqa: ARG001  (the one shape of every decider)
) -> tuple[NamespaceEvent, ...]:
    """The facts that follow for a Namespace, or a `Rejection`."""
    return answer(_NAMESPACE, state, command)


NAMESPACE: Decider[NamespaceCommand, NamespaceState, NamespaceEvent] = Decider(
    initial_state=Absent(), decide=decide_namespace, evolve=evolve_namespace
)
