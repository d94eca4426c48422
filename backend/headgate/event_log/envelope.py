"""The shapes of recorded events, under the name older imports know; they live in `domain.facts`."""

from headgate.domain.facts import DomainEvent, Origin, Recorded

__all__ = ["DomainEvent", "Origin", "Recorded"]
