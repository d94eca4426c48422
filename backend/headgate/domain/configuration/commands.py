"""What can be asked of the Configuration."""

from headgate.domain.configuration.specs import ConfigurationSpec
from headgate.domain.configuring import Change, Create, FinishDeletion, RequestDeletion

ConfigurationCommand = (
    Create[ConfigurationSpec] | Change[ConfigurationSpec] | RequestDeletion | FinishDeletion
)
