"""Workloads that somebody may have to help, as people and programs see them."""

from headgate.application.queries.views import Position, Schema, Timestamp, Whole


class LimitView(Whole, kw_only=True, frozen=True):
    """One limit: the field, what it allows, how much is used, and whether it decided."""

    field: str
    most: int
    used: int
    decided: bool


class CaseView(Schema, kw_only=True, frozen=True):
    """One workload: how it came to this, and what the action that helps does.

    `next` is what it would do right after that action, tried on the installation as it stands; it
    is left out in lists.
    """

    workload: str
    uid: str
    phase: str
    cluster_queue: str = ""
    queue_name: str = ""
    priority: int = 0
    cause: str
    sentence: str
    by: str = ""
    since: Timestamp | None = None
    attempts: int = 0
    evictions: int = 0
    next_try_at: Timestamp | None = None
    gives_up_at: Timestamp | None = None
    limits: list[LimitView] = []
    helps: str
    resets: list[str] = []
    keeps: list[str] = []
    next: str = ""


class Clinic(Whole, kw_only=True, frozen=True):
    """Everyone who is inactive, backs off or is held; `causes` counts all that match by cause.

    `more` is how many beyond the limit are not listed.
    """

    position: Position
    at: Timestamp
    causes: dict[str, int]
    more: int
    items: list[CaseView]
