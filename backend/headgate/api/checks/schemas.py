"""What controllers of admission checks report."""

from typing import Annotated

import msgspec

from headgate.api.executors.schemas import Message
from headgate.api.shapes import Asked
from headgate.domain.workloads.events import CheckWord

LONGEST_WAIT_SECONDS = 31_536_000


class CheckStateReport(Asked, kw_only=True, frozen=True):
    """Whether a workload may be admitted; `requeueAfterSeconds` matters to Retry alone."""

    uid: str
    state: CheckWord
    message: Message = ""
    requeue_after_seconds: Annotated[int, msgspec.Meta(ge=0, le=LONGEST_WAIT_SECONDS)] | None = None


class CheckReport(Asked, kw_only=True, frozen=True):
    """Whether its controller serves the check."""

    active: bool
