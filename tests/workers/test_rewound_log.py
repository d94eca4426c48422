"""Workers with a fold of events that the log has lost fold it anew, and say so once."""

import pytest

from headgate.application.projections.followers import FollowerRunner
from headgate.application.verify.verify import Verifier
from headgate.domain.recorded_event import LOG_STREAM, LogRewound
from headgate.event_log.chain import PastLost
from headgate_workers.admission import AdmissionTicker
from headgate_workers.ticker import TickerCallbacks
from tests.contracts.adapters import Adapters
from tests.workers.cluster import admitted, cluster, folded, record, submitted
from tests.workers.scheduler_runs import Worker

GPU = "clusterqueue/gpu"


class NoFollowers:
    """Followers are compared elsewhere."""

    def names(self) -> tuple[str, ...]:
        return ()

    def differences(self, name: str) -> tuple[int, int]:
        raise AssertionError(name)


def turns(adapters: Adapters, worker: Worker, count: int = 4) -> None:
    """Some turns of the worker's ticker, without its thread."""
    runner = FollowerRunner(adapters.followers, adapters.log, lambda: 0.0, _never)
    callbacks = TickerCallbacks(alive=lambda: None, broken=lambda: None)
    ticker = AdmissionTicker(worker.scheduler, runner, callbacks)
    for _ in range(count):
        ticker._turn(frozenset())  # noqa: SLF001 - one turn, in this thread


def rewinds(adapters: Adapters) -> list[LogRewound]:
    """What the log says of losses of events."""
    found = [recorded.event for recorded in adapters.log.read_stream(LOG_STREAM)]
    return [event for event in found if isinstance(event, LogRewound)]


@pytest.fixture
def rewound(adapters: Adapters) -> Worker:
    """A worker that admitted `lost`; the log lost that, and another worker admitted `other`.

    There is quota for one of them, and the log is as long as the worker has read it.
    """
    record(adapters.log, *cluster("gpu", cpu_milli=1_000))
    old, new = Worker(adapters, "old"), Worker(adapters, "new")
    old.sweep()
    restore = adapters.back_up()
    record(adapters.log, submitted("lost", "gpu"))
    old.sweep()
    assert admitted(adapters.log) == ["team/lost"]
    read_up_to = old.scheduler.live.cluster_state.position
    restore()
    record(adapters.log, submitted("other", "gpu"))
    new.sweep()
    while adapters.log.head() <= read_up_to:
        record(adapters.log, submitted(f"more-{adapters.log.head()}", "gpu"))
    assert admitted(adapters.log) == ["team/other"]
    return old


def test_nothing_is_decided_on_what_the_log_has_lost(adapters: Adapters, rewound: Worker) -> None:
    """Before points were compared, the worker admitted a workload into occupied quota."""
    head = adapters.log.head()

    with pytest.raises(PastLost):
        rewound.sweep()

    assert adapters.log.head() == head


def test_a_worker_folds_the_log_anew_and_goes_on(adapters: Adapters, rewound: Worker) -> None:
    read_up_to = rewound.scheduler.live.cluster_state.position
    head = adapters.log.head()

    turns(adapters, rewound)

    live = rewound.scheduler.live
    live.catch_up_with_log()
    assert live.cluster_state.workloads == folded(adapters.log).workloads
    assert live.point == adapters.point(adapters.log.head())
    assert admitted(adapters.log) == ["team/other"]
    assert rewinds(adapters) == [LogRewound(read_up_to=read_up_to, head=head, observer="headgate")]
    assert all(w.explanation for w in live.cluster_state.workloads.values() if not w.admission)
    verifier = Verifier(adapters.log, adapters.models, NoFollowers())
    assert verifier.verify(lambda *_: None).findings == ()


def test_a_loss_that_another_process_has_recorded_is_not_recorded_again(
    adapters: Adapters, rewound: Worker
) -> None:
    turns(adapters, rewound)
    second = Worker(adapters, "second")
    second.sweep()
    restore = adapters.back_up()
    record(adapters.log, submitted("lost-later", "gpu"))
    third = Worker(adapters, "third")
    second.sweep()
    third.sweep()
    restore()

    turns(adapters, third)
    turns(adapters, second)

    assert len(rewinds(adapters)) == 2


def test_a_log_that_is_shorter_than_the_fold_is_folded_anew(adapters: Adapters) -> None:
    record(adapters.log, *cluster("gpu"))
    restore = adapters.back_up()
    record(adapters.log, submitted("lost", "gpu"))
    worker = Worker(adapters)
    worker.sweep()
    restore()

    turns(adapters, worker)

    assert worker.scheduler.live.cluster_state.workloads == {}
    assert len(rewinds(adapters)) == 1


def test_a_fold_of_what_is_lost_is_not_kept_for_others(adapters: Adapters) -> None:
    record(adapters.log, *cluster("gpu"))
    restore = adapters.back_up()
    record(adapters.log, submitted("lost", "gpu"))
    worker = Worker(adapters)
    worker.sweep()
    restore()
    record(adapters.log, *(submitted(f"job-{number}", "gpu") for number in range(9)))
    live = worker.scheduler.live
    live.keep_rule = type(live.keep_rule)(events=0)
    assert live.keep()

    assert Worker(adapters, "next").scheduler.live.cluster_state.workloads.keys() == {
        f"team/job-{number}" for number in range(9)
    }


def _never(name: str, failure: Exception) -> None:
    raise AssertionError(name) from failure


def test_rows_of_partitions_that_were_lost_without_an_event_are_made_again(
    adapters: Adapters,
) -> None:
    """A backup between the last event and the rows for it: the log has lost no event."""
    record(adapters.log, *cluster("gpu"))
    worker = Worker(adapters)
    restore = adapters.back_up()
    worker.sweep()
    restore()
    record(adapters.log, submitted("job", "gpu"))
    worker.sweep()
    assert admitted(adapters.log) == ["team/job"]
