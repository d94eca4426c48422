"""A process of its own that asks `/healthz`, so that no other work of the client delays it."""

import time
from collections.abc import Callable
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection
from multiprocessing.connection import Connection

import httpx

ANSWER_SECONDS = 60.0
INTERVAL_SECONDS = 0.01


def ask_health(url: str, channel: Connection) -> None:
    """Asks `/healthz` until it is told to end; sends the seconds that each answer took."""
    with httpx.Client(base_url=url, timeout=ANSWER_SECONDS) as client:
        _ask(lambda: client.get("/healthz").raise_for_status(), channel)


def ask_health_anew(url: str, channel: Connection) -> None:
    """As `ask_health`, on a connection of its own each time."""
    address = httpx.URL(url)

    def ask() -> None:
        fresh = HTTPConnection(address.host, address.port, timeout=ANSWER_SECONDS)
        with closing(fresh):
            fresh.request("GET", "/healthz")
            answer = fresh.getresponse()
            answer.read()
            assert answer.status == HTTPStatus.OK

    _ask(ask, channel)


def _ask(ask: Callable[[], object], channel: Connection) -> None:
    answers = []
    ask()
    channel.send("ready")
    while not channel.poll(INTERVAL_SECONDS):
        before = time.monotonic()
        ask()
        answers.append(time.monotonic() - before)
    channel.send(answers)
