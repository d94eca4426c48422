"""Query and header parameters that many handlers take."""

from typing import Annotated, Literal

from litestar.params import HeaderParameter, QueryParameter

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
            "would be admitted, where, and who would have to go, as `/v1/simulations` does"
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
Selector = Annotated[
    str | None,
    QueryParameter(
        name="labelSelector",
        max_length=2000,
        description="`a=b,c!=d,e in (f,g),h,!i`, as in Kubernetes",
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


def listed(text: str | None) -> tuple[str, ...]:
    """The words of a parameter that takes several, separated by commas."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())
