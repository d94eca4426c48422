"""Failures as HTTP problems (RFC 9457): the table of kinds, and pointers into request bodies."""

import re
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.datastructures import Headers
from litestar.exceptions import HTTPException
from litestar.types import ExceptionHandlersMap

from headgate.api.bodies import Problem, ProblemError, violation_at
from headgate.application.access.identity import Identity
from headgate.application.access.redaction import allows
from headgate.application.access.request_limits import TooManyRequests, TooManyStreams
from headgate.application.failures import (
    Archived,
    Contended,
    KeyUsedDifferently,
    LimitExceeded,
    Overloaded,
    PositionNotReached,
    StaleVersion,
    UseCaseFailure,
)
from headgate.application.ports import Unavailable
from headgate.domain.rejection import (
    AlreadyExists,
    IllegalNow,
    InUse,
    InvalidObject,
    InvalidRequest,
    NotAllowed,
    NotFound,
    Rejection,
    TooLarge,
    Violation,
    violation,
)
from headgate.domain.values.message import Argument, Message, ObjectReference
from headgate.event_log.codec import Unstorable
from headgate.messages.catalogue import remedy_of, text_of
from headgate.messages.rendering import IsVisible

LOG = structlog.get_logger()
MEDIA_TYPE = "application/problem+json"

UNREACHABLE = "The database cannot be reached, or does not answer."
SEE_THE_DOCUMENTATION = "See which addresses there are at /docs."
RETRY = "Try again after the time in Retry-After; an Idempotency-Key makes that safe."


class Kind(msgspec.Struct, frozen=True):
    """What one class of failure is called and answered with."""

    status: int
    slug: str
    title: str
    remedy: str = ""
    retry_after_seconds: int | None = None


class ApiFailure(Exception):
    """A request the API itself refuses; `kind` says why."""

    def __init__(
        self,
        kind: Kind,
        detail: str,
        *,
        remedy: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.remedy = remedy or kind.remedy
        self.headers = headers or {}


class UnknownParameter(InvalidRequest):
    """The endpoint has no query parameter of that name."""


def invalid_request(
    violations: Iterable[Violation], of_class: type[InvalidRequest] = InvalidRequest
) -> InvalidRequest:
    """Returns the rejection of a request for violations, of which there is at least one."""
    found = tuple(violations)
    return of_class(
        "RequestInvalid",
        violations=found,
        errors=len(found),
        pointer=found[0].pointer,
        first=found[0].message,
    )


BAD_REQUEST = Kind(400, "bad-request", "Malformed request")
BAD_CONTINUE = Kind(
    400, "bad-continue-token", "Invalid continue token", "List again from the start."
)
UNKNOWN_PARAMETER = Kind(
    400,
    "unknown-parameter",
    "Unknown query parameter",
    "Check the parameter name.",
)
UNAUTHORIZED = Kind(
    401, "unauthorized", "Missing or invalid token", "Send `Authorization: Bearer <token>`."
)
FORBIDDEN = Kind(
    403, "forbidden", "Not allowed", "Ask an admin for a token whose role and namespaces allow it."
)
NOT_FOUND = Kind(404, "not-found", "Not found", "Check the name and the namespace.")
METHOD_NOT_ALLOWED = Kind(405, "method-not-allowed", "Method not allowed")
CONFLICT = Kind(409, "conflict", "Conflict")
PRECONDITION_FAILED = Kind(
    412,
    "precondition-failed",
    "Precondition failed: the object was modified",
    "Read it again and repeat the change.",
)
TOO_LARGE = Kind(413, "too-large", "Request body too large", "Send it in several requests.")
UNSUPPORTED_MEDIA_TYPE = Kind(
    415,
    "unsupported-media-type",
    "Unsupported media type",
    "Send application/json (or application/yaml where objects are taken).",
)
INVALID = Kind(422, "invalid-object", "Validation failed")
INVALID_REQUEST = Kind(422, "invalid-request", "Invalid request")
PRECONDITION_REQUIRED = Kind(
    428,
    "precondition-required",
    "If-Match is required",
    "Read the object and send its ETag as If-Match.",
)
TOO_MANY = Kind(429, "too-many-requests", "Too many requests", RETRY, 1)
TOO_MANY_STREAMS = Kind(503, "too-many-streams", "Too many open event streams", RETRY, 5)
TOO_SLOW = Kind(408, "request-timeout", "Request too slow", "Send the whole body at once.")
BUG = Kind(500, "internal-error", "Internal server error", "Report it with the request id.")
UNAVAILABLE = Kind(503, "unavailable", "Service unavailable (database unreachable)", RETRY, 2)
TIMEOUT = Kind(504, "position-not-reached", "Position not reached in time", RETRY, 1)

ARCHIVED = Kind(
    410,
    "archived",
    "This part of the event log is archived",
    "Ask for a later moment, or bring the archived part back with `headgate log restore`.",
)

BY_FAILURE: dict[type[Exception], Kind] = {
    UnknownParameter: UNKNOWN_PARAMETER,
    InvalidRequest: INVALID_REQUEST,
    InvalidObject: INVALID,
    TooLarge: Kind(413, "upload-too-large", "Upload too large"),
    NotAllowed: FORBIDDEN,
    NotFound: NOT_FOUND,
    AlreadyExists: Kind(409, "already-exists", "Already exists"),
    InUse: Kind(409, "in-use", "In use"),
    IllegalNow: Kind(409, "illegal-now", "Not allowed in the current phase"),
    Rejection: CONFLICT,
    StaleVersion: PRECONDITION_FAILED,
    KeyUsedDifferently: Kind(
        422,
        "idempotency-key-reused",
        "The Idempotency-Key was used for another request",
        "Use a new key for a new request.",
    ),
    Contended: Kind(409, "contended", "Too many concurrent modifications", RETRY, 1),
    Overloaded: TOO_MANY,
    TooManyRequests: TOO_MANY,
    TooManyStreams: TOO_MANY_STREAMS,
    Archived: ARCHIVED,
    LimitExceeded: Kind(
        413,
        "too-much-to-work-out",
        "Request too expensive",
        "Ask about fewer changes at a time.",
    ),
    PositionNotReached: TIMEOUT,
    Unavailable: UNAVAILABLE,
    Unstorable: Kind(
        422,
        INVALID_REQUEST.slug,
        INVALID_REQUEST.title,
        "Leave the character U+0000 out: no text, name or filter can hold it.",
    ),
}

BY_STATUS: dict[int, Kind] = {
    kind.status: kind
    for kind in (
        BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, METHOD_NOT_ALLOWED, CONFLICT,
        ARCHIVED, PRECONDITION_FAILED, TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, INVALID_REQUEST,
        PRECONDITION_REQUIRED, TOO_MANY, TOO_SLOW, BUG, UNAVAILABLE, TIMEOUT,
    )
}  # fmt: skip


def kind_of(failure: Exception) -> Kind:
    """The kind of a failure; whatever is not in the table is a bug of ours."""
    if isinstance(failure, ApiFailure):
        return failure.kind
    if isinstance(failure, HTTPException):
        return BY_STATUS.get(failure.status_code, BUG)
    return next((BY_FAILURE[c] for c in type(failure).__mro__ if c in BY_FAILURE), BUG)


def problem_of(failure: Exception, is_visible: IsVisible) -> Problem:
    """Returns the problem document of a failure as a caller sees it."""
    kind = kind_of(failure)
    said = failure.message if isinstance(failure, Rejection | UseCaseFailure) else None
    remedy = remedy_of(said, is_visible) if said else getattr(failure, "remedy", "")
    return Problem(
        type=f"/problems/{_slug(failure, kind)}",
        title=kind.title,
        status=kind.status,
        code=said.code if said else _camel(kind.slug),
        detail=text_of(said, is_visible) if said else _detail(failure, kind),
        remedy=remedy or kind.remedy,
        errors=_errors(failure, is_visible),
    )


def visible_to(caller: Identity | None) -> IsVisible:
    """Returns which objects a caller may see: without a token none that live in namespaces."""
    scope = frozenset() if caller is None else caller.namespaces
    return lambda reference: allows(scope, f"{reference.kind}/{reference.key}")


def _camel(slug: str) -> str:
    return "".join(word.capitalize() for word in slug.split("-"))


def answer_failure(
    request: Request[Any, Any, Any], failure: Exception, hint: str = ""
) -> Response[Any]:
    """Returns the response for a failure; `hint` precedes the remedy."""
    problem = problem_of(failure, visible_to(request.scope.get("user")))
    problem = msgspec.structs.replace(
        problem,
        remedy=f"{hint} {problem.remedy}".strip(),
        instance=request.url.path,
        request_id=request_id_of(request.scope),
    )
    headers = dict(getattr(failure, "headers", None) or {})
    retry = kind_of(failure).retry_after_seconds
    if retry is not None:
        headers["Retry-After"] = str(retry)
    if problem.status == UNAUTHORIZED.status:
        headers["WWW-Authenticate"] = 'Bearer realm="headgate"'
    body = msgspec.json.encode(problem)
    return Response(body, status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)


def _slug(failure: Exception, kind: Kind) -> str:
    """A rejection that has no line of its own in the table is named by its class."""
    if kind is CONFLICT and isinstance(failure, Rejection) and type(failure) is not Rejection:
        return re.sub(r"(?<!^)(?=[A-Z])", "-", type(failure).__name__).lower()
    return kind.slug


def _detail(failure: Exception, kind: Kind) -> str:
    if kind is BUG:
        return "The request could not be served; the reason stands in the server's log."
    if isinstance(failure, Unavailable) and failure.__cause__ is not None:
        # The text of a driver names hosts, users and databases.
        return UNREACHABLE
    return str(getattr(failure, "detail", "") or failure)


def _errors(failure: Exception, is_visible: IsVisible) -> list[ProblemError]:
    if isinstance(failure, Rejection):
        return [_error_of(each, is_visible) for each in failure.violations]
    return []


def _error_of(found: Violation, is_visible: IsVisible) -> ProblemError:
    broken = found.message
    shown = {n: v for n, v in broken.arguments.items() if _may_show(v, is_visible)}
    return ProblemError(
        pointer=found.pointer,
        code=broken.code,
        arguments=msgspec.to_builtins(shown),
        rule=text_of(broken, is_visible),
        remedy=remedy_of(broken, is_visible),
    )


def _may_show(value: Argument, is_visible: IsVisible) -> bool:
    if isinstance(value, tuple):
        return all(_may_show(each, is_visible) for each in value)
    if isinstance(value, Message):
        return all(_may_show(each, is_visible) for each in value.arguments.values())
    return not isinstance(value, ObjectReference) or is_visible(value)


def _violation_of(entry: dict[str, Any], shape: Any) -> Violation:  # noqa: ANN401 - any type
    """Litestar names places like `items[0].count`; RFC 6901 says `/items/0/count`."""
    key, message = str(entry.get("key", "")), str(entry.get("message", ""))
    if message == "'data'":
        return violation("", "BodyMissing")
    path = re.sub(r"\[(\d+)\]", r".\1", "" if key == "data" else key)
    of_body = shape if entry.get("source") == "body" else None
    return violation_at([part for part in path.split(".") if part], message, of_body)


def validation_failed(request: Request[Any, Any, Any], failure: HTTPException) -> Response[Any]:
    """A well-formed request with wrong values is 422; one that cannot be read at all is 400."""
    if not failure.extra:
        return answer_failure(request, ApiFailure(BAD_REQUEST, failure.detail))
    handler = request.scope.get("route_handler")
    body = getattr(handler, "parsed_data_field", None)
    shape = body.annotation if body is not None else None
    entries = [entry for entry in failure.extra if isinstance(entry, dict)]
    return answer_failure(request, invalid_request(_violation_of(each, shape) for each in entries))


def no_such_address(request: Request[Any, Any, Any], failure: HTTPException) -> Response[Any]:
    """An address that nothing answers; what is missing at a known one is a rejection."""
    if failure.detail != HTTPStatus.NOT_FOUND.phrase:
        return answer_failure(request, failure)
    told = f"No such endpoint: {request.url.path}"
    return answer_failure(request, ApiFailure(NOT_FOUND, told, remedy=SEE_THE_DOCUMENTATION))


def _unreadable_body(failure: Exception) -> ApiFailure | None:
    """The answer to a JSON body that msgspec gives up on with an exception of Python's own."""
    if isinstance(failure, UnicodeDecodeError):
        return ApiFailure(BAD_REQUEST, f"Byte {failure.start} of a text is not UTF-8.")
    if isinstance(failure, RecursionError) and "deserializing" in str(failure):
        return ApiFailure(BAD_REQUEST, "The body is nested too deep.")
    return None


def log_and_answer(request: Request[Any, Any, Any], failure: Exception) -> Response[Any]:
    """A failure that is none of the caller's doing: into the server's log, and a bare answer.

    A body that the decoder gives up on comes here as well, and is answered with 400.
    """
    if (unreadable := _unreadable_body(failure)) is not None:
        return answer_failure(request, unreadable)
    if kind_of(failure) is BUG:
        LOG.error(
            "request failed",
            request=request_id_of(request.scope),
            position=request.app.state.services.reader.position,
            exc_info=failure,
        )
    return answer_failure(request, failure)


def exception_handlers() -> ExceptionHandlersMap:
    """Which handler answers which exception; all of them answer with a problem document."""
    return {
        400: validation_failed,
        404: no_such_address,
        HTTPException: answer_failure,
        Exception: log_and_answer,
    }


ACCEPTABLE = re.compile(r"[A-Za-z0-9._:-]{1,64}")


def request_id_of(scope: Mapping[str, Any]) -> str:
    """The request's name; made when first asked for."""
    state = scope["state"]
    if "request_id" not in state:
        asked = Headers.from_scope(scope).get("x-request-id", "")  # type: ignore[arg-type]
        new: Callable[[], str] = scope["litestar_app"].state.services.ids.new
        state["request_id"] = asked if ACCEPTABLE.fullmatch(asked) else new()
    return str(state["request_id"])
