"""The output formats every reading command has in common."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import msgspec
import yaml

from headgate.cli.presentation.consoles import say, show
from headgate.cli.presentation.tables import columns, comma_separated


class Format(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    CSV = "csv"
    NDJSON = "ndjson"


def as_json(value: Any) -> str:  # noqa: ANN401 - any answer of the API
    """The value as indented JSON, in the order the server gave it."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def as_yaml(value: Any) -> str:  # noqa: ANN401 - same
    """The value as YAML, in the order the server gave it."""
    text: str = yaml.safe_dump(msgspec.to_builtins(value), sort_keys=False, allow_unicode=True)
    return text.rstrip("\n")


def show_value(value: Any, form: Format) -> bool:  # noqa: ANN401 - same
    """Show the value as it is, if the format is one that does; whether it was."""
    match form:
        case Format.JSON:
            show(as_json(value))
        case Format.YAML:
            show(as_yaml(value))
        case Format.NDJSON:
            for item in value["items"] if isinstance(value, dict) and "items" in value else [value]:
                show(msgspec.json.encode(item).decode())
        case _:
            return False
    return True


def show_rows(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    form: Format,
    *,
    with_headers: bool = True,
) -> None:
    """Show rows as columns, or as CSV; that there are none is said where people look."""
    if not rows and form is not Format.CSV:
        say("nothing found")
        return
    write: Callable[..., str] = comma_separated if form is Format.CSV else columns
    text = write(headers, rows, with_headers=with_headers)
    if text:
        show(text)
