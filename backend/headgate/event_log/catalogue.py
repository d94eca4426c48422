"""The stored name and current schema version of every event, and the class that carries it."""

from typing import get_args

from headgate.event_log.envelope import DomainEvent

EVENT_CLASSES: tuple[type, ...] = get_args(DomainEvent)

SCHEMA_VERSIONS: dict[str, int] = {}
"""Stored names whose shape has changed, with the current version; all others are at version 1."""
