"""What processes say of themselves: one line each, for people."""

import logging
import sys

import structlog

QUIET = ("psycopg.pool", "httpx")
"""Libraries that repeat at every attempt what we say once."""


def configure_log_lines(level: str) -> None:
    """Write lines of at least this level to standard error, without colours."""
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            structlog.dev.ConsoleRenderer(
                colors=False, exception_formatter=structlog.dev.plain_traceback
            ),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)
