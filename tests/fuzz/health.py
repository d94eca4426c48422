"""A process of its own that asks `/healthz`, so that no other work of the client delays it."""

import time
from multiprocessing.connection import Connection

import httpx

ANSWER_SECONDS = 60.0
INTERVAL_SECONDS = 0.01


def ask_health(url: str, channel: Connection) -> None:
    """Asks `/healthz` until it is told to end; sends the seconds that each answer took."""
    answers = []
    with httpx.Client(base_url=url, timeout=ANSWER_SECONDS) as client:
        client.get("/healthz")
        channel.send("ready")
        while not channel.poll(INTERVAL_SECONDS):
            before = time.monotonic()
            client.get("/healthz").raise_for_status()
            answers.append(time.monotonic() - before)
    channel.send(answers)
