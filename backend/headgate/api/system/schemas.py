"""Health, for balancers and supervisors, and rebuilding read models."""

from headgate.api.schemas import Whole


class Health(Whole, kw_only=True, frozen=True):
    """Whether the process can do its work, and if not why."""

    status: str
    detail: str
    position: int


class Rebuilding(Whole, kw_only=True, frozen=True):
    """A read model is being built anew."""

    name: str
