"""The directory, routers and clients."""

from collections.abc import Callable, Sequence

from tests.simulation.cells import messages as m
from tests.simulation.cells import moves
from tests.simulation.cells.cell import DIRECTORY, RETRY
from tests.simulation.cells.network import Network
from tests.simulation.cells.state import Entry, Table

ABORT_AFTER = 90_000
"""A move is aborted if its target is not ready by then."""


class Directory:
    """A log of where queues are; cells follow it, and it decides the end of every move."""

    def __init__(self, cells: Sequence[str], network: Network) -> None:
        self.name = DIRECTORY
        self.cells = cells
        self.network = network
        self.log: list[Entry] = []
        self.restart()

    def restart(self) -> None:
        """Folds the log; how far cells have read is asked again."""
        self.table = Table()
        for entry in self.log:
            self.table.apply(entry)
        self._followed = dict.fromkeys(self.cells, 0)
        self._sent: dict[str, int] = {}
        self._open_since = dict.fromkeys(self.table.open, self.network.now)

    def commit(self, entry: Entry | None) -> None:
        """Writes an entry; the process may be gone before and after."""
        if entry is None:
            return
        self.network.maybe_crash(self.name)
        self.log.append(entry)
        self.table.apply(entry)
        self._open_since[entry.queue] = self.network.now
        self.network.maybe_crash(self.name)

    def move(self, queue: str, target: str) -> None:
        """An operator moves a queue."""
        entry = moves.started(self.table, queue, len(self.log), target)
        self.commit(entry)
        self.step()

    def abort(self, queue: str) -> None:
        """An operator gives the move of a queue up, unless it has ended."""
        if queue in self.table.open:
            self.commit(moves.ended(self.table, queue, self.table.open[queue].move, "aborted"))
            self.step()

    def handle(self, message: object) -> None:
        """Takes a message, then does what is due."""
        match message:
            case m.Ready(queue=queue, move=move):
                self.commit(moves.ended(self.table, queue, move, "switched"))
            case m.FollowedTo(cell=cell, position=position):
                self._followed[cell] = max(self._followed[cell], position)
            case m.FetchTable(router=router):
                self.network.send(self.name, router, m.TableIs(dict(self.table.cells)))
            case _:
                raise AssertionError(message)
        self.step()

    def step(self) -> None:
        """Ends moves that take too long, and sends cells what they have not read."""
        now = self.network.now
        for queue, entry in list(self.table.open.items()):
            if now >= self._open_since[queue] + ABORT_AFTER:
                self.commit(moves.ended(self.table, queue, entry.move, "aborted"))
        behind = [cell for cell in self.cells if self._followed[cell] < len(self.log)]
        for cell in behind:
            after = self._followed[cell]
            if now >= self._sent.get(f"{cell}/{len(self.log)}", -RETRY) + RETRY:
                self._sent[f"{cell}/{len(self.log)}"] = now
                entries = tuple(self.log[after:])
                self.network.send(self.name, cell, m.Entries(after, entries))
        if behind or self.table.open:
            self.network.wake(self.name, now + RETRY)


class Router:
    """Passes submits on by a table that it keeps in memory only."""

    def __init__(self, name: str, sources: Sequence[str], network: Network) -> None:
        self.name = name
        self.sources = sources
        self.network = network
        self.restart()

    def restart(self) -> None:
        """Knows nothing; it asks the directory and every cell, whichever answers."""
        self.table: dict[str, tuple[int, str]] = {}
        self._fetch()

    def handle(self, message: object) -> None:
        """Takes a message."""
        self.network.maybe_crash(self.name)
        match message:
            case m.Submit(queue=queue):
                if queue in self.table:
                    self.network.send(self.name, self.table[queue][1], message)
                else:
                    self._fetch()
            case m.TableIs(cells=cells):
                for queue, (move, cell) in cells.items():
                    self._learn(queue, move, cell)
            case m.Redirected(submit=submit, move=move, cell=cell):
                self._learn(submit.queue, move, cell)
                self.network.send(self.name, self.table[submit.queue][1], submit)
            case m.Answer() | m.Refused():
                self.network.send(self.name, "clients", message)
            case _:
                raise AssertionError(message)

    def step(self) -> None:
        """Nothing is due by itself: clients ask again."""

    def _learn(self, queue: str, move: int, cell: str) -> None:
        if queue not in self.table or self.table[queue][0] < move:
            self.table[queue] = (move, cell)

    def _fetch(self) -> None:
        for source in self.sources:
            self.network.send(self.name, source, m.FetchTable(self.name))


class Clients:
    """Every submit of a run: each is sent with its key, by any router, until it is answered."""

    def __init__(
        self, routers: Sequence[str], network: Network, check: Callable[[str, str], None]
    ) -> None:
        self.name = "clients"
        self.routers = routers
        self.network = network
        self.check = check
        self.open: dict[str, m.Submit] = {}
        self.answers: dict[str, str] = {}
        self.sent = 0
        self.refused = 0
        self.refused_while_moving = 0

    def submit(self, submit: m.Submit) -> None:
        """Submits; sometimes again after the answer, as a client that has lost it."""
        self.open[submit.key] = submit
        self._send(submit.key)
        random = self.network.random(self.name)
        if random.random() < AGAIN:
            later = self.network.now + random.randint(1_000, 900_000)
            self.network.at(later, submit.key, lambda: self._send_once(submit))

    def _send(self, key: str) -> None:
        if key in self.open:
            self._send_once(self.open[key])
            self.network.at(self.network.now + RETRY, key, lambda: self._send(key))

    def _send_once(self, submit: m.Submit) -> None:
        self.sent += 1
        router = self.network.random(self.name).choice(self.routers)
        by_router = m.Submit(submit.key, submit.queue, submit.amount, submit.seconds, router)
        self.network.send(self.name, router, by_router)

    def handle(self, message: object) -> None:
        """Takes an answer or a refusal."""
        match message:
            case m.Answer(key=key, uid=uid):
                self.check(key, uid)
                self.answers[key] = uid
                self.open.pop(key, None)
            case m.Refused(is_moving=is_moving):
                self.refused += 1
                self.refused_while_moving += is_moving
            case _:
                raise AssertionError(message)

    def restart(self) -> None:
        """Clients are not restarted."""

    def step(self) -> None:
        """Nothing is due by itself."""


AGAIN = 0.2
"""The share of clients that send a submit again long after its answer."""
