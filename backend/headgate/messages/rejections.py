"""Texts of rejected commands and of violations, with their remedies."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

TEXTS: Mapping[str, Text] = {
    "Stated": Text("{rule}", "{remedy}"),
    "ObjectInvalid": Text(
        "{name}: {errors:validation error}. [{pointer}: ]{first}",
        "Fix each entry of errors and send the object again.",
    ),
    "NotExactlyOne": Text("Exactly one of {fields:all} must be set", "Set one of them."),
    "NotInteger": Text("Must be an integer", "Write it without quotes, point or unit."),
    "NotOneOf": Text("Must be one of {choices:all}; got {value}", "[Did you mean {nearest}?]"),
    "NotTimestamp": Text(
        "Must be an RFC 3339 time with its offset", "Write it like 2026-09-24T12:00:00Z."
    ),
    "PositionInFuture": Text("The log ends at position {head}", "Use an earlier position."),
    "TimeInFuture": Text("Must not be in the future", "Use an earlier time."),
    "TimeRangeEmpty": Text("The time range has no events", "Choose a longer time range."),
    "TooManyMatches": Text(
        "{count:workload} match; a bulk action has at most {maximum}",
        "Narrow the query, or act on one part after the other.",
    ),
}
