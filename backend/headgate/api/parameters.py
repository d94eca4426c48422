"""Parameters and headers of requests, the position that a read waits for, and pages of lists."""

import asyncio
import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.params import HeaderParameter, QueryParameter

from headgate.api.callers import PAST, Caller, services_of
from headgate.api.problems import (
    BAD_CONTINUE,
    UNSUPPORTED_MEDIA_TYPE,
    ApiFailure,
    UnknownParameter,
    invalid_request,
)
from headgate.application.failures import PositionNotReached
from headgate.application.queries.views import EPOCH
from headgate.application.time_travel import PointInTime, services_at
from headgate.domain.field_rules import count_violations, length_violations, shown
from headgate.domain.rejection import InvalidRequest, Violation, child, violation
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import NotAQuantity, Requests, amount_of
from headgate.domain.values.selectors import LabelSelector, Operator, Requirement
from headgate.messages.rendering import nearest

DryRun = Annotated[
    Literal["All"] | None,
    QueryParameter(name="dryRun", description="`All`: validate and decide, and change nothing"),
]
SubmitDryRun = Annotated[
    Literal["All", "Admission"] | None,
    QueryParameter(
        name="dryRun",
        description=(
            "`All`: validate and decide, and change nothing; `Admission`: say as well whether it "
            "would be admitted, where, and the victims, as `/v1/simulations` does"
        ),
    ),
]
Reason = Annotated[
    str,
    QueryParameter(name="reason", description="Why; kept with every change", max_length=1024),
]
IdempotencyHeader = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="The same key with the same request gets the first answer again",
    ),
]
IfMatch = Annotated[
    str | None, HeaderParameter(name="If-Match", description="The ETag of the version one has seen")
]
IfNoneMatch = Annotated[
    str | None, HeaderParameter(name="If-None-Match", description="The ETag one has already")
]
MAX_SELECTOR_LENGTH = 2000
Selector = Annotated[
    str | None,
    QueryParameter(
        name="labelSelector",
        max_length=MAX_SELECTOR_LENGTH,
        description="`a=b,c!=d,e in (f,g),h,!i`, as in Kubernetes",
    ),
]
OWN = "@me"
"""The value of an owner filter that stands for the user of the request."""
Owner = Annotated[
    str | None,
    QueryParameter(
        name="owner",
        max_length=63,
        description="The user who submitted the workload; `@me` is the user of the token",
    ),
]
WithDefaults = Annotated[
    bool,
    QueryParameter(
        description="Every field with its default, in canonical form; else as it was written"
    ),
]
MAX_POINTS = 100
RangeStart = Annotated[
    str | None, QueryParameter(max_length=40, description="RFC 3339; a day before `until` without")
]
RangeEnd = Annotated[str | None, QueryParameter(max_length=40, description="RFC 3339; now without")]
Points = Annotated[
    int, QueryParameter(ge=2, le=MAX_POINTS, description="At how many instants to look")
]
AT = (
    "A position, or an RFC 3339 time in the past: the answer is what it would have been then; "
    "X-Log-Position says at which position"
)
MIN_POSITION = "Wait until this position has been seen, at most five seconds"


MAX_DIGITS = 18
"""More than any position, version or instant has; longer texts are not even read as numbers."""


def whole_number(text: str) -> int | None:
    """The number that a text of digits stands for; None for every other text."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
    return int(text) if is_number else None


def owner_named(request: Caller, owner: str | None) -> str:
    """The user that an owner filter names; empty where it does not filter."""
    return request.user.name if owner == OWN else owner or ""


def listed(text: str | None) -> tuple[str, ...]:
    """The words of a parameter that takes several, separated by commas."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def instant_or_none(text: str | None, pointer: str) -> Instant | None:
    """The instant a text names; raises `InvalidRequest` with a pointer."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            # In UTC first: what no clock can show there could not be shown again either.
            return (found.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError) as failure:
        raise InvalidRequest.at(pointer, "NotTimestamp") from failure
    raise InvalidRequest.at(pointer, "NotTimestamp")


_KEY = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"


_VALUE = r"[-A-Za-z0-9_.]*"


_EQUALS = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")


_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")


_EXISTS = re.compile(rf"(!?)\s*({_KEY})")


def label_selector(text: str | None) -> LabelSelector | None:
    """The selector a text stands for; None where there is none to apply."""
    if not text or not text.strip():
        return None
    requirements = [_requirement(part.strip()) for part in _parts(text)]
    return LabelSelector(match_expressions=tuple(requirements))


def _parts(text: str) -> Iterator[str]:
    """The text between the commas that stand outside of parentheses."""
    start, listed = 0, False
    for index, character in enumerate(text):
        if character in "()":
            listed = character == "("
        elif character == "," and not listed:
            yield text[start:index]
            start = index + 1
    yield text[start:]


def _requirement(part: str) -> Requirement:
    if found := _EQUALS.fullmatch(part):
        key, sign, value = found.groups()
        operator: Operator = "NotIn" if sign == "!=" else "In"
        return Requirement(key=key, operator=operator, values=(value,))
    if found := _SET.fullmatch(part):
        key, word, listed = found.groups()
        values = tuple(value.strip() for value in listed.split(","))
        return Requirement(key=key, operator="In" if word == "in" else "NotIn", values=values)
    if found := _EXISTS.fullmatch(part):
        absent, key = found.groups()
        return Requirement(key=key, operator="DoesNotExist" if absent else "Exists")
    raise InvalidRequest.at("/labelSelector", "LabelSelectorInvalid", value=shown(part))


EVERYWHERE = ("at", "minPosition")
"""What every address takes, before its handler is asked."""


MAX_ACTION_BYTES = 65_536
"""The limit of a body with a reason and a few fields: decoding it holds up no other request."""
MAX_PARAMETER_CHARACTERS = 8_000
"""The limit of each query parameter that has no lower one."""


def reject_unknown_parameters(request: Request[Any, Any, Any]) -> None:
    """Refuse a request with a query parameter that its address does not know, or a huge one."""
    if not request.scope["query_string"]:
        return
    handler = request.route_handler
    assert isinstance(handler, HTTPRouteHandler), "only requests of HTTP come here"
    known = known_parameters(handler, frozenset(request.path_params))
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        violations = (_unknown(name, known) for name in dict.fromkeys(unknown))
        raise invalid_request(violations, UnknownParameter)
    for name, value in request.query_params.items():
        too_long = tuple(length_violations(child("", name), value, MAX_PARAMETER_CHARACTERS))
        if too_long:
            raise invalid_request(too_long)


@cache
def known_parameters(handler: HTTPRouteHandler, path_parameters: frozenset[str]) -> list[str]:
    """The query parameters that an address takes, in order of names.

    Asked first when the routes are made: once the document is derived from them, Litestar takes
    their path parameters for undeclared ones and warns.
    """
    places: Any = dict.fromkeys(path_parameters)
    declared = handler.create_kwargs_model(path_parameters=places).expected_query_params
    return sorted({*(parameter.field_alias for parameter in declared), *EVERYWHERE})


def _unknown(name: str, known: list[str]) -> Violation:
    pointer, near = child("", name[:80]), nearest(name, known)
    return violation(
        pointer, "ParameterUnknown", name=shown(name), nearest=near, known=tuple(known)
    )


MIN_POSITION_WAIT_SECONDS = 5.0


MEDIA_TYPES = ("json", "yaml")
BYTES = "application/octet-stream"
"""Taken where a route says so by `takes_bytes`."""


async def reach_position(request: Request[Any, Any, Any]) -> None:
    """Wait until the warm state has seen what `minPosition` asks for."""
    if b"minPosition" not in request.scope["query_string"]:
        return
    position = whole_number(str(request.query_params.get("minPosition", "")))
    if position is None:
        raise InvalidRequest.at("/minPosition", "NotPosition")
    reader = services_of(request).reader
    if not await reader.reached(position, within_seconds=MIN_POSITION_WAIT_SECONDS):
        raise PositionNotReached("PositionAhead", head=reader.position, position=position)


def check_media_type(request: Request[Any, Any, Any]) -> None:
    """Refuse a body that is neither JSON nor YAML."""
    if request.method not in ("POST", "PUT", "PATCH"):
        return
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip()
    takes_bytes = request.route_handler.opt.get("takes_bytes", False)
    if not (kind.endswith(MEDIA_TYPES) or (takes_bytes and kind == BYTES)):
        raise ApiFailure(UNSUPPORTED_MEDIA_TYPE, f"{kind} is not taken here.")


PRESENT_ONLY = "ReadOfPresentOnly"
"""The code of reads that have no past (`opt={"live": ...}`)."""


async def read_at(request: Request[Any, Any, Any]) -> None:
    """Let the request see the past that `at` names; refuse to change it."""
    text = request.query_params.get("at") if b"at=" in request.scope["query_string"] else None
    if text is None:
        return
    if request.method != "GET" and not request.route_handler.opt.get("past"):
        raise InvalidRequest.at("/at", "PastNotWritable")
    live: str | None = request.route_handler.opt.get("live")
    if live is not None:
        raise InvalidRequest.at("/at", live)
    past = await services_at(services_of(request), point_in_time(str(text)))
    request.scope["state"][PAST] = past


def point_in_time(text: str) -> PointInTime:
    """The position or instant that a text names; raises `InvalidRequest`."""
    position = whole_number(text)
    if position is not None:
        return PointInTime(position=position)
    return PointInTime(at=instant_or_none(text.replace(" ", "+"), "/at"))


Limit = Annotated[
    int, QueryParameter(name="limit", ge=1, le=1000, description="At most so many items")
]
Continue = Annotated[
    str | None,
    QueryParameter(name="continue", description="The `metadata.continue` of the page before"),
]
Key = TypeVar("Key")
Row = TypeVar("Row")
MAX_ROWS_PER_READ = 500
"""How many rows are read at once where many do not belong into the list."""


async def collect_page(
    read: Callable[[Key, int], Sequence[Row]],
    belongs: Callable[[Row], bool],
    key_of: Callable[[Row], Key],
    start: Key,
    limit: int,
) -> tuple[list[Row], bool]:
    """Up to `limit` of the rows that `belongs` lets into the list, and whether there are more.

    `read` gives so many rows after a place. A list that hardly any row belongs into takes few
    questions however short its pages are.
    """
    found: list[Row] = []
    size = limit + 1
    while True:
        page = await asyncio.to_thread(read, start, size)
        found += filter(belongs, page)
        if len(found) > limit or len(page) < size:
            return found[:limit], len(found) > limit
        start = key_of(page[-1])
        size = max(size, MAX_ROWS_PER_READ)


def continue_token(key: Any, question: str) -> str:  # noqa: ANN401 - any small JSON value
    """A token to go on after `key` in the list that answers `question`."""
    raw = msgspec.json.encode([_mark(question), key])
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def after_token(token: str | None, question: str, kind: type[Key]) -> Key | None:
    """The key a token was made with, if it was made for this question."""
    if not token:
        return None
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        mark, key = msgspec.json.decode(raw, type=tuple[str, kind])  # type: ignore[valid-type]
    except (ValueError, binascii.Error, msgspec.MsgspecError) as failure:
        raise ApiFailure(BAD_CONTINUE, "It cannot be read.") from failure
    if mark != _mark(question):
        raise ApiFailure(BAD_CONTINUE, "It was made for a list with other filters.")
    return key


def start_of(before: str | None) -> tuple[Instant, str] | None:
    """Where a list that is ordered by time goes on, from `instant:id`, the `next` of a page."""
    if before is None:
        return None
    text, _, name = before.partition(":")
    at = whole_number(text)
    if at is None or not name:
        raise ApiFailure(BAD_CONTINUE, "It is the `next` of a page before.")
    return at, name


def _mark(question: str) -> str:
    return hashlib.sha256(question.encode()).hexdigest()[:12]


MAX_RESOURCES = 16


def requests_in(text: str) -> Requests:
    """Returns what `cpu=4,memory=8Gi` asks for; raises `ApiFailure`."""
    found: Requests = {}
    for part in text.split(","):
        resource, _, quantity = part.strip().partition("=")
        try:
            amount = amount_of(resource, quantity)
        except NotAQuantity:
            raise InvalidRequest.at("/pod", "RequestsUnreadable", value=shown(part)) from None
        if not resource or amount < 0:
            raise InvalidRequest.at("/pod", "RequestsUnreadable", value=shown(part))
        found[resource] = amount
    violations = tuple(count_violations("/pod", len(found), MAX_RESOURCES, field="resources"))
    if violations:
        raise invalid_request(violations)
    return found
