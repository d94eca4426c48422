"""What controllers of admission checks report."""

from typing import Annotated, Literal

import msgspec

from headgate.api.executors.schemas import Message
from headgate.api.schemas import RequestBody
from headgate.domain.values.selectors import TaintEffect
from headgate.domain.workloads.events import CheckStateName

MAX_REQUEUE_AFTER_SECONDS = 31_536_000


class ToleratedTaint(RequestBody, kw_only=True, frozen=True):
    """What taint the pods tolerate besides."""

    key: str = ""
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str = ""
    effect: TaintEffect | None = None
    toleration_seconds: int | None = None


class UpdateOfPodSet(RequestBody, kw_only=True, frozen=True):
    """What is added to the template of one pod set before its pods start."""

    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: list[ToleratedTaint] = []


class CheckStateReport(RequestBody, kw_only=True, frozen=True):
    """Whether a workload may be admitted; `requeueAfterSeconds` matters to Retry alone.

    `podSetUpdates` are merged with those of other checks when it starts; where they contradict
    each other or the pod template it fails for good.
    """

    uid: str
    state: CheckStateName
    message: Message = ""
    requeue_after_seconds: (
        Annotated[int, msgspec.Meta(ge=0, le=MAX_REQUEUE_AFTER_SECONDS)] | None
    ) = None
    pod_set_updates: list[UpdateOfPodSet] = []


class CheckReport(RequestBody, kw_only=True, frozen=True):
    """Whether its controller serves the check."""

    active: bool
