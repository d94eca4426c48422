"""Host failures during a replay, and their effects on workloads."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from headgate.adapters.system.clocks_and_randomness import seeded
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.replay.arrivals import Object, ReplayInput
from headgate.cli.replay.figures import Resilience, percentile
from headgate.cli.units import instant_of
from headgate.client.client import HeadgateClient
from headgate.client.schemas import Assignment, Event, Report
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant


class OutageResults:
    """Folds events into the effects of host failures on workloads."""

    def __init__(self) -> None:
        self._uids: dict[str, str] = {}
        self._attempts: Counter[str] = Counter()
        self._hosts: dict[str, frozenset[str]] = {}
        self._workloads_on: dict[str, dict[str, None]] = {}
        self._admitted: set[str] = set()
        self._gone: dict[str, Instant] = {}
        self._since: dict[str, Instant] = {}
        self._awaited: set[str] = set()
        self._hit: Counter[str] = Counter()
        self._results: Counter[str] = Counter()
        self._evicted: set[str] = set()
        self._moves: list[float] = []
        self._changes: Counter[bool] = Counter()

    @property
    def is_open(self) -> bool:
        """Returns whether a workload that lost a host has no recorded result yet."""
        return bool(self._since or self._awaited)

    def report_accepted(self, workloads: Iterable[str]) -> None:
        """Records that the server accepted reports of lost pods; events of the workloads follow."""
        self._awaited.update(workloads)

    def changed(self, *, is_down: bool) -> None:
        """Records that a host failed or returned."""
        self._changes[is_down] += 1

    def admitted_on(self, host: str) -> Iterator[str]:
        """Returns the admitted workloads with pods on a host."""
        return (key for key in self._workloads_on.get(host, ()) if key in self._admitted)

    def in_use(self) -> list[str]:
        """Returns the hosts with pods of admitted workloads, in order of name."""
        return [host for host in sorted(self._workloads_on) if any(self.admitted_on(host))]

    def uid_of(self, workload: str) -> str:
        """Returns the uid of a workload."""
        return self._uids[workload]

    def attempt_of(self, workload: str) -> int:
        """Returns the number of the workload's present attempt."""
        return self._attempts[workload]

    def reconcile(self, assignments: Iterable[Assignment]) -> None:
        """Takes the attempts of assigned workloads from the server, where events were missed."""
        for assignment in assignments:
            self._attempts[assignment.workload] = assignment.attempt

    def observe(self, event: Event) -> None:
        """Applies the next event of the log."""
        key, at = event.name, instant_of(event.at)
        match event.type:
            case "workload.submitted":
                self._uids[key] = str(event.data["uid"])
            case "workload.quota_reserved":
                self._attempts[key] += 1
                self._record_hosts(key, event.data["admission"])
            case "workload.scaled_down":
                self._record_hosts(key, event.data["admission"])
            case "workload.admitted":
                self._admitted.add(key)
                if key in self._evicted:
                    self._evicted.remove(key)
                    self._results["admitted again"] += 1
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
                self._record_eviction(key, str(event.data.get("reason", "")))
            case "workload.finished" if key in self._evicted:
                self._evicted.remove(key)
                self._results["finished while evicting"] += 1
                self._record_hosts(key, None)
            case "workload.stopped" | "workload.reservation_dropped" | "workload.finished":
                self._settle(key, "left")
                self._record_hosts(key, None)
            case _:
                pass

    def resilience(self) -> Resilience:
        """Returns the counts and times so far."""
        moves = self._moves
        return Resilience(
            hosts_failed=self._changes[True],
            hosts_returned=self._changes[False],
            workloads_hit=len(self._hit),
            hits=sum(self._hit.values()),
            moved=self._results["moved"],
            evicted=self._results["evicted"],
            admitted_again=self._results["admitted again"],
            finished_while_evicting=self._results["finished while evicting"],
            recovered=self._results["recovered"],
            left=self._results["left"],
            searching=len(self._since),
            mean_seconds_to_move=round(sum(moves) / len(moves), 3) if moves else None,
            p99_seconds_to_move=round(percentile(moves, 0.99), 3) if moves else None,
        )

    def _placed(self, key: str, data: dict[str, Any], at: Instant) -> None:
        since = self._since.get(key)
        if since is not None and data.get("replaced"):
            self._moves.append((at - since) / MICROSECONDS_PER_SECOND)
            self._settle(key, "moved")
        self._record_hosts(key, data["admission"])

    def _record_eviction(self, key: str, reason: str) -> None:
        if reason == "NodeFailures":
            self._evicted.add(key)
            self._settle(key, "evicted")
        else:
            self._settle(key, "left")

    def _settle(self, key: str, how: str) -> None:
        self._awaited.discard(key)
        if self._since.pop(key, None) is not None:
            self._results[how] += 1

    def _record_hosts(self, key: str, admission: dict[str, Any] | None) -> None:
        for host in self._hosts.pop(key, ()):
            self._workloads_on[host].pop(key, None)
        if admission is None:
            self._admitted.discard(key)
            return
        self._hosts[key] = frozenset(_hosts_in(admission))
        for host in sorted(self._hosts[key]):
            self._workloads_on.setdefault(host, {})[key] = None


def _hosts_in(admission: dict[str, Any]) -> Iterator[str]:
    for given in admission["pod_set_assignments"]:
        for values, _count in (given.get("topology_assignment") or {}).get("domains", ()):
            yield values[-1]


COLUMNS = ("host", "fails_at", "returns_at")
MAX_DRAW = 1_000_000


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """One host is not ready from one instant of trace time to another, in microseconds.

    Without a name `draw` selects a host among those with pods at that time.
    """

    host: str = ""
    fails_at: int
    returns_at: int
    draw: int = 0


def planned_outages(
    replay: ReplayInput, number_or_file: str, minutes: int, seed: int
) -> list[Outage]:
    """Returns the outages of `--outages`: a number at seeded times, or those of a file."""
    known = {node["metadata"]["name"]: None for node in _nodes(replay)}
    if not number_or_file:
        return []
    if not known:
        raise CommandFailed("--outages: this replay has no hosts", code=ExitCode.USAGE)
    if not number_or_file.isdecimal():
        return _read(Path(number_or_file), known)
    arrivals = [arrival.at for arrival in replay.arrivals] or [0]
    chance = seeded("outages", seed)
    starts = [chance.randint(min(arrivals), max(arrivals)) for _ in range(int(number_or_file))]
    length = minutes * 60 * MICROSECONDS_PER_SECOND
    return [
        Outage(fails_at=start, returns_at=start + length, draw=chance.randrange(MAX_DRAW))
        for start in sorted(starts)
    ]


class HostFailures:
    """Simulates host failures: nodes report their state, and pods end with their host.

    A host that fails once more before it is back stays away until the last of its outages ends.
    """

    def __init__(self, replay: ReplayInput, outages: Sequence[Outage]) -> None:
        self._capacity = {
            node["metadata"]["name"]: node["status"]["allocatable"] for node in _nodes(replay)
        }
        self._outages = outages
        self._hosts = [outage.host for outage in outages]
        self._changes = sorted(
            change
            for number, outage in enumerate(outages)
            for change in ((outage.fails_at, 1, number), (outage.returns_at, -1, number))
        )
        self._next = 0
        self._down: Counter[str] = Counter()
        self._reported: set[tuple[str, str]] = set()
        self.outage_results = OutageResults()

    @property
    def next_at(self) -> int | None:
        """The trace time at which the next host fails or returns; None after the last."""
        return self._changes[self._next][0] if self._next < len(self._changes) else None

    def take_step(self, client: HeadgateClient) -> None:
        """Fails or restores the next host."""
        _, change, number = self._changes[self._next]
        self._next += 1
        self._hosts[number] = self._hosts[number] or self._draw(self._outages[number].draw)
        self._change(client, self._hosts[number], change)
        self.report_pods(client)

    def report_pods(self, client: HeadgateClient) -> None:
        """Reports the pods on failed hosts as gone, including those placed just before."""
        found = [
            (workload, host)
            for host in self._down
            for workload in self.outage_results.admitted_on(host)
            if (workload, host) not in self._reported
        ]
        self._reported.update(found)
        reports = [
            Report(
                workload=workload,
                uid=self.outage_results.uid_of(workload),
                attempt=self.outage_results.attempt_of(workload),
                type="podsGone",
                hosts=[host],
            )
            for workload, host in found
        ]
        if reports:
            results = client.report(reports)
            self.outage_results.report_accepted(
                each.workload for each in results if each.outcome == "recorded"
            )

    def restore(self, client: HeadgateClient) -> None:
        """Restores every failed host."""
        for host in sorted(self._down):
            self._change(client, host, -self._down[host])

    def _draw(self, draw: int) -> str:
        """Returns one of the hosts with pods, or one of all hosts where none has pods."""
        up = [host for host in self.outage_results.in_use() if host not in self._down]
        hosts = up or list(self._capacity)
        return hosts[draw % len(hosts)]

    def _change(self, client: HeadgateClient, host: str, change: int) -> None:
        was_down = self._down[host] > 0
        self._down[host] += change
        is_down = self._down[host] > 0
        if not is_down:
            del self._down[host]
            self._reported = {pair for pair in self._reported if pair[1] != host}
        if was_down != is_down:
            said = {"ready": not is_down, "allocatable": self._capacity[host]}
            client.act(f"/v1/nodes/{host}/heartbeat", said)
            self.outage_results.changed(is_down=is_down)


def _nodes(replay: ReplayInput) -> list[Object]:
    return [each for each in replay.configuration if each["kind"] == "Node"]


def _read(path: Path, known: dict[str, None]) -> list[Outage]:
    if not path.is_file():
        raise CommandFailed(
            f"--outages {path}: use a number, or a CSV file with columns {', '.join(COLUMNS)}",
            code=ExitCode.USAGE,
        )
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        if set(COLUMNS) - set(reader.fieldnames or ()):
            raise CommandFailed(
                f"{path} needs columns {', '.join(COLUMNS)} (seconds of trace time)",
                code=ExitCode.USAGE,
            )
        return [_outage(path, line, row, known) for line, row in enumerate(reader, 2)]


def _outage(path: Path, line: int, row: dict[str, str], known: dict[str, None]) -> Outage:
    try:
        fails_at, returns_at = (
            int(float(row[name]) * MICROSECONDS_PER_SECOND) for name in COLUMNS[1:]
        )
    except (TypeError, ValueError):
        raise CommandFailed(
            f"{path}:{line}: fails_at and returns_at are seconds of trace time", code=ExitCode.USAGE
        ) from None
    if row["host"] not in known:
        raise CommandFailed(f"{path}:{line}: unknown host {row['host']}", code=ExitCode.USAGE)
    if returns_at <= fails_at:
        raise CommandFailed(
            f"{path}:{line}: returns_at must be after fails_at", code=ExitCode.USAGE
        )
    return Outage(host=row["host"], fails_at=fails_at, returns_at=returns_at)
