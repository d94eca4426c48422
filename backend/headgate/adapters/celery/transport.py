"""The transport of nudges: Redis, where a message that cannot be read is dropped."""

import structlog
from kombu.transport import TRANSPORT_ALIASES
from kombu.transport.redis import Channel, Transport

UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)

log = structlog.get_logger()


class DroppingChannel(Channel):
    """Drops what is no message of kombu.

    Kombu decodes messages in the event loop of the worker, where any failure ends the process.
    """

    def _brpop_read(self, **options: object) -> None:
        try:
            super()._brpop_read(**options)  # type: ignore[misc]
        except UNREADABLE as failure:
            log.warning("a message of the broker was dropped", failure=type(failure).__name__)


class DroppingTransport(Transport):
    """Redis as broker, with channels that drop unreadable messages."""

    Channel = DroppingChannel


def use_dropping_transport() -> None:
    """Have every connection to a Redis URL use it."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:{DroppingTransport.__name__}"
