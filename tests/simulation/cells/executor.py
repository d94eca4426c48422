"""The executor of a cell: it runs pods, stops them by its own clock, and keeps what became of them.

It goes on while its cell is down.
"""

from dataclasses import dataclass

from tests.simulation.cells import leases
from tests.simulation.cells.network import Network


@dataclass
class Pod:
    """What runs: `ends_at` is the true time, `stop_by` that of the executor's clock."""

    amount: int
    attempt: int
    ends_at: int
    stop_by: int
    stopped_at: int = leases.FOREVER
    evicted_at: int = leases.FOREVER


class Executor:
    """Pods of one cell by workload; `journal` has the ends that its cell has not written.

    `cut_at` has the workloads just stopped without an order of the cell, or before the time that
    it gave them was over, with the instant of the order.
    """

    def __init__(self, cell: str, network: Network) -> None:
        self.name = f"executor-{cell}"
        self.cell = cell
        self.network = network
        self.pods: dict[str, Pod] = {}
        self.journal: dict[tuple[str, int], bool] = {}
        self.cut_at: dict[str, int] = {}

    @property
    def usage(self) -> int:
        """What pods use now."""
        return sum(pod.amount for pod in self.pods.values())

    def run(self, uid: str, attempt: int, amount: int, seconds: int, stop_by: int) -> None:
        """Starts a workload, or takes a later time to stop it; a second order changes nothing."""
        if (uid, attempt) in self.journal:
            return
        if uid not in self.pods:
            ends_at = self.network.now + seconds * 1_000
            self.pods[uid] = Pod(amount, attempt, ends_at, stop_by)
        pod = self.pods[uid]
        pod.stop_by = max(pod.stop_by, stop_by)
        self.step()

    def evict(self, uid: str) -> None:
        """Stops a workload softly, within `DRAIN`."""
        pod = self.pods.get(uid)
        if pod is not None and pod.stopped_at == leases.FOREVER:
            random = self.network.random(self.name)
            grace = random.choice((leases.DRAIN, random.randint(0, leases.DRAIN)))
            pod.evicted_at = self.network.now
            pod.stopped_at = self.network.now + grace
            self.step()

    def restart(self) -> None:
        """Executors of this simulation do not fail."""

    def handle(self, message: object) -> None:
        """Orders come by `run` and `evict`: the way from a cell to its executor loses nothing."""

    def step(self) -> None:
        """Ends pods that are done, evicted, or past the time that they may run to."""
        now, clock = self.network.now, self.network.clock(self.name)
        next_at = leases.FOREVER
        for uid, pod in list(self.pods.items()):
            deadline = deadline_of(pod, now, clock)
            if min(pod.ends_at, pod.stopped_at, deadline) <= now:
                del self.pods[uid]
                if deadline < min(pod.ends_at, pod.stopped_at):
                    self.cut_at[uid] = pod.evicted_at
                is_finished = pod.ends_at <= min(pod.stopped_at, deadline)
                self.journal[uid, pod.attempt] = is_finished
                self.network.wake(self.cell, now)
            else:
                next_at = min(next_at, pod.ends_at, pod.stopped_at, deadline)
        if next_at < leases.FOREVER:
            self.network.wake(self.name, next_at)


def deadline_of(pod: Pod, now: int, clock: int) -> int:
    """The true time at which an executor stops a pod without an order of its cell."""
    return pod.stop_by - clock + now if pod.stop_by < leases.FOREVER else leases.FOREVER
