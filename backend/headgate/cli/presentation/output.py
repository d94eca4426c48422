"""Answers as tables, JSON, YAML, CSV or names on stdout; messages on stderr."""

import csv
import io
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import msgspec
import typer
import yaml
from rich.console import Console

PIPE_WIDTH = 400

COLOURS = {
    "Running": typer.colors.GREEN,
    "Succeeded": typer.colors.GREEN,
    "Starting": typer.colors.CYAN,
    "QuotaReserved": typer.colors.CYAN,
    "Nominated": typer.colors.CYAN,
    "Pending": typer.colors.YELLOW,
    "Retrying": typer.colors.YELLOW,
    "OnHold": typer.colors.MAGENTA,
    "Inactive": typer.colors.MAGENTA,
    "Evicting": typer.colors.RED,
    "Failed": typer.colors.RED,
    "Cancelled": typer.colors.BRIGHT_BLACK,
}


def show(text: str) -> None:
    """Data, for people and programs alike."""
    typer.echo(text)


def say(text: str) -> None:
    """Talk, for people."""
    typer.echo(text, err=True)


def talk() -> Console:
    """Where progress bars and prompts go."""
    return Console(stderr=True)


def page() -> Console:
    """Where trees and bars go; rich drops colour by itself in pipes and under NO_COLOR."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def has_colour() -> bool:
    """Whether stdout shows colour to a person."""
    return not Console(file=sys.stdout).no_color and sys.stdout.isatty()


def tinted(text: str, phase: str) -> str:
    """The text in the colour of a phase, where colour is shown at all."""
    colour = COLOURS.get(phase)
    return typer.style(text, fg=colour) if colour and has_colour() else text


GAP = "   "


Rows = Sequence[Sequence[str]]


def columns(headers: Sequence[str], rows: Rows, *, with_headers: bool = True) -> str:
    """The rows under their headers, each column as wide as its widest cell."""
    lines = [[header.upper() for header in headers], *rows] if with_headers else list(rows)
    if not lines:
        return ""
    widths = [max(len(line[index]) for line in lines) for index in range(len(headers))]
    return "\n".join(_line(line, widths) for line in lines)


def comma_separated(headers: Sequence[str], rows: Rows, *, with_headers: bool = True) -> str:
    """The rows as RFC 4180 has them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if with_headers:
        writer.writerow([header.lower() for header in headers])
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def fields(pairs: Sequence[tuple[str, str]], indent: str = "") -> str:
    """Names and values below each other, as `describe` shows them."""
    width = max((len(name) for name, _ in pairs), default=0) + 2
    return "\n".join(f"{indent}{name + ':':<{width}} {value}".rstrip() for name, value in pairs)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        tinted(cell, cell) + " " * (width - len(cell))
        for cell, width in zip(cells, widths, strict=True)
    ]
    return GAP.join(padded).rstrip()


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
