"""Texts of rejected commands and of violations, with their remedies."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

TEXTS: Mapping[str, Text] = {
    "Stated": Text("{rule}", "{remedy}"),
    "PositionInFuture": Text("The log ends at position {head}", "Use an earlier position."),
    "TimeInFuture": Text("Must not be in the future", "Use an earlier time."),
    "TimeRangeEmpty": Text("The time range has no events", "Choose a longer time range."),
    "TooManyMatches": Text(
        "{count:workload} match; a bulk action has at most {maximum}",
        "Narrow the query, or act on one part after the other.",
    ),
}
