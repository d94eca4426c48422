"""A name for every request, given by the caller or by us, found again in answers and in events."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from litestar.datastructures import Headers

ACCEPTABLE = re.compile(r"[A-Za-z0-9._:-]{1,64}")


def request_id_of(scope: Mapping[str, Any]) -> str:
    """The request's name; made when first asked for."""
    state = scope["state"]
    if "request_id" not in state:
        asked = Headers.from_scope(scope).get("x-request-id", "")  # type: ignore[arg-type]
        new: Callable[[], str] = scope["litestar_app"].state.services.ids.new
        state["request_id"] = asked if ACCEPTABLE.fullmatch(asked) else new()
    return str(state["request_id"])
