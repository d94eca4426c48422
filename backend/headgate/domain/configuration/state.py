"""The state of the Configuration."""

from headgate.domain.configuration.specs import ConfigurationSpec
from headgate.domain.configured import Absent, Configured

ConfigurationState = Absent | Configured[ConfigurationSpec]
