"""Bulk actions as people and programs see them."""

from typing import Literal

from headgate.application.queries.views import Position, Schema, Timestamp, Whole

Outcome = Literal["eligible", "ineligible", "done", "refused"]


class BulkItem(Schema, kw_only=True, frozen=True):
    """One workload: what becomes of it, or why nothing does.

    `next` says what it would do then, or of very many that this was not tried out.
    """

    workload: str
    uid: str
    phase: str
    outcome: Outcome
    reason: str = ""
    next: str = ""


class BulkResult(Whole, kw_only=True, frozen=True):
    """All workloads of a bulk action, in order; `batch` is empty for a preview.

    `position` is where the set was frozen; who appears or changes later is left alone.
    """

    batch: str
    verb: str
    position: Position
    eligible: int
    ineligible: int
    items: list[BulkItem]


class BatchItem(Schema, kw_only=True, frozen=True):
    """What a batch did to one workload, how it stands now, and whether that can be undone."""

    workload: str
    did: str
    phase: str
    can_undo: bool
    reason: str = ""


class Batch(Whole, kw_only=True, frozen=True):
    """A bulk action that was carried out; `undo` is the action that takes it back, if one does."""

    batch: str
    verb: str
    undo: str
    actor: str
    reason: str
    at: Timestamp
    position: Position
    items: list[BatchItem]
