"""What the Configuration answers to commands."""

from headgate.domain.configuration.commands import ConfigurationCommand
from headgate.domain.configuration.events import (
    ConfigurationChanged,
    ConfigurationCreated,
    ConfigurationDeleted,
    ConfigurationDeletionRequested,
    ConfigurationEvent,
)
from headgate.domain.configuration.evolve import evolve_configuration
from headgate.domain.configuration.rules import configuration_violations
from headgate.domain.configuration.specs import ConfigurationSpec
from headgate.domain.configuration.state import ConfigurationState
from headgate.domain.configured import Absent
from headgate.domain.configuring import Life, answer
from headgate.domain.decider import Decider
from headgate.domain.values.instants import Instant

_CONFIGURATION: Life[ConfigurationSpec, ConfigurationEvent] = Life(
    kind="Configuration",
    created=lambda command: ConfigurationCreated(
        uid=command.uid,
        name=command.name,
        labels=command.labels,
        annotations=command.annotations,
        spec=command.spec,
    ),
    changed=lambda command: ConfigurationChanged(
        labels=command.labels, annotations=command.annotations, spec=command.spec
    ),
    deletion_requested=ConfigurationDeletionRequested(),
    deleted=ConfigurationDeleted(),
    rules=configuration_violations,
)


def decide_configuration(
    state: ConfigurationState,
    command: ConfigurationCommand,
    at: Instant,  # noqa: ARG001  (the one shape of every decider)
) -> tuple[ConfigurationEvent, ...]:
    """The facts that follow for the Configuration, or a `Rejection`."""
    return answer(_CONFIGURATION, state, command)


CONFIGURATION: Decider[ConfigurationCommand, ConfigurationState, ConfigurationEvent] = Decider(
    initial_state=Absent(), decide=decide_configuration, evolve=evolve_configuration
)
