"""What can have happened to the Configuration; the names are the storage format."""

import msgspec

from headgate.domain.configuration.specs import ConfigurationSpec


class ConfigurationCreated(msgspec.Struct, frozen=True, kw_only=True, tag="configuration.created"):
    """These rules hold for the whole installation from now on, instead of the defaults."""

    uid: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: ConfigurationSpec


class ConfigurationChanged(msgspec.Struct, frozen=True, kw_only=True, tag="configuration.changed"):
    """Its labels, annotations or spec are now these; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: ConfigurationSpec


class ConfigurationDeletionRequested(
    msgspec.Struct, frozen=True, tag="configuration.deletion_requested"
):
    """Someone asked to delete it; nothing uses it, so that it is gone at once."""


class ConfigurationDeleted(msgspec.Struct, frozen=True, tag="configuration.deleted"):
    """It is gone; the defaults hold."""


ConfigurationEvent = (
    ConfigurationCreated
    | ConfigurationChanged
    | ConfigurationDeletionRequested
    | ConfigurationDeleted
)
