"""A ticker rests between turns, waits out outages, and ends at once when it is stopped."""

import threading

import pytest

from headgate.application.ports import Unavailable
from headgate_workers import ticker as ticker_module
from headgate_workers.ticker import Ticker, TickerCallbacks
from tests.processes.programs import wait_until

LONG_SECONDS = 3_600.0
PATIENCE_SECONDS = 30.0


def _nothing() -> None:
    pass


def test_a_pause_of_an_outage_is_ended_by_a_stop_and_by_no_wake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ticker_module, "MIN_RETRY_SECONDS", LONG_SECONDS)
    failed = threading.Semaphore(0)

    def fail(_keys: frozenset[str]) -> float:
        failed.release()
        raise Unavailable("away")

    ticker = Ticker("test", fail, TickerCallbacks(alive=_nothing, broken=_nothing))
    ticker.start()
    assert failed.acquire(timeout=PATIENCE_SECONDS)
    ticker.wake("partition")

    assert not failed.acquire(timeout=0.2), "the pause is not over"
    assert ticker.stop(PATIENCE_SECONDS)


def test_a_stop_just_before_a_turn_ends_the_ticker_after_it() -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    def alive() -> None:
        begun.set()
        may_go_on.wait(PATIENCE_SECONDS)

    callbacks = TickerCallbacks(alive=alive, broken=_nothing)
    ticker = Ticker("stopped before its turn", lambda _: LONG_SECONDS, callbacks)
    ticker.start()
    assert begun.wait(PATIENCE_SECONDS)
    assert not ticker.stop(0.0)
    may_go_on.set()

    wait_until(
        lambda: all(each.name != "stopped before its turn" for each in threading.enumerate()),
        "the ticker ends",
    )
