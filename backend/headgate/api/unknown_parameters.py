"""Query parameters that nobody reads are refused: a misspelt filter would otherwise show all."""

from difflib import get_close_matches
from functools import cache
from typing import Any

from litestar import Request
from litestar.handlers import HTTPRouteHandler

from headgate.api.problems import UNKNOWN_PARAMETER, ApiFailure
from headgate.api.schemas import ProblemError
from headgate.domain.values.pointers import child

EVERYWHERE = ("at", "minPosition")
"""What every address takes, before its handler is asked."""


def reject_unknown_parameters(request: Request[Any, Any, Any]) -> None:
    """Refuse a request with a query parameter that its address does not know."""
    if not request.scope["query_string"]:
        return
    handler = request.route_handler
    assert isinstance(handler, HTTPRouteHandler), "only requests of HTTP come here"
    known = known_parameters(handler, tuple(request.path_params))
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        errors = tuple(_error(name, known) for name in dict.fromkeys(unknown))
        detail = f"There is no query parameter {unknown[0]:.80} here."
        raise ApiFailure(UNKNOWN_PARAMETER, detail, errors=errors)


@cache
def known_parameters(handler: HTTPRouteHandler, path_parameters: tuple[str, ...]) -> list[str]:
    """The query parameters that an address takes, in order of names."""
    places: Any = dict.fromkeys(path_parameters)
    declared = handler.create_kwargs_model(path_parameters=places).expected_query_params
    return sorted({*(parameter.field_alias for parameter in declared), *EVERYWHERE})


def _error(name: str, known: list[str]) -> ProblemError:
    near = get_close_matches(name, known, 1)
    hint = f"Did you mean {near[0]}? " if near else ""
    return ProblemError(
        pointer=child("", name[:80]),
        rule="It is one of the query parameters of this address.",
        remedy=f"{hint}Known are {', '.join(known)}.",
    )
