"""Fills a log with pending and finished workloads, through the port that appends to it.

Nothing is decided, so that it takes a fraction of the time that an installation needs for as much.
"""

import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from headgate.adapters.manifests.parse import Desired
from headgate.application.commands.append_unit import configures, rows_of
from headgate.application.ports import Appended, AppendUnit, NewEvent, Verdict, WrittenObject
from headgate.bootstrap import Platform, migrate, open_platform
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.cluster_queue import ClusterQueueCreated, ClusterQueueSpec
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.local_queue import LocalQueueCreated, LocalQueueSpec
from headgate.domain.kinds.queue_settings import FlavorQuotas, ResourceGroup, ResourceQuota
from headgate.domain.kinds.resource_flavor import ResourceFlavorCreated, ResourceFlavorSpec
from headgate.domain.recorded_event import DomainEvent, EventMetadata, RecordedEvent, evolve_state
from headgate.domain.scheduling.partition.wakes import ALL_PARTITIONS
from headgate.domain.values.instants import Instant
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadEvent,
    WorkloadPodsReady,
    WorkloadQuotaReserved,
    WorkloadSubmitted,
)
from headgate.domain.workloads.specs import PodSet, Scheduling, WorkloadSpec
from headgate.embedded.servers import start_postgres
from headgate.settings import Settings
from tests.builders.mixes import (
    NAMESPACE,
    OWNER,
    RESOURCES,
    Mix,
    a_life_of,
    a_submission_of,
    an_admission_of,
)

OPEN_QUEUE = "open"
"""The ClusterQueue, and LocalQueue, in which a workload is admitted at once."""

NOMINAL = 1_000_000_000_000_000
GROUP = 500
"""Units that share a transaction, as in a group commit under load."""

FIRST_FINISHED = 1_000_000_000
"""Numbers of finished workloads begin here, so that no name is given twice."""

MAX_UNDER_WAY = 2

SUBMITTED = EventMetadata(actor="user:bench")
StreamEvent = tuple[str, DomainEvent]


def queue_of(number: int, partitions: int) -> str:
    """The queue of a workload; each is a ClusterQueue, a LocalQueue and a partition of its own."""
    return f"bench-{number % partitions}"


def configuration(partitions: int) -> Iterator[StreamEvent]:
    """Yields the events of the queues, each but the open one full with one running workload."""
    flavor = ResourceFlavorCreated(uid="plain", name="plain", spec=ResourceFlavorSpec())
    yield "resourceflavor/plain", flavor
    quotas = tuple(ResourceQuota(name=name, nominal_quota=NOMINAL) for name in RESOURCES)
    group = ResourceGroup(
        covered_resources=RESOURCES, flavors=(FlavorQuotas(name="plain", resources=quotas),)
    )
    queues = [queue_of(number, partitions) for number in range(partitions)]
    for name in (*queues, OPEN_QUEUE):
        spec = ClusterQueueSpec(resource_groups=(group,), namespace_selector=LabelSelector())
        yield f"clusterqueue/{name}", ClusterQueueCreated(uid=name, name=name, spec=spec)
        local = LocalQueueCreated(
            uid=name, name=name, namespace=NAMESPACE, spec=LocalQueueSpec(cluster_queue=name)
        )
        yield f"localqueue/{NAMESPACE}/{name}", local
    for name in queues:
        yield from _occupant(name)


def _occupant(queue: str) -> Iterator[StreamEvent]:
    scheduling = Scheduling(requests=dict.fromkeys(RESOURCES, NOMINAL))
    spec = WorkloadSpec(queue_name=queue, pod_sets=(PodSet(scheduling=scheduling),))
    name = f"occupant-{queue}"
    submitted = WorkloadSubmitted(uid=name, namespace=NAMESPACE, name=name, spec=spec, owner=OWNER)
    stream = f"workload/{NAMESPACE}/{name}"
    yield stream, submitted
    yield stream, WorkloadQuotaReserved(admission=an_admission_of(submitted, queue))
    yield stream, WorkloadAdmitted(waited_seconds=0)
    yield stream, WorkloadPodsReady()


class Population:
    """The workloads that were added to a log so far, by mix and number."""

    def __init__(self, platform: Platform, partitions: int) -> None:
        self.partitions = partitions
        self.pending = self.finished = 0
        self._platform = platform
        self._config = ClusterState()
        self._opened = 0
        self._groups = 0
        self._appender = ThreadPoolExecutor(1, thread_name_prefix="append")
        self._under_way: deque[Future[list[Verdict]]] = deque()

    def configure(self) -> None:
        """Append the queues, each in a transaction of its own as decisions on them are."""
        at = self._platform.event_log.now()
        versions: dict[str, int] = {}
        states: dict[str, object] = {}
        for stream, event in configuration(self.partitions):
            version = versions.get(stream, 0)
            states[stream] = evolve_state(
                stream.partition("/")[0], states.get(stream, Absent()), event, at
            )
            versions[stream] = version + 1
            new = NewEvent(
                stream=stream,
                event=event,
                wakes=ALL_PARTITIONS,
                configures=configures(stream, event),
            )
            self._append([_unit(new, version, states[stream], at)])
            self._finish_appends()
            self._config.apply(
                RecordedEvent(
                    position=self._config.position + 1,
                    stream=stream,
                    version=version + 1,
                    event=event,
                    at=at,
                    metadata=SUBMITTED,
                )
            )

    def add_pending(self, mix: Mix, count: int) -> None:
        """Append so many submits to the full queues."""
        self._add([(mix, self.pending + number, False) for number in range(count)])
        self.pending += count

    def add_finished(self, mix: Mix, count: int) -> None:
        """Append so many lives of five events, one event of each workload in a transaction."""
        self._add([(mix, FIRST_FINISHED + self.finished + n, True) for n in range(count)])
        self.finished += count

    def add_finished_at_once(self, mix: Mix, count: int) -> None:
        """Append so many lives of five events, each of them whole in one unit and one row.

        It takes a third of the time of `add_finished`; what a life takes in the database is less.
        """
        first = FIRST_FINISHED + self.finished
        for start in range(first, first + count, GROUP):
            self._extend_log()
            at = self._platform.event_log.now()
            self._append(
                [
                    self._whole_life(mix, number, at)
                    for number in range(start, min(start + GROUP, first + count))
                ]
            )
        self._finish_appends()
        self.finished += count

    def _whole_life(self, mix: Mix, number: int, at: Instant) -> AppendUnit:
        queue = queue_of(number, self.partitions)
        submitted, desired = a_submission_of(mix, number, queue)
        stream = f"workload/{submitted.namespace}/{submitted.name}"
        state: object = Absent()
        events = []
        for event in a_life_of(submitted, queue):
            state = evolve_state("workload", state, event, at)
            events.append(NewEvent(stream=stream, event=event, wakes=self._wakes(state)))
        return AppendUnit(
            at=at,
            metadata=SUBMITTED,
            expected={stream: 0},
            events=tuple(events),
            rows=rows_of(stream, state),
            written=_written(desired),
        )

    def add_to_open_queue(self) -> str:
        """Append a submit that is admitted at once; returns its partition."""
        self._opened += 1
        event, _ = a_submission_of("small", 2_000_000_000 + self._opened, OPEN_QUEUE)
        self._append_lives([iter((event,))], [()])
        self._finish_appends()
        return self._config.layout.of_cluster_queue[OPEN_QUEUE]

    def _add(self, wanted: Sequence[tuple[Mix, int, bool]]) -> None:
        for start in range(0, len(wanted), GROUP):
            self._extend_log()
            lives: list[Iterator[WorkloadEvent]] = []
            written: list[tuple[WrittenObject, ...]] = []
            for mix, number, is_whole_life in wanted[start : start + GROUP]:
                queue = queue_of(number, self.partitions)
                event, desired = a_submission_of(mix, number, queue)
                lives.append(a_life_of(event, queue) if is_whole_life else iter((event,)))
                written.append(_written(desired))
            self._append_lives(lives, written)
        self._finish_appends()

    def _append_lives(
        self,
        lives: Sequence[Iterator[WorkloadEvent]],
        written: Sequence[tuple[WrittenObject, ...]],
    ) -> None:
        """Append the lives side by side: the first events of all in one transaction, and so on."""
        at = self._platform.event_log.now()
        states: list[object] = [Absent()] * len(lives)
        streams = [""] * len(lives)
        for version, events in enumerate(zip(*lives, strict=True)):
            units = []
            for place, event in enumerate(events):
                if isinstance(event, WorkloadSubmitted):
                    streams[place] = f"workload/{event.namespace}/{event.name}"
                states[place] = evolve_state("workload", states[place], event, at)
                new = NewEvent(stream=streams[place], event=event, wakes=self._wakes(states[place]))
                kept = () if version else written[place]
                units.append(_unit(new, version, states[place], at, kept))
            self._append(units)

    def _wakes(self, state: object) -> tuple[str, ...]:
        return (self._config.layout.key_of(state),)  # type: ignore[arg-type]

    def _extend_log(self) -> None:
        """Makes the partitions of the log ahead of the group that comes next, now and then."""
        if self._groups % 100 == 0:
            self._finish_appends()
            self._platform.maintenance.extend_log()
        self._groups += 1

    def _append(self, units: Sequence[AppendUnit]) -> None:
        """Append in order, in a thread: the next group is made while the database writes."""
        while len(self._under_way) >= MAX_UNDER_WAY:
            self._check_first()
        append = self._platform.event_log.append
        self._under_way.append(self._appender.submit(append, units))

    def _finish_appends(self) -> None:
        while self._under_way:
            self._check_first()

    def _check_first(self) -> None:
        for verdict in self._under_way.popleft().result():
            assert isinstance(verdict, Appended), verdict


def _written(desired: Desired) -> tuple[WrittenObject, ...]:
    return tuple(
        WrittenObject(digest=sha256(body).hexdigest(), body=body) for body in desired.templates
    )


def _unit(
    new: NewEvent,
    version: int,
    state: object,
    at: Instant,
    written: tuple[WrittenObject, ...] = (),
) -> AppendUnit:
    return AppendUnit(
        at=at,
        metadata=SUBMITTED,
        expected={new.stream: version},
        events=(new,),
        rows=rows_of(new.stream, state),
        written=written,
    )


class Filled(NamedTuple):
    """A database of its own in a directory of its own, and what fills its log."""

    directory: Path
    platform: Platform
    population: Population


@contextmanager
def filled_database(partitions: int = 10) -> Iterator[Filled]:
    """Starts a Postgres with the queues of a population and no workloads; removes it at the end."""
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        postgres = start_postgres(directory / "postgres")
        try:
            migrate(postgres.url)
            settings = Settings(database_url=postgres.url, broker_url="memory://")
            platform = open_platform(settings, name="bench")
            population = Population(platform, partitions)
            population.configure()
            try:
                yield Filled(directory, platform, population)
            finally:
                platform.close()
        finally:
            postgres.stop()
