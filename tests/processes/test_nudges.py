"""Nudges never make their callers wait, whatever the broker does."""

from threading import Event

import pytest

from headgate.adapters.celery import CeleryNudges, make_celery
from tests.processes.programs import DEADLINE_SECONDS, wait_until


class HangingBroker:
    """Records the partitions of messages; each `send_task` blocks until `answers` is set."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.sent: list[str] = []
        self.messages = 0
        self.answers = Event()

    def send_task(self, _name: str, args: tuple[str, ...], **_options: object) -> None:
        """Stand in for `Celery.send_task`."""
        self.messages += 1
        self.asked.extend(args)
        assert self.answers.wait(DEADLINE_SECONDS)
        self.sent.extend(args)


def test_nudges_return_while_the_broker_hangs_and_are_sent_once_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, celery = HangingBroker(), make_celery("")
    monkeypatch.setattr(celery, "send_task", broker.send_task)
    nudges = CeleryNudges(celery)
    nudges.nudge(["a"])
    wait_until(lambda: broker.asked == ["a"], "the first message is under way")
    nudges.nudge(["c", "b"])
    nudges.nudge(["b"])
    assert (broker.asked, broker.sent) == (["a"], [])
    broker.answers.set()
    wait_until(lambda: broker.sent == ["a", "b", "c"], "each partition is sent once")
    assert broker.messages == 2, "one for the first partition, one for all that follow"
    nudges.close()
