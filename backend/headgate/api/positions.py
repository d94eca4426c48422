"""Waiting for a position, and refusing bodies of kinds nobody reads, before a handler runs."""

from typing import Any

from litestar import Request

from headgate.api.callers import services_of
from headgate.api.parameters import whole_number
from headgate.api.problems import INVALID_REQUEST, UNSUPPORTED_MEDIA_TYPE, ApiFailure
from headgate.api.schemas import ProblemError
from headgate.application.failures import NotYetThere

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
        raise NotYetThere(f"The log stands at {reader.position}, not yet at {position}.")


def check_media_type(request: Request[Any, Any, Any]) -> None:
    """Refuse a body that is neither JSON nor YAML."""
    if request.method not in ("POST", "PUT", "PATCH"):
        return
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip()
    if not kind.endswith(MEDIA_TYPES):
        raise ApiFailure(UNSUPPORTED_MEDIA_TYPE, f"{kind} is not taken here.")
