"""What queues had in use during a rehearsal, averaged over short times."""

import msgspec

from headgate.domain.backtest.workload_traces import BUCKETS, QueueUsage

SECOND = 1_000_000
HOUR = 3_600 * SECOND
TERABYTES = 500 * 2**40


def test_hours_of_much_memory_can_be_saved_and_continued() -> None:
    use = QueueUsage(begin_at=0, end_at=HOUR, now=0, used={"q/memory": TERABYTES})
    use.pass_time(HOUR // 2)
    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(use), type=QueueUsage)
    kept.pass_time(HOUR)
    assert kept.averages() == {"q/memory": [TERABYTES] * BUCKETS}


def test_an_average_is_exact_however_it_came_together() -> None:
    use = QueueUsage(begin_at=0, end_at=BUCKETS * 10, now=0, used={"q/gpu": 3})
    use.pass_time(3)
    use.used["q/gpu"] = 1
    use.pass_time(8)
    use.used["q/gpu"] = 7
    use.pass_time(10)
    assert use.averages()["q/gpu"][0] == (3 * 3 + 1 * 5 + 7 * 2) // 10
