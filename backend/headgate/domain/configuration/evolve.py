"""How facts change the Configuration."""

from headgate.domain.configuration.events import (
    ConfigurationChanged,
    ConfigurationCreated,
    ConfigurationDeleted,
    ConfigurationDeletionRequested,
    ConfigurationEvent,
)
from headgate.domain.configuration.state import ConfigurationState
from headgate.domain.configured import Absent, changed, created, terminating
from headgate.domain.values.instants import Instant


def evolve_configuration(
    state: ConfigurationState, event: ConfigurationEvent, at: Instant
) -> ConfigurationState:
    """The Configuration after the event."""
    match event:
        case ConfigurationCreated():
            return created(event, at)
        case ConfigurationChanged():
            return changed(state, event)
        case ConfigurationDeletionRequested():
            return terminating(state, at)
        case ConfigurationDeleted():
            return Absent()
