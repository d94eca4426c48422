"""A backtest job gives identical results in whatever slices and on whatever workers it runs."""

from collections.abc import Iterator
from itertools import count

import msgspec
import pytest

from headgate.adapters.memory.stores import MemorySimulationStore, MemoryStateCache
from headgate.application.backtest_runs import BacktestLimits, BacktestRunner, run_backtest_slice
from headgate.application.historical_states import HistoricalStates
from headgate.application.simulation_records import OverlayFact, SimulationRecord
from headgate.domain.kinds.cluster_queue import ClusterQueueChanged
from headgate.event_log.codec import encode
from tests.backtest.test_unchanged_configuration import day, state_at
from tests.builders.world import quotas
from tests.simulation.cluster import Cluster

START = 60


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """A simulated day; the jobs read its log."""
    return day(1)


def job(cluster: Cluster, *overlay: OverlayFact) -> SimulationRecord:
    head = cluster.log.head()
    (last,) = cluster.log.read(head - 1, limit=1)
    return SimulationRecord(
        id="job",
        created_at=1,
        created_by="user:ada",
        from_position=START,
        to_position=head,
        begin_at=state_at(cluster, START).changed_at,
        end_at=last.at,
        overlay=overlay,
    )


def worker(cluster: Cluster, book: MemorySimulationStore, rules: BacktestLimits) -> BacktestRunner:
    ticks: Iterator[int] = count()
    return BacktestRunner(
        store=book,
        event_log=cluster.log,
        states=HistoricalStates(cluster.log, MemoryStateCache()),
        owner="worker",
        elapsed=lambda: float(next(ticks)),
        report=_fail,
        rules=rules,
    )


def worked_off(cluster: Cluster, asked: SimulationRecord, *, restarts: bool) -> SimulationRecord:
    book = MemorySimulationStore()
    book.add(asked)
    rules = BacktestLimits(moves=40)
    present = worker(cluster, book, rules)
    while run_backtest_slice(present):
        present = worker(cluster, book, rules) if restarts else present
    found = book.find("job")
    assert found is not None
    assert (found.state, found.failure) == ("Done", "")
    return found


def _fail(_: str, failure: Exception) -> None:
    raise failure


def larger(cluster: Cluster, queue: str, amount: int) -> OverlayFact:
    spec = state_at(cluster, START).config.cluster_queues[queue].spec
    wider = msgspec.structs.replace(spec, resource_groups=quotas(plain=amount))
    name, version, fields = encode(ClusterQueueChanged(spec=wider))
    stream = f"clusterqueue/{queue}"
    return OverlayFact(stream=stream, name=name, schema_version=version, fields=fields)


def test_restarts_of_the_worker_change_not_a_byte(cluster: Cluster) -> None:
    through = worked_off(cluster, job(cluster), restarts=False)
    interrupted = worked_off(cluster, job(cluster), restarts=True)

    assert through.outcome is not None
    assert msgspec.json.encode(through.outcome) == msgspec.json.encode(interrupted.outcome)
    assert through.outcome.workloads == ()


def test_more_quota_lets_some_start_earlier_and_wait_less(cluster: Cluster) -> None:
    found = worked_off(cluster, job(cluster, larger(cluster, "product", 100)), restarts=False)

    assert found.outcome is not None
    queues = {queue.cluster_queue: queue for queue in found.outcome.queues}
    product = queues["product"]
    assert found.outcome.totals.earlier + found.outcome.totals.only_backtest > 0
    assert product.backtest.mean < product.actual.mean
    assert product.backtest.still_waiting <= product.actual.still_waiting
    assert queues["tight"].actual == queues["tight"].backtest


def test_a_job_that_takes_too_long_ends_and_says_so(cluster: Cluster) -> None:
    book = MemorySimulationStore()
    book.add(job(cluster))

    assert run_backtest_slice(worker(cluster, book, BacktestLimits(moves=5, seconds=0)))
    found = book.find("job")

    assert found is not None
    assert found.state == "Failed"
    assert "shorter stretch" in found.failure
    assert not run_backtest_slice(worker(cluster, book, BacktestLimits()))


def test_a_job_that_is_cancelled_meanwhile_stays_so(cluster: Cluster) -> None:
    book = MemorySimulationStore()
    book.add(job(cluster))
    claimed = book.claim("worker", lease_seconds=1)
    assert claimed is not None
    cancelled = msgspec.structs.replace(claimed.job, state="Cancelled", finished_at=9)

    assert book.save(cancelled, None)
    assert not book.save(claimed.job, b"half")
    assert not run_backtest_slice(worker(cluster, book, BacktestLimits()))
