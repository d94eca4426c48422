"""What LimitRanges and RuntimeClasses answer to commands.

Both may go at any time: what they gave to a workload it keeps.
"""

from headgate.domain.configured import Absent
from headgate.domain.configuring import Life, answer
from headgate.domain.decider import Decider
from headgate.domain.limits.commands import LimitRangeCommand, RuntimeClassCommand
from headgate.domain.limits.events import (
    LimitRangeChanged,
    LimitRangeCreated,
    LimitRangeDeleted,
    LimitRangeDeletionRequested,
    LimitRangeEvent,
    RuntimeClassChanged,
    RuntimeClassCreated,
    RuntimeClassDeleted,
    RuntimeClassDeletionRequested,
    RuntimeClassEvent,
)
from headgate.domain.limits.evolve import evolve_limit_range, evolve_runtime_class
from headgate.domain.limits.rules import limit_range_violations, runtime_class_violations
from headgate.domain.limits.specs import LimitRangeSpec, RuntimeClassSpec
from headgate.domain.limits.state import LimitRangeState, RuntimeClassState
from headgate.domain.values.instants import Instant

_LIMIT_RANGE: Life[LimitRangeSpec, LimitRangeEvent] = Life(
    kind="LimitRange",
    created=lambda command: LimitRangeCreated(
        uid=command.uid,
        name=command.name,
        namespace=command.namespace,
        labels=command.labels,
        annotations=command.annotations,
        spec=command.spec,
    ),
    changed=lambda command: LimitRangeChanged(
        labels=command.labels, annotations=command.annotations, spec=command.spec
    ),
    deletion_requested=LimitRangeDeletionRequested(),
    deleted=LimitRangeDeleted(),
    rules=limit_range_violations,
)

_RUNTIME_CLASS: Life[RuntimeClassSpec, RuntimeClassEvent] = Life(
    kind="RuntimeClass",
    created=lambda command: RuntimeClassCreated(
        uid=command.uid,
        name=command.name,
        labels=command.labels,
        annotations=command.annotations,
        spec=command.spec,
    ),
    changed=lambda command: RuntimeClassChanged(
        labels=command.labels, annotations=command.annotations, spec=command.spec
    ),
    deletion_requested=RuntimeClassDeletionRequested(),
    deleted=RuntimeClassDeleted(),
    rules=runtime_class_violations,
)


def decide_limit_range(
    state: LimitRangeState,
    command: LimitRangeCommand,
    at: Instant,  # noqa: ARG001  (the one shape of every decider)
) -> tuple[LimitRangeEvent, ...]:
    """The facts that follow for a LimitRange, or a `Rejection`."""
    return answer(_LIMIT_RANGE, state, command)


def decide_runtime_class(
    state: RuntimeClassState,
    command: RuntimeClassCommand,
    at: Instant,  # noqa: ARG001  (the one shape of every decider)
) -> tuple[RuntimeClassEvent, ...]:
    """The facts that follow for a RuntimeClass, or a `Rejection`."""
    return answer(_RUNTIME_CLASS, state, command)


LIMIT_RANGE: Decider[LimitRangeCommand, LimitRangeState, LimitRangeEvent] = Decider(
    initial_state=Absent(), decide=decide_limit_range, evolve=evolve_limit_range
)
RUNTIME_CLASS: Decider[RuntimeClassCommand, RuntimeClassState, RuntimeClassEvent] = Decider(
    initial_state=Absent(), decide=decide_runtime_class, evolve=evolve_runtime_class
)
