"""Log positions that a request names: `minPosition` waits for one, `at` reads the past at one."""

from dataclasses import dataclass
from typing import Any

from litestar import Request

from headgate.api.callers import PAST, services_of
from headgate.api.parameters import instant_or_none, whole_number
from headgate.api.problems import INVALID_REQUEST, UNSUPPORTED_MEDIA_TYPE, ApiFailure
from headgate.api.schemas import ProblemError
from headgate.application.failures import PositionNotReached
from headgate.application.time_travel.services_at import PointInTime, services_at

MIN_POSITION_WAIT_SECONDS = 5.0
MEDIA_TYPES = ("json", "yaml")


async def reach_position(request: Request[Any, Any, Any]) -> None:
    """Wait until the warm state has seen what `minPosition` asks for."""
    if b"minPosition" not in request.scope["query_string"]:
        return
    position = whole_number(str(request.query_params.get("minPosition", "")))
    if position is None:
        error = ProblemError(pointer="/minPosition", rule="It is a position: a whole number.")
        raise ApiFailure(INVALID_REQUEST, "minPosition is no position.", errors=(error,))
    reader = services_of(request).reader
    if not await reader.reached(position, within_seconds=MIN_POSITION_WAIT_SECONDS):
        raise PositionNotReached(f"The log stands at {reader.position}, not yet at {position}.")


def check_media_type(request: Request[Any, Any, Any]) -> None:
    """Refuse a body that is neither JSON nor YAML."""
    if request.method not in ("POST", "PUT", "PATCH"):
        return
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip()
    if not kind.endswith(MEDIA_TYPES):
        raise ApiFailure(UNSUPPORTED_MEDIA_TYPE, f"{kind} is not taken here.")


@dataclass(frozen=True, slots=True)
class NoPast:
    """Why a read has no past (`opt={"live": ...}`), and where to look instead."""

    rule: str
    remedy: str = "Leave `at` out."


PRESENT_ONLY = NoPast("This tells how things are now; nothing of it stands in the log.")


STREAMED = NoPast("This follows the log as it grows.", "Read `/v1/events` with `at`.")


async def read_at(request: Request[Any, Any, Any]) -> None:
    """Let the request see the past that `at` names; refuse to change it."""
    text = request.query_params.get("at") if b"at=" in request.scope["query_string"] else None
    if text is None:
        return
    if request.method != "GET" and not request.route_handler.opt.get("past"):
        raise _refused("Only reads take it: the past cannot be changed.", "Leave `at` out.")
    live: NoPast | None = request.route_handler.opt.get("live")
    if live is not None:
        raise _refused(live.rule, live.remedy)
    past = await services_at(services_of(request), point_in_time(str(text)))
    request.scope["state"][PAST] = past


def point_in_time(text: str) -> PointInTime:
    """The position or instant that a text names; raises `InvalidRequest`."""
    position = whole_number(text)
    if position is not None:
        return PointInTime(position=position)
    return PointInTime(at=instant_or_none(text.replace(" ", "+"), "/at"))


def _refused(rule: str, remedy: str) -> ApiFailure:
    error = ProblemError(pointer="/at", rule=rule, remedy=remedy)
    return ApiFailure(INVALID_REQUEST, "`at` cannot be used here.", errors=(error,))
