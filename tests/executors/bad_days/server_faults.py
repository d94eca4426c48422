"""The API away, an executor cut off from it, and a log that was restored from a backup."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec
import psutil
import psycopg

from tests.contracts.adapters import back_up
from tests.executors.agent_process import AgentProcess
from tests.executors.bad_days.cases import Case, Seen, Site
from tests.executors.installation import Installation
from tests.executors.pods import shell, template_of

POLICIES = ("Replace", "Fence", "Wait")
LEASE_SECONDS = 15
CHUNK_BYTES = 65_536


class Cut:
    """A TCP proxy to the API that can refuse and drop every connection, as a network does."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._to = (host, int(port))
        self._server = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._is_cut = False
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def cut(self) -> None:
        """Drops everything from now on."""
        self._is_cut = True
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """Passes everything on again."""
        self._is_cut = False

    def end(self) -> None:
        """Closes everything."""
        self.cut()
        self._server.close()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            if self._is_cut:
                near.close()
                continue
            far = socket.create_connection(self._to)
            self._open |= {near, far}
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK_BYTES):
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._open.discard(source)
        source.close()


@contextmanager
def _api_away(made: Installation) -> Iterator[None]:
    """The API process neither answers nor refuses."""
    api = psutil.Process(made.up.pid_of("api"))
    processes = [api, *api.children(recursive=True)]
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


def _script(place: Path) -> str:
    """A pod that says when it runs, and ends with the file `go`; two of them at once say so."""
    alone = f"exec 9> {place}/lock; flock -n 9 || echo $HEADGATE_RUN >> {place}/overlaps"
    loop = f"while ! [ -e {place}/go ]; do sleep 0.05; done"
    return f"{alone}; echo $HEADGATE_RUN $HEADGATE_NODE >> {place}/starts; {loop}"


def _submit(made: Installation, name: str, pool: str, policy: str) -> Path:
    place = made.directory / name
    place.mkdir()
    made.submit(name, pool, shell(_script(place)), nodeLossPolicy=policy)
    made.await_phase(name, "Running")
    return place


def away_for_a_minute(site: Site) -> Iterator[Seen]:
    """Shorter than the lease, and longer than the server takes to see that it was away."""
    made = site.installation
    agent = made.started_agent("minute", leaseSeconds=30)
    place = _submit(made, "api-away", "minute", "Fence")
    with _api_away(made):
        time.sleep(10.0)
    epoch = made.client.read("/v1/executors/minute")["status"]["epoch"]
    (place / "go").touch()
    made.await_end("api-away")
    starts = (place / "starts").read_text()
    wrong = "" if (epoch, starts) == (1, "1 minute\n") else f"epoch {epoch}, started {starts!r}"
    yield site.seen("api-away", agent, wrong=wrong)
    agent.end()


def away_longer_than_the_lease(site: Site) -> Iterator[Seen]:
    """The server extends leases by the time in which it was away; Fence cannot wait for that."""
    made = site.installation
    agent = made.started_agent("longer", leaseSeconds=LEASE_SECONDS)
    places = {
        policy: _submit(made, f"away-{policy.lower()}", "longer", policy) for policy in POLICIES
    }
    with _api_away(made):
        time.sleep(LEASE_SECONDS + 5.0)
        living = _pod_of(agent, made, "away-fence")
    _end_all(made, "away", places)
    for policy, place in places.items():
        name = f"away-{policy.lower()}"
        wrong = _wrong_after_outage(policy, place, is_living=living)
        yield site.seen(name, agent, wrong=wrong)
    agent.end()


def _wrong_after_outage(policy: str, place: Path, *, is_living: bool) -> str:
    """A fenced pod has a second run, as the loss of an executor counts against no limit."""
    starts = (place / "starts").read_text().splitlines()
    expected = ["1 longer", "2 longer"] if policy == "Fence" else ["1 longer"]
    if policy == "Fence" and is_living:
        return "it was not fenced"
    return "" if starts == expected else f"started as {starts}"


def _end_all(made: Installation, prefix: str, places: dict[str, Path]) -> None:
    for place in places.values():
        (place / "go").touch()
    for policy in places:
        made.await_end(f"{prefix}-{policy.lower()}")


def _pod_of(agent: AgentProcess, made: Installation, name: str) -> bool:
    """Whether a process of the workload's pod lives on the agent's host."""
    mark = os.fsencode(str(made.directory / name))
    for pid in agent.pod_processes():
        with suppress(OSError):
            if mark in Path(f"/proc/{pid}/cmdline").read_bytes():
                return True
    return False


def cut_off(site: Site) -> Iterator[Seen]:
    """One of two hosts is cut off for longer than its lease, while the server goes on."""
    made, cut = site.installation, Cut(site.installation.connection.url)
    made.pool("edge")
    tokens = {
        name: made.executor(name, leaseSeconds=LEASE_SECONDS) for name in ("edge-a", "edge-b")
    }
    agent = made.agent("edge-a", "edge", tokens["edge-a"], url=cut.url).start()
    made.await_nodes("edge-a")
    places = {policy: _submit(made, f"cut-{policy.lower()}", "edge", policy) for policy in POLICIES}
    other = made.agent("edge-b", "edge", tokens["edge-b"]).start()
    made.await_nodes("edge-b")
    cut.cut()
    for policy in ("Replace", "Fence"):
        made.eventually(
            partial(_has_started_at, places[policy], "edge-b"),
            f"the pod of {policy} runs on the other host",
        )
    living = {p: _pod_of(agent, made, f"cut-{p.lower()}") for p in POLICIES}
    cut.mend()
    made.await_nodes("edge-a")
    made.eventually(
        lambda: not _pod_of(agent, made, "cut-replace"), "the stale pod of Replace is killed"
    )
    _end_all(made, "cut", places)
    for policy, place in places.items():
        name = f"cut-{policy.lower()}"
        wrong = _wrong_after_cut(policy, place, is_living=living[policy])
        yield site.seen(name, agent, other, wrong=wrong)
    agent.end()
    other.end()
    cut.end()


def _has_started_at(place: Path, node: str) -> bool:
    return node in (place / "starts").read_text()


def _wrong_after_cut(policy: str, place: Path, *, is_living: bool) -> str:
    starts = (place / "starts").read_text().splitlines()
    expected = ["1 edge-a"] if policy == "Wait" else ["1 edge-a", "2 edge-b"]
    if starts != expected:
        return f"started as {starts}"
    overlaps = (place / "overlaps").exists()
    if policy == "Fence" and (overlaps or is_living):
        return "it ran twice at once"
    return "" if is_living or policy == "Fence" else "it was killed while its host was cut off"


def restored_log(site: Site) -> Iterator[Seen]:
    """A backup of an earlier log is restored while a pod runs that it does not know."""
    made = site.installation
    agent = made.started_agent("restored", leaseSeconds=LEASE_SECONDS)
    restore = back_up(made.database_url, ())
    place = _submit(made, "unknown-to-the-log", "restored", "Replace")
    too_large = [
        made.manifest(f"of-an-hour-{number}", "restored", template_of("true"), 1_000)
        for number in range(100)
    ]
    made.client.submit_batch(too_large)
    time.sleep(LEASE_SECONDS / 3 + 1.0)  # the agent knows the newest position by its next renewal
    _restored(restore)
    made.eventually(lambda: not made.phase("unknown-to-the-log"), "the log is read anew")
    made.eventually(lambda: "orphan" in agent.said(), "the agent tells of orphans")
    time.sleep(5.0)
    is_living = _pod_of(agent, made, "unknown-to-the-log")
    made.submit("after-the-restore", "restored", template_of("true"))
    end = made.await_end("after-the-restore")
    wrong = "" if is_living else "the orphan was killed"
    wrong = wrong or ("" if end == "Succeeded" else f"a later workload is {end}")
    listed = [each["workload"] for each in made.client.read("/v1/orphans")["items"]]
    wrong = wrong or ("" if len(listed) == 1 else f"listed as orphans: {listed}")
    state = "Orphaned" if ": 1 orphaned" in agent.said() else agent.said()[-200:]
    (place / "go").touch()
    leaked = made.leaked([agent])
    yield Seen(state, "unknown to the log", leaked, wrong)
    agent.end()


def restored_log_that_grew(site: Site) -> Iterator[Seen]:
    """A restored log is longer than the agent knew before the agent lists its assignments."""
    made = site.installation
    agent = made.started_agent("regrown", leaseSeconds=LEASE_SECONDS)
    restore = back_up(made.database_url, ())
    place = _submit(made, "unknown-to-a-longer-log", "regrown", "Replace")
    agent.end(signal.SIGKILL)
    _restored(restore)
    made.eventually(lambda: not made.phase("unknown-to-a-longer-log"), "the log is read anew")
    more = [made.manifest(f"more-{n}", "regrown", template_of("true"), 1_000) for n in range(300)]
    made.client.submit_batch(more)
    agent.start()
    made.eventually(lambda: "orphan" in agent.said(), "the agent tells of orphans")
    time.sleep(5.0)
    wrong = "" if _pod_of(agent, made, "unknown-to-a-longer-log") else "the orphan was killed"
    state = "Orphaned" if ": 1 orphaned" in agent.said() else agent.said()[-200:]
    (place / "go").touch()
    leaked = made.leaked([agent])
    yield Seen(state, "unknown to the log", leaked, wrong)
    agent.end()


def restored_log_with_a_pending_workload(site: Site) -> Iterator[Seen]:
    """A restored log has a workload as pending that runs; another host has room for it at once."""
    made, name = site.installation, "pending-again"
    made.pool("twice")
    agents = {
        host: made.agent(host, "twice", made.executor(host, leaseSeconds=LEASE_SECONDS)).start()
        for host in ("twice-a", "twice-b")
    }
    made.await_nodes(*agents)
    for host in agents:
        made.client.act(f"/v1/nodes/{host}/cordon", {"reason": "a test"})
    place = made.directory / name
    place.mkdir()
    made.submit(name, "twice", shell(_script(place)), nodeLossPolicy="Fence")
    restore = back_up(made.database_url, ())
    made.client.act("/v1/nodes/twice-a/uncordon", {"reason": "a test"})
    made.await_phase(name, "Running")
    _restored(restore)
    made.client.act("/v1/nodes/twice-b/uncordon", {"reason": "a test"})
    made.eventually(lambda: _dominant(made, name) == "OrphanedPods", "the orphan keeps it pending")
    time.sleep(2.0)
    kept = made.phase(name) == "Pending"
    known = made.workload(name)
    del known["metadata"]["resourceVersion"]
    (adopted,) = made.client.apply(msgspec.json.encode(known), imports="Orphans").results
    (place / "go").touch()
    made.await_end(name)
    starts, overlaps = (place / "starts").read_text(), (place / "overlaps").exists()
    wrong = "" if kept and adopted.problem is None else f"pending {kept}, {adopted.problem}"
    if starts != "1 twice-a\n" or overlaps:
        wrong = f"started as {starts.splitlines()}"
    query = {"stream": "executor/twice-b", "limit": "500"}
    events = made.client.items("/v1/events", query)
    if not any(event["type"] == "executor.orphans_reported" for event in events):
        wrong = wrong or "the other executor did not report that it has no orphans"
    yield site.seen(name, *agents.values(), wrong=wrong)
    for agent in agents.values():
        agent.end()


def _dominant(made: Installation, name: str) -> str:
    path = f"/v1/namespaces/{made.namespace}/workloads/{name}/explanation"
    return str(made.client.read(path)["dominant"])


def _restored(restore: Callable[[], None]) -> None:
    """Restores a backup under running processes; a deadlock with them is tried again."""
    for _ in range(20):
        with suppress(psycopg.errors.DeadlockDetected):
            restore()
            return
    raise AssertionError("the backup cannot be restored: each attempt was a deadlock")


CASES = (
    Case([("the API away for a minute", "Succeeded", "Completed")], away_for_a_minute),
    Case(
        [
            ("the API away for longer than the lease: Replace", "Succeeded", "Completed"),
            ("the API away for longer than the lease: Fence", "Succeeded", "Completed"),
            ("the API away for longer than the lease: Wait", "Succeeded", "Completed"),
        ],
        away_longer_than_the_lease,
    ),
    Case(
        [
            ("a host cut off for longer than its lease: Replace", "Succeeded", "Completed"),
            ("a host cut off for longer than its lease: Fence", "Succeeded", "Completed"),
            ("a host cut off for longer than its lease: Wait", "Succeeded", "Completed"),
        ],
        cut_off,
    ),
    Case([("a restore of an older log", "Orphaned", "unknown to the log")], restored_log),
    Case(
        [("a restored log in which a running workload is pending", "Succeeded", "Completed")],
        restored_log_with_a_pending_workload,
    ),
    Case(
        [("a restored log that has grown since", "Orphaned", "unknown to the log")],
        restored_log_that_grew,
    ),
)
