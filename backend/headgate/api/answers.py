"""Answers: JSON with the log position, an ETag for what has a version, 304 for nothing new."""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec
from litestar import Response
from litestar.openapi import ResponseSpec

from headgate.api.parameters import whole_number
from headgate.api.problems import PRECONDITION_REQUIRED, ApiFailure
from headgate.application.failures import StaleVersion

JSON = "application/json"
Answer = Response[bytes]


def answer(
    body: Any,  # noqa: ANN401 - whatever msgspec can write down
    *,
    position: int,
    status: int = 200,
    version: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """A JSON answer; bytes are taken to be JSON already."""
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    all_headers = {"X-Log-Position": str(position), **(headers or {})}
    if version is not None:
        all_headers["ETag"] = etag_of(version)
    return Response(content, status_code=status, media_type=JSON, headers=all_headers)


class Positioned(Protocol):
    """A view that says at which position it holds."""

    @property
    def position(self) -> int:
        """The position."""
        ...


def answer_view(view: Positioned) -> Answer:
    """A view that carries its own position."""
    return answer(view, position=view.position)


def etag_of(version: int) -> str:
    """The strong ETag of a stream version."""
    return f'"{version}"'


def not_modified(version: int, if_none_match: str | None, *, position: int) -> Answer | None:
    """The 304 answer if the caller has this version already."""
    if if_none_match is None or not _names(if_none_match, version):
        return None
    headers = {"ETag": etag_of(version), "X-Log-Position": str(position)}
    return Response(b"", status_code=304, headers=headers)


def expected_version(if_match: str | None, *, required: bool = False) -> int | None:
    """The version an If-Match header names; None for `*` or no header where none is required."""
    if if_match is None:
        if required:
            raise ApiFailure(PRECONDITION_REQUIRED, "This change needs an If-Match header.")
        return None
    if if_match.strip() == "*":
        return None
    version = whole_number(if_match.strip().strip('"'))
    if version is None:
        raise StaleVersion("EtagUnknown", etag=if_match[:80])
    return version


def _names(header: str, version: int) -> bool:
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return "*" in tags or etag_of(version) in tags


def response(shape: Any, description: str = "", status: int = 200) -> dict[int, ResponseSpec]:  # noqa: ANN401
    """The shape of a good answer, for the OpenAPI document."""
    text = description or (shape.__doc__ or "Done").strip().splitlines()[0]
    return {status: ResponseSpec(shape, generate_examples=False, description=text)}
