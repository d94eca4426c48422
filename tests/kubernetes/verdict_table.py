"""The verdict table: for a request and what is there, the status that a real server answers."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import yaml

TABLE = Path(__file__).parent / "verdicts.yaml"
OTHERWISE = "otherwise"


class Replay(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request for a real server, with names of bodies that stand in `replay_bodies`."""

    path: str
    body: str = ""
    given: list[str] = []


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is answered where `when` holds; `event` is the code of an error within a watch."""

    when: str
    status: int
    source: str
    reason: str = ""
    event: int = 0
    replay: Replay | None = None
    unreplayed: str = ""


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdicts on one kind of request: the first that holds counts."""

    request: str
    verdicts: list[Verdict]
    query: list[str] = []
    body: list[str] = []
    media_type: str = "application/json"


class Request(msgspec.Struct, frozen=True):
    """A request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: Any = None

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") == "true"


def read_table() -> list[Row]:
    return msgspec.convert(yaml.safe_load(TABLE.read_text()), list[Row])


class VerdictTable:
    """The table by request; what it does not know is noted, and fails the test."""

    def __init__(self, conditions: Mapping[str, Callable[[Request, dict[str, str]], bool]]) -> None:
        self.rows = read_table()
        self._conditions = conditions
        self._patterns = [_pattern(row.request) for row in self.rows]
        self.unknown: list[str] = []
        self.given: dict[tuple[str, str], int] = {}

    def row_of(self, request: Request) -> tuple[Row, dict[str, str]] | None:
        """The row of a request with the parts of its path, or None with a note of what is wrong."""
        problem = "no row has this path"
        for row, pattern in zip(self.rows, self._patterns, strict=True):
            found = pattern.fullmatch(f"{request.method} {request.path}")
            if found is None:
                continue
            if ("watch" in row.query) != ("watch" in request.query):
                continue
            problem = _problem(row, request)
            if not problem:
                return row, found.groupdict()
        self.unknown.append(f"{request.method} {request.target}: {problem}")
        return None

    def verdict_on(self, row: Row, request: Request, parts: dict[str, str]) -> Verdict:
        for verdict in row.verdicts:
            if verdict.when == OTHERWISE or self._conditions[verdict.when](request, parts):
                key = (row.request, verdict.when)
                self.given[key] = self.given.get(key, 0) + 1
                return verdict
        raise AssertionError(f"no verdict of {row.request} holds")


def _pattern(request: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", request))


def _problem(row: Row, request: Request) -> str:
    extra = set(request.query) - set(row.query)
    if extra:
        return f"the query has {', '.join(sorted(extra))}"
    if request.body is None:
        return ""
    media_type = request.headers.get("content-type", "")
    if media_type != row.media_type:
        return f"the body is {media_type}"
    fields = [each for each in _fields(request.body) if not _is_listed(each, row.body)]
    return f"the body has {', '.join(fields)}" if fields else ""


def _is_listed(field: str, listed: list[str]) -> bool:
    return any(field == each or field.startswith(f"{each}.") for each in listed)


def _fields(body: Any, before: str = "") -> Iterator[str]:
    for name, value in body.items():
        if isinstance(value, dict) and value:
            yield from _fields(value, f"{before}{name}.")
        else:
            yield f"{before}{name}"
