"""What became of the workloads on hosts that failed, folded from the log alone."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from headgate.cli.presentation.ages import instant_of
from headgate.cli.replay.figures import Resilience, percentile
from headgate.client.shapes import Event
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant


class Aftermath:
    """Where everyone stands, who lost a host, and how it went on."""

    def __init__(self) -> None:
        self._uids: dict[str, str] = {}
        self._hosts: dict[str, frozenset[str]] = {}
        self._there: dict[str, dict[str, None]] = {}
        self._admitted: set[str] = set()
        self._gone: dict[str, Instant] = {}
        self._since: dict[str, Instant] = {}
        self._awaited: set[str] = set()
        self._hit: Counter[str] = Counter()
        self._went: Counter[str] = Counter()
        self._evicted: set[str] = set()
        self._moves: list[float] = []
        self._changes: Counter[bool] = Counter()

    @property
    def is_open(self) -> bool:
        """Whether it has not been told of everyone who lost a host what comes of it."""
        return bool(self._since or self._awaited)

    def told(self, workloads: Iterable[str]) -> None:
        """The server was told that they lost pods, and will say what follows."""
        self._awaited.update(workloads)

    def changed(self, *, is_down: bool) -> None:
        """A host failed, or returned."""
        self._changes[is_down] += 1

    def standing_on(self, host: str) -> Iterator[str]:
        """The admitted workloads with pods on a host."""
        return (key for key in self._there.get(host, ()) if key in self._admitted)

    def in_use(self) -> list[str]:
        """The hosts with pods of admitted workloads, in order of name."""
        return [host for host in sorted(self._there) if any(self.standing_on(host))]

    def uid_of(self, workload: str) -> str:
        """Its uid, as it was submitted."""
        return self._uids[workload]

    def observe(self, event: Event) -> None:
        """Take in the next event of the log."""
        key, at = event.name, instant_of(event.at)
        match event.type:
            case "workload.submitted":
                self._uids[key] = str(event.data["uid"])
            case "workload.quota_reserved" | "workload.scaled_down":
                self._stand(key, event.data["admission"])
            case "workload.admitted":
                self._admitted.add(key)
                if key in self._evicted:
                    self._evicted.remove(key)
                    self._went["admitted again"] += 1
            case "workload.pods_gone":
                self._gone[key] = at
            case "workload.hosts_failed":
                self._awaited.discard(key)
                if key not in self._since:
                    self._since[key] = self._gone.get(key, at)
                    self._hit[key] += 1
            case "workload.placed":
                self._placed(key, event.data, at)
            case "workload.hosts_recovered":
                self._settle(key, "recovered")
            case "workload.evicted":
                self._leave(key, str(event.data.get("reason", "")))
            case "workload.stopped" | "workload.reservation_dropped" | "workload.finished":
                self._settle(key, "left")
                self._stand(key, None)
            case _:
                pass

    def resilience(self) -> Resilience:
        """The figures so far."""
        moves = self._moves
        return Resilience(
            hosts_failed=self._changes[True],
            hosts_returned=self._changes[False],
            workloads_hit=len(self._hit),
            hits=sum(self._hit.values()),
            moved=self._went["moved"],
            evicted=self._went["evicted"],
            admitted_again=self._went["admitted again"],
            recovered=self._went["recovered"],
            left=self._went["left"],
            searching=len(self._since),
            mean_seconds_to_move=round(sum(moves) / len(moves), 3) if moves else None,
            p99_seconds_to_move=round(percentile(moves, 0.99), 3) if moves else None,
        )

    def _placed(self, key: str, data: dict[str, Any], at: Instant) -> None:
        since = self._since.get(key)
        if since is not None and data.get("replaced"):
            self._moves.append((at - since) / MICROSECONDS_PER_SECOND)
            self._settle(key, "moved")
        self._stand(key, data["admission"])

    def _leave(self, key: str, reason: str) -> None:
        if reason == "NodeFailures":
            self._evicted.add(key)
            self._settle(key, "evicted")
        else:
            self._settle(key, "left")

    def _settle(self, key: str, how: str) -> None:
        self._awaited.discard(key)
        if self._since.pop(key, None) is not None:
            self._went[how] += 1

    def _stand(self, key: str, admission: dict[str, Any] | None) -> None:
        for host in self._hosts.pop(key, ()):
            self._there[host].pop(key, None)
        if admission is None:
            self._admitted.discard(key)
            return
        self._hosts[key] = frozenset(_hosts_in(admission))
        for host in sorted(self._hosts[key]):
            self._there.setdefault(host, {})[key] = None


def _hosts_in(admission: dict[str, Any]) -> Iterator[str]:
    for given in admission["pod_set_assignments"]:
        for values, _count in (given.get("topology_assignment") or {}).get("domains", ()):
            yield values[-1]
