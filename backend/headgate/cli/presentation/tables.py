"""Plain columns, as kubectl prints them: no lines, stable order, nothing cut off."""

import csv
import io
from collections.abc import Sequence

from headgate.cli.presentation.consoles import tinted

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
