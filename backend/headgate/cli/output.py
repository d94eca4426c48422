"""Answers as tables, JSON, YAML, CSV or names on stdout; output of pods; messages on stderr."""

import contextlib
import csv
import io
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec
import typer

from headgate.client.pods import PodLogStream, PodOutput
from headgate.client.transport import ServerProblem

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 400
COLUMN_GAP = "   "
NOTHING_FOUND = "No resources found."

PHASE_COLORS = {
    "Running": typer.colors.GREEN,
    "Succeeded": typer.colors.GREEN,
    "Starting": typer.colors.CYAN,
    "QuotaReserved": typer.colors.CYAN,
    "Nominated": typer.colors.CYAN,
    "Pending": typer.colors.YELLOW,
    "Retrying": typer.colors.YELLOW,
    "OnHold": typer.colors.MAGENTA,
    "Inactive": typer.colors.MAGENTA,
    "Unschedulable": typer.colors.RED,
    "Evicting": typer.colors.RED,
    "Failed": typer.colors.RED,
    "Cancelled": typer.colors.BRIGHT_BLACK,
}

Rows = Sequence[Sequence[str]]

_CONTROL = re.compile(r"(\x1b\[(?:0|[39][0-7])m)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters besides tabs and ends of lines; the group is a color set by this module."""
_CONTROL_IN_CELL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_FORMULA = re.compile(r"[=+@\t]|-.*[^0-9.]", re.DOTALL)
"""What spreadsheets compute, in place of showing it; not a dash and not a negative number."""


class Format(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    CSV = "csv"
    NDJSON = "ndjson"


def show(text: str) -> None:
    """Writes data to stdout."""
    typer.echo(_escaped(text))


def say(text: str) -> None:
    """Writes a message for users to stderr."""
    typer.echo(_escaped(text), err=True)


def _escaped(text: str) -> str:
    """The text with control characters as escapes, as JSON has them.

    Reasons and messages are written by many users, and a terminal obeys what it is sent.
    """
    return _CONTROL.sub(lambda found: found[1] or _escape(found), text)


_NOT_FOR_TERMINALS = re.compile(r"(\x1b\[[0-9;:]{0,64}m)|(\r\n?)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters besides tabs and line feeds; colors, and returns of the carriage, apart."""
_NORMAL = "\x1b[0m"


def for_terminal(content: bytes) -> bytes:
    """Whole lines of output as a terminal may show them: colors pass, all else is escaped.

    A carriage return ends a line, so that a progress bar shows its steps; colors end with the line.
    """
    text = content.decode("utf-8", "replace")
    clean = _NOT_FOR_TERMINALS.sub(lambda f: f[1] or ("\n" if f[2] else _escape(f)), text)
    lines = (line + _NORMAL if "\x1b[" in line else line for line in clean.split("\n"))
    return "\n".join(lines).encode()


def _escape(found: "re.Match[str]") -> str:
    return f"\\u{ord(found[0]):04x}"


def stderr_console() -> "Console":
    """Returns the console of progress bars."""
    return _console(stderr=True)


def stdout_console() -> "Console":
    """Returns the console of trees; rich drops color in pipes and under NO_COLOR."""
    return _console(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def _console(**options: Any) -> "Console":  # noqa: ANN401 - those of rich
    from rich.console import Console  # noqa: PLC0415 - most commands draw nothing

    return Console(**options)


def tinted(text: str, phase: str) -> str:
    """Returns the text in the color of a phase where stdout is a terminal with color."""
    color = PHASE_COLORS.get(phase)
    if not color or not sys.stdout.isatty() or _console(file=sys.stdout).no_color:
        return text
    return typer.style(text, fg=color)


def columns(headers: Sequence[str], rows: Rows, *, with_headers: bool = True) -> str:
    """Returns the rows under their headers, each column as wide as its widest cell."""
    cells = [[_CONTROL_IN_CELL.sub(_escape, cell) for cell in row] for row in rows]
    lines = [[header.upper() for header in headers], *cells] if with_headers else cells
    if not lines:
        return ""
    widths = [max(len(line[index]) for line in lines) for index in range(len(headers))]
    return "\n".join(_line(line, widths) for line in lines)


def comma_separated(headers: Sequence[str], rows: Rows, *, with_headers: bool = True) -> str:
    """Returns the rows as CSV (RFC 4180); a quote stands before what spreadsheets would compute."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if with_headers:
        writer.writerow([header.lower() for header in headers])
    writer.writerows([_csv_cell(cell) for cell in row] for row in rows)
    return text.getvalue().rstrip("\n")


def _csv_cell(cell: str) -> str:
    return ("'" if _FORMULA.match(cell) else "") + _escaped(cell)


def fields(pairs: Sequence[tuple[str, str]]) -> str:
    """Returns names and values below each other."""
    width = max((len(name) for name, _ in pairs), default=0) + 2
    return "\n".join(f"{name + ':':<{width}} {value}".rstrip() for name, value in pairs)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        tinted(cell, cell) + " " * (width - len(cell))
        for cell, width in zip(cells, widths, strict=True)
    ]
    return COLUMN_GAP.join(padded).rstrip()


def as_yaml(value: Any) -> str:  # noqa: ANN401 - any answer of the API
    """Returns the value as YAML, in the order the server gave it."""
    import yaml  # noqa: PLC0415 - most answers are tables

    text: str = yaml.safe_dump(msgspec.to_builtins(value), sort_keys=False, allow_unicode=True)
    return text.rstrip("\n")


def show_value(value: Any, form: Format) -> bool:  # noqa: ANN401 - same
    """Shows the value as the server gave it and returns True, if the format is a structured one."""
    match form:
        case Format.JSON:
            show(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
        case Format.YAML:
            show(as_yaml(value))
        case Format.NDJSON:
            for item in value["items"] if isinstance(value, dict) and "items" in value else [value]:
                show(msgspec.json.encode(item).decode())
        case _:
            return False
    return True


def show_rows(
    headers: Sequence[str], rows: Rows, form: Format = Format.TABLE, *, with_headers: bool = True
) -> None:
    """Shows rows as a table, as CSV, or their first column as names; says where there are none."""
    if form is Format.NAME:
        for row in rows:
            show(row[0])
        return
    if not rows and form is not Format.CSV:
        say(NOTHING_FOUND)
        return
    write: Callable[..., str] = comma_separated if form is Format.CSV else columns
    text = write(headers, rows, with_headers=with_headers)
    if text:
        show(text)


def show_answer(
    answer: Any,  # noqa: ANN401 - any answer of the API
    headers: Sequence[str],
    rows: Rows,
    form: Format,
    *,
    no_headers: bool = False,
) -> None:
    """Shows an answer as the server gave it in a structured format, and as rows in the others."""
    if not show_value(answer, form):
        show_rows(headers, rows, form, with_headers=not no_headers)


SECONDS_FOR_THE_REST = 15.0


class RunOutput:
    """Shows the output of pods line by line, with ranks in front where there are several."""

    def __init__(
        self, source: PodLogStream, *, is_prefixed: bool, with_times: bool = False
    ) -> None:
        self._source = source
        self._is_prefixed = is_prefixed
        self._with_times = with_times
        self._halves: dict[tuple[int, str], bytes] = {}

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Shows output beside the caller's work, and the rest of it after that."""
        thread = threading.Thread(target=self._show_all, name="output", daemon=True)
        thread.start()
        try:
            yield
        finally:
            thread.join(SECONDS_FOR_THE_REST)
            self._source.close()

    def _show_all(self) -> None:
        try:
            self.show(self._source.follow())
        except ServerProblem as problem:
            say(f"The output cannot be shown: {problem}")

    def show(self, found: Iterator[PodOutput]) -> None:
        """Shows output to its end, also where that is no end of a line."""
        try:
            for output in found:
                self._show(output)
        finally:
            for (rank, stream), half in self._halves.items():
                self._write(rank, stream, half + (b"\n" if self._is_prefixed and half else b""))

    def _show(self, output: PodOutput) -> None:
        if output.missing:
            self._write(output.rank, "stderr", b"[%d bytes not kept]\n" % output.missing)
        at = output.at if self._with_times else ""
        place = (output.rank, output.stream)
        whole, end, half = (self._halves.get(place, b"") + output.content).rpartition(b"\n")
        self._halves[place] = half
        self._write(*place, whole + end, at)

    def _write(self, rank: int, stream: str, lines: bytes, at: str = "") -> None:
        """Writes bytes as they are, and for a terminal without what it would obey but colors."""
        out = sys.stderr if stream == "stderr" else sys.stdout
        if out.isatty():
            lines = for_terminal(lines)
        prefix = f"[{rank}] " if self._is_prefixed else ""
        prefix += f"{at} " if at else ""
        if prefix:
            begin = prefix.encode()
            lines = b"".join(begin + line for line in _lines(lines))
        out.buffer.write(lines)
        out.flush()


def _lines(content: bytes) -> list[bytes]:
    """Lines with their ends, by line feeds alone."""
    parts = content.split(b"\n")
    return [*(part + b"\n" for part in parts[:-1]), *([parts[-1]] if parts[-1] else [])]
