"""Filters on events as SQL conditions with their values."""

from typing import Any

from headgate.application.ports import EventFilter


def matching(where: EventFilter, before: int | None) -> tuple[str, list[Any]]:
    """A condition on `event` and the values of its placeholders."""
    conditions: list[str] = ["true"]
    values: list[Any] = []

    def require(condition: str, *given: Any) -> None:  # noqa: ANN401 - any value of a column
        conditions.append(condition)
        values.extend(given)

    if before is not None:
        require("position < %s", before)
    if where.types:
        require("type = ANY(%s)", list(where.types))
    if where.streams:
        _require_streams(where.streams, conditions, values)
    if where.actor:
        require("actor = %s", where.actor)
    if where.correlation:
        require("correlation = %s", where.correlation)
    if where.since is not None:
        require("at >= %s", where.since)
    if where.until is not None:
        require("at < %s", where.until)
    if where.up_to is not None:
        require("position <= %s", where.up_to)
    return " AND ".join(conditions), values


def _require_streams(streams: tuple[str, ...], conditions: list[str], values: list[Any]) -> None:
    alternatives = []
    for stream in streams:
        if stream.endswith("/"):
            # "0" follows "/": everything in between begins with the prefix.
            alternatives.append("stream >= %s AND stream < %s")
            values.extend((stream, stream[:-1] + "0"))
        else:
            alternatives.append("stream = %s")
            values.append(stream)
    conditions.append("(" + " OR ".join(alternatives) + ")")
