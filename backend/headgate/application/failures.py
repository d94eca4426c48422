"""Failures of a use case other than a rejection."""


class StaleVersion(Exception):
    """The caller changes what it has not seen: the object is at another version."""


class KeyUsedDifferently(Exception):
    """The idempotency key was used before for a different request."""


class Contended(Exception):
    """Decided again and again, and each time something it was decided on had changed."""


class Overloaded(Exception):
    """More appends wait than can be served in reasonable time; the caller retries later."""


class PositionNotReached(Exception):
    """The requested position was not reached within the allowed wait."""


class Archived(Exception):
    """The read needs events before the beginning of the log: they were archived and removed."""


class BrokenFile(Exception):
    """A file is not what was saved in it, or does not belong to this log."""


class LimitExceeded(Exception):
    """The request takes more time or memory than one request may have."""
