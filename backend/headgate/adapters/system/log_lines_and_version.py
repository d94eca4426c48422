"""What processes tell administrators: log lines, which never raise, and a digest of their rules."""

import hashlib
import logging
import os
from functools import cache
from pathlib import Path
from typing import Literal

import structlog
from structlog.typing import EventDict, Processor

QUIET = ("psycopg.pool", "httpx")
"""Libraries that repeat at every attempt what Headgate logs once."""

STANDARD_ERROR = 2
MAX_FIELD_CHARACTERS = 1_000
MAX_LINE_CHARACTERS = 16_000
MAX_TRACEBACK_CHARACTERS = 6_000
"""Limits of one field and of a line with its traceback: requests must not fill the disk."""


class LogLines:
    """Writes lines to standard error; a line that cannot be written is lost.

    On a full disk a write fails, and a thread that decides must not end because of that.
    """

    def msg(self, line: str) -> None:
        """Write one line, in one call so that lines of threads do not mix."""
        try:
            written = f"{line[:MAX_LINE_CHARACTERS]}\n".encode(errors="replace")
            os.write(STANDARD_ERROR, written)
        except OSError:
            return

    debug = info = warning = error = critical = exception = fatal = warn = log = msg


def _shortened(_logger: object, _method: str, line: EventDict) -> EventDict:
    for name, value in line.items():
        if isinstance(value, str) and len(value) > MAX_FIELD_CHARACTERS:
            line[name] = f"{value[:MAX_FIELD_CHARACTERS]}… ({len(value):,} characters)"
    return line


LogFormat = Literal["text", "json"]


def configure_log_lines(level: str, form: LogFormat = "text") -> None:
    """Write lines of at least this level to standard error: text without colors, or JSON objects.

    A JSON object has `event`, `level` and `timestamp`, the fields of the line such as `request`,
    `position` and `partition`, and the traceback as `exception`.
    """
    # The handlers of `logging` would print their own failures to the same full disk.
    logging.raiseExceptions = False
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            *_rendering(form),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=lambda *_: LogLines(),
    )
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)


def _rendering(form: LogFormat) -> list[Processor]:
    if form == "json":
        # The traceback may be longer than other fields.
        traceback = structlog.processors.format_exc_info
        return [_shortened, traceback, _shortened_traceback, _whole_object]
    plain = structlog.dev.plain_traceback
    return [_shortened, structlog.dev.ConsoleRenderer(colors=False, exception_formatter=plain)]


def _shortened_traceback(_logger: object, _method: str, line: EventDict) -> EventDict:
    if "exception" in line:
        line["exception"] = str(line["exception"])[-MAX_TRACEBACK_CHARACTERS:]
    return line


_as_json = structlog.processors.JSONRenderer()


def _whole_object(logger: object, method: str, line: EventDict) -> str | bytes:
    """An object within the limit of a line, as a part of one could not be parsed.

    Escaped characters and values that are no text count too, so that shorter fields may be needed.
    """
    rendered = _as_json(logger, method, line)
    most = MAX_TRACEBACK_CHARACTERS
    while len(rendered) > MAX_LINE_CHARACTERS and most > 0:
        most //= 2
        rendered = _as_json(logger, method, {name: _cut(line[name], most) for name in line})
    return rendered


def _cut(value: object, most: int) -> object:
    return value if isinstance(value, int | float | None) else str(value)[:most]


FOLDING = ("domain", "event_log")
PACKAGE = Path(__file__).parents[2]


@cache
def fold_version() -> str:
    """Changes with every change of the folding code, so that no cache of other code is read."""
    digest = hashlib.sha256()
    for folder in FOLDING:
        for source in sorted((PACKAGE / folder).rglob("*.py")):
            digest.update(str(source.relative_to(PACKAGE)).encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
