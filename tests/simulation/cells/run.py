"""A simulated day of several cells, with what must hold after every event.

Faults, clocks that are set, moves and submits last for a while; then faults stop, leases must
converge within one lease time, and all work must end.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random

from tests.simulation.cells import leases
from tests.simulation.cells import messages as m
from tests.simulation.cells.cell import DIRECTORY, Cell, Log
from tests.simulation.cells.log import CountedLog, ScheduledLog
from tests.simulation.cells.moves import assigned
from tests.simulation.cells.network import Network
from tests.simulation.cells.routing import Clients, Directory, Router
from tests.simulation.cells.state import CellState, Changed, Record, Submitted

MINUTE = 60_000
HOUR = 60 * MINUTE
SETTLED = 5_000
"""A message and its answer take less when nothing is lost."""
HALF = 0.5
TO_END = 6 * HOUR
MAX_AMOUNT = 8


@dataclass
class Day:
    """What a day had in it; amounts of quota are multiplied by milliseconds."""

    faults: Counter[str] = field(default_factory=Counter)
    events: int = 0
    nominal: int = 0
    in_no_cell: int = 0
    unused: int = 0
    used: int = 0
    lent: int = 0
    submits: int = 0
    sent: int = 0
    refused: int = 0
    moved: int = 0
    aborted: int = 0
    decisions: dict[str, list[tuple[int, Record]]] = field(default_factory=dict)


@dataclass(frozen=True)
class DayPlan:
    """What a day is made of, by its seed.

    `is_steady` leaves out moves and failures of routers, so that a day with the directory away has
    the inputs of a day with it.
    """

    cells: int
    fault_time: int
    loss: float
    crashes: float
    directory_away: tuple[int, int] | None
    moves: int
    load: float
    is_steady: bool = False


def plan_of(seed: int) -> DayPlan:
    """A day by its seed: most are calm enough that leases are used, a quarter are long."""
    random = Random(seed)
    is_long = random.random() < 0.25
    away = (5 * MINUTE, HOUR) if is_long else None
    return DayPlan(
        cells=random.randint(2, 8),
        fault_time=(70 if is_long else random.randint(10, 25)) * MINUTE,
        loss=random.choice((0.0, 0.02, 0.1, 0.3)),
        crashes=random.choice((0.0, 0.002, 0.01, 0.03)),
        directory_away=away,
        moves=random.randint(0, 6),
        load=random.choice((0.5, 1.0, 1.5)),
    )


@dataclass(frozen=True)
class Effect:
    """What of quota is in effect in one cell; `claim` is what pods use or may use.

    `unused` is the part of taken leases that no workload uses; `until` the true time at which a
    lease ends by the clock.
    """

    quota: int
    usage: int
    claim: int
    unused: int
    lent: int
    until: int


def steady(seed: int) -> DayPlan:
    """A day with an hour without the directory, without moves and failures of routers."""
    return DayPlan(
        cells=2 + seed % 3,
        fault_time=70 * MINUTE,
        loss=0.1,
        crashes=0.01,
        directory_away=(5 * MINUTE, HOUR),
        moves=0,
        load=0.5,
        is_steady=True,
    )


def stormy(seed: int) -> DayPlan:
    """A short day with more of everything that goes wrong."""
    return DayPlan(
        cells=3 + seed % 2,
        fault_time=15 * MINUTE,
        loss=0.3,
        crashes=(0.0, 0.01, 0.03)[seed % 3],
        directory_away=None,
        moves=8,
        load=1.5,
    )


class World:
    """The cells of a day, and the checks."""

    def __init__(self, seed: int, plan: DayPlan, new_log: Callable[[int], Log]) -> None:
        self.plan = plan
        self.network = Network(seed)
        self.random = Random(f"{seed}/world")
        names = [f"c{number}" for number in range(plan.cells)]
        routers = ["router-0", "router-1"]
        self.day = Day(decisions={name: [] for name in names})
        self.directory = Directory(names, self.network)
        self.clients = Clients(routers, self.network, self._check_answer)
        self._submitted = 0
        self.owners: dict[str, str] = {}
        self._live: dict[str, set[str]] = {}
        self._uids: dict[str, str] = {}
        self._finished: set[str] = set()
        self.cells: dict[str, Cell] = {}
        for name in names:
            nominal = self.random.randint(2, 5) * MAX_AMOUNT
            others = [other for other in names if other != name]
            log = new_log(nominal)
            self.cells[name] = Cell(name, nominal, others=others, network=self.network, log=log)
            self.cells[name].watch = self._watch
        self._effects = {name: _effect_of(cell) for name, cell in self.cells.items()}
        self.nominal = sum(cell.nominal for cell in self.cells.values())
        executors = {cell.executor.name: cell.executor for cell in self.cells.values()}
        self.network.processes = {
            **self.cells,
            **executors,
            DIRECTORY: self.directory,
            "clients": self.clients,
            **{name: Router(name, [DIRECTORY, *names], self.network) for name in routers},
        }
        self.queues = queues_of(plan.cells)
        for number, queue in enumerate(self.queues):
            self.directory.log.append(assigned(queue, names[number % plan.cells]))
        self.directory.restart()
        self.network.wake(DIRECTORY, 0)

    def run(self) -> Day:
        """The whole day."""
        self._plan_submits()
        self._run_until(MINUTE)
        self._plan_faults()
        self._run_until(self.plan.fault_time)
        self._stop_faults()
        self._run_until(self.plan.fault_time + leases.LEASE + leases.SKEW)
        differing = self._differing()
        self._run_until(self.network.now + SETTLED)
        still = differing & self._differing()
        assert not still, f"leases have not converged: {sorted(still)}"
        end = self.network.now + TO_END
        while not self._is_done() and (self.network.next_at() or end) < end:
            self._advance()
        self._check_end()
        self.day.faults = self.network.faults
        self.day.submits, self.day.sent = len(self._uids), self.clients.sent
        self.day.refused = self.clients.refused_while_moving
        self.day.moved = sum(entry.kind == "switched" for entry in self.directory.log)
        self.day.aborted = sum(entry.kind == "aborted" for entry in self.directory.log)
        return self.day

    def _run_until(self, time: int) -> None:
        while (next_at := self.network.next_at()) is not None and next_at <= time:
            self._advance()
        self.network.at(time, "~", lambda: None)
        self._advance()

    def _advance(self) -> None:
        before = self.network.now
        self.day.events += 1
        self.network.advance()
        self._measure(self.network.now - before)
        self._check()

    def _check(self) -> None:
        """At every instant quota and pods in effect are at most the nominal quota of all cells.

        A cell is looked at again when it or its executor has worked, its clock was set, or a lease
        has ended by its clock.
        """
        touched, self.network.touched = self.network.touched, set()
        for name, cell in self.cells.items():
            is_same = name not in touched and cell.executor.name not in touched
            if not is_same or self.network.now >= self._effects[name].until:
                self._effects[name] = _effect_of(cell)
                self._check_stop_times(cell)
            if cell.executor.cut_at:
                self._check_grace(cell)
        claims = sum(effect.claim for effect in self._effects.values())
        assert claims <= self.nominal, f"more than {self.nominal}: {self._effects}"

    def _check_stop_times(self, cell: Cell) -> None:
        """Executors let no pod run longer than what its cell has of leases."""
        times = cell.stop_times()
        for uid, pod in cell.executor.pods.items():
            covered = times.get(uid, leases.FOREVER)
            assert pod.stop_by <= covered, f"{uid} may run to {pod.stop_by}, covered to {covered}"

    def _check_grace(self, cell: Cell) -> None:
        """A cell that was up gave its workloads time to save before executors stopped them."""
        network, grace = self.network, leases.DRAIN - 2 * leases.SKEW
        was_up = network.up_since.get(cell.name, 0) + grace + 2 * leases.SKEW <= network.now
        if was_up and cell.name not in network.down:
            for uid, evicted_at in cell.executor.cut_at.items():
                assert network.now - evicted_at >= grace, f"{uid} was stopped without its time"
        cell.executor.cut_at.clear()

    def _watch(self, cell: Cell, records: Sequence[Record]) -> None:
        """No workload is in two cells, and none is submitted or finished twice."""
        for record in records:
            if isinstance(record, Submitted):
                known = self._uids.setdefault(record.key, record.job.uid)
                assert known == record.job.uid, f"{record.key} was submitted twice"
            if isinstance(record, Changed) and record.phase == "finished":
                assert record.uid not in self._finished, f"{record.uid} finished twice"
                self._finished.add(record.uid)
            self.day.decisions[cell.name].append((self.network.now, record))
        live = live_in(cell.state)
        before = self._live.get(cell.name, set())
        for uid in before - live:
            del self.owners[uid]
        for uid in sorted(live - before):
            owner = self.owners.get(uid)
            assert owner is None, f"{uid} is in {owner} and in {cell.name}"
            assert uid not in self._finished, f"{uid} is in {cell.name} after its end"
            self.owners[uid] = cell.name
        self._live[cell.name] = live

    def _check_answer(self, key: str, uid: str) -> None:
        known = self.clients.answers.get(key, uid)
        assert known == uid == self._uids[key], f"{key} was answered by {known} and {uid}"

    def _measure(self, length: int) -> None:
        """Adds up the time since the event before, as it was after that event."""
        day, effects = self.day, self._effects.values()
        day.nominal += length * self.nominal
        day.in_no_cell += length * (self.nominal - sum(effect.quota for effect in effects))
        day.unused += length * sum(effect.unused for effect in effects)
        day.used += length * sum(effect.usage for effect in effects)
        day.lent += length * sum(effect.lent for effect in effects)

    def _plan_submits(self) -> None:
        """Each queue has bursts of its own, so that cells are short of quota at different times."""
        for queue in self.queues:
            random = self.network.random(f"submits/{queue}")
            load = self.plan.load * random.choice((0.3, 1.0, 3.0))
            time = random.randint(0, 5 * MINUTE)
            while time < self.plan.fault_time:
                for _ in range(random.randint(1, 6)):
                    self._submit(queue, time, random)
                time += int(random.randint(2, 20) * MINUTE / load)

    def _submit(self, queue: str, time: int, random: Random) -> None:
        self._submitted += 1
        amount, seconds = random.randint(1, MAX_AMOUNT), random.choice((20, 60, 200, 600))
        submit = m.Submit(f"k{self._submitted}", queue, amount, seconds)
        self.network.at(time, queue, lambda: self.clients.submit(submit))

    def _plan_faults(self) -> None:
        plan, network = self.plan, self.network
        network.loss, network.crashes = plan.loss, plan.crashes
        if plan.is_steady:
            network.steady = {name for name in network.processes if name not in self.cells}
        if plan.directory_away is not None:
            start, length = plan.directory_away
            network.at(start, DIRECTORY, lambda: network.stop(DIRECTORY, length))
        for name in (*self.cells, *(cell.executor.name for cell in self.cells.values())):
            random = network.random(f"steps/{name}")
            for _ in range(random.randint(0, 3)):
                at = random.randint(MINUTE, plan.fault_time)
                network.at(at, name, partial(self._set_clock, name))
        for number in range(0 if plan.is_steady else plan.moves):
            at = self.random.randint(MINUTE, plan.fault_time)
            network.at(at, f"move-{number}", self._move)

    def _set_clock(self, name: str) -> None:
        self.network.set_clock(name)
        self.network.wake(name, self.network.now)

    def _move(self) -> None:
        if DIRECTORY not in self.network.down:
            queue = self.random.choice(self.queues)
            target = self.random.choice(list(self.cells))
            _, source = self.directory.table.cells[queue]
            later = self.network.now + self.random.randint(100, MINUTE)
            self.network.at(later, source, lambda: self._evict(self.cells[source]))
            for _ in range(3):
                at = self.network.now + self.random.randint(0, MINUTE // 2)
                self._submit(queue, at, self.random)
            self.network.run(DIRECTORY, lambda: self.directory.move(queue, target))
            if self.random.random() < HALF:
                at = self.network.now + self.random.choice((50, 100, 150, 10_000))
                self.network.at(at, DIRECTORY, lambda: self._abort(queue))

    def _abort(self, queue: str) -> None:
        """An operator gives a move up, which may be just done."""
        self.network.run(DIRECTORY, lambda: self.directory.abort(queue))

    def _evict(self, cell: Cell) -> None:
        """Users evict what runs in a cell, so that it must go after its queue if that moved."""
        for uid in list(cell.state.running):
            self.network.run(cell.name, partial(cell.evict, uid))

    def _stop_faults(self) -> None:
        """Nothing is lost any more, and every process is up."""
        self.network.loss = self.network.crashes = 0.0
        for name in list(self.network.down):
            self.network.start(name)

    def _differing(self) -> set[tuple[str, str]]:
        """Pairs of lender and borrower that do not agree on the lease between them."""
        found = set()
        for name, lender in self.cells.items():
            for other, borrower in self.cells.items():
                lent = lender.state.lent.get(other)
                taken = borrower.state.taken.get(name)
                counted = lent.number if lent is not None and not lent.is_over else 0
                known = 0
                if taken is not None and not taken.is_returned and borrower.now <= taken.until:
                    known = taken.number
                if counted != known:
                    found.add((name, other))
        return found

    def _is_done(self) -> bool:
        return (
            not self.clients.open
            and not self.owners
            and len(self._finished) == len(self._uids)
            and not self.directory.table.open
            and all(
                cell.state.table.position == len(self.directory.log) for cell in self.cells.values()
            )
        )

    def _check_end(self) -> None:
        """Every submit is answered, every workload finished, every move decided and known."""
        assert not self.clients.open, f"never answered: {sorted(self.clients.open)}"
        missing = set(self._uids.values()) - self._finished
        assert not missing, f"never finished: {sorted(missing)}"
        assert not self.directory.table.open, f"never ended: {self.directory.table.open}"
        for name, cell in self.cells.items():
            queues = cell.state.queues
            moving = [queue for queue in queues if queues[queue].phase in {"stopping", "imported"}]
            assert not moving, f"{name} does not know how moves ended of {moving}"
            folded = CellState()
            folded.apply_all(cell.log.records())
            assert vars(folded) | {"table": 0} == vars(cell.state) | {"table": 0}, name


def _effect_of(cell: Cell) -> Effect:
    """Quota, pods and leases of a cell now."""
    now, quota, until = cell.now, cell.quota, leases.FOREVER
    borrowed = leases.borrowed_amount(cell.state.taken.values(), now)
    for lease in cell.state.taken.values():
        if leases.is_in_effect(lease, now):
            until = min(until, leases.in_effect_until(lease.until))
    usage = cell.executor.usage
    return Effect(
        quota=quota,
        usage=usage,
        claim=max(quota, usage),
        unused=min(borrowed, max(0, quota - cell.usage)),
        lent=leases.lent_amount(cell.state.lent.values()),
        until=cell.network.now + until - now,
    )


def live_in(state: CellState) -> set[str]:
    """The workloads that a cell may admit or has admitted."""
    brought = {
        uid for here in state.queues.values() if here.phase == "imported" for uid in here.uids
    }
    return {
        uid
        for uid, job in state.jobs.items()
        if job.phase != "exported" and (uid not in brought or job.phase != "pending")
    }


def run_day(seed: int, plan: DayPlan | None = None, *, is_scheduled: bool = False) -> Day:
    """Runs the day of a seed; where it `is_scheduled`, cells admit by the real scheduler."""
    plan = plan or plan_of(seed)
    queues = queues_of(plan.cells)
    if is_scheduled:
        return World(seed, plan, lambda nominal: ScheduledLog(queues, nominal)).run()
    return World(seed, plan, lambda _: CountedLog()).run()


def queues_of(cells: int) -> list[str]:
    """Two queues for each cell at the beginning."""
    return [f"q{number}" for number in range(2 * cells)]


def compare_without_directory(seed: int) -> None:
    """Cells write equal records at equal times with the directory and without it for an hour."""
    plan = steady(seed)
    away, there = run_day(seed, plan), run_day(seed, replace(plan, directory_away=None))
    assert away.decisions == there.decisions, "the directory has changed a decision"
