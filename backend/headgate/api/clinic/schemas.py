"""Bodies of bulk actions."""

from typing import Annotated, Literal

import msgspec

from headgate.api.schemas import RequestBody, Timestamp
from headgate.application.commands.act_on_workloads import Verb
from headgate.domain.workloads.state import Phase


class BulkQuery(RequestBody, kw_only=True, frozen=True):
    """Every condition must hold; what is left out holds always."""

    namespace: str = ""
    phases: list[Phase] = []
    queue_name: str = ""
    cluster_queue: str = ""
    name: str = ""
    causes: list[str] = []
    label_selector: str = ""
    since: Timestamp | None = None


class ChosenWorkload(RequestBody, kw_only=True, frozen=True):
    """A workload (`namespace/name`) as a preview named it; with its uid no later one is meant."""

    workload: str
    uid: str = ""


class BulkAction(RequestBody, kw_only=True, frozen=True):
    """An action on those that match `query`, or on the named ones.

    `position` is the one of a preview: who has changed since is refused.
    """

    verb: Verb
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=1024, examples=["quota is back"])]
    expires_at: Timestamp | None = None
    query: BulkQuery | None = None
    workloads: Annotated[list[ChosenWorkload], msgspec.Meta(max_length=10_000)] = []
    position: int | None = None
    dry_run: Literal["All"] | None = None


class Undo(RequestBody, kw_only=True, frozen=True):
    """Why a batch is taken back."""

    reason: Annotated[str, msgspec.Meta(max_length=1024)] = ""
