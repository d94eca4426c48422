"""What can keep a use case from being carried out, other than a rule that says no."""


class StaleVersion(Exception):
    """The caller changes what it has not seen: the object is at another version."""


class KeyUsedDifferently(Exception):
    """The idempotency key was used before for a different request."""


class Contended(Exception):
    """Decided again and again, and each time something it was decided on had changed."""


class Overloaded(Exception):
    """More appends wait than will be served in reasonable time; try again a little later."""


class PositionNotReached(Exception):
    """The position asked for was not reached in the time one may wait."""


class Archived(Exception):
    """It takes facts from before the beginning of the log: they were archived and taken away."""


class BrokenFile(Exception):
    """A file is not what was saved in it, or does not belong to this log."""


class LimitExceeded(Exception):
    """What is asked for takes more time or memory than one request may have."""
