"""`python -m tests.chaos.outages`: a full disk, a hung database, 2,000 connections."""

import argparse
import json
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import httpx
import psutil

from tests.chaos.failover import Submitter, admits_after
from tests.chaos.ledger import read_ledger
from tests.contracts.adapters import on_postgres
from tests.fuzz.health import HealthAnswer, ask_health_anew, spread
from tests.processes.programs import wait_until
from tests.processes.up import HEADGATE, Up, environment, services
from tests.workers.cluster import cluster, record

DISK = "600m"
AIM_SECONDS = 15.0
SECONDS_TO_RECOVER = 180.0
SECONDS_OF_FAULT = 20.0
SILENT, HALF_SENT, STREAMS = 700, 700, 600
HALF = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Never-Ends: "


@dataclass(slots=True)
class Run:
    """A running installation under submits; `broken` has in words what does not hold."""

    up: Up
    url: str
    secret: str
    submitter: Submitter
    broken: list[str] = field(default_factory=list)

    @property
    def disk(self) -> Path:
        """Where the installation keeps everything."""
        return self.up.directory

    @property
    def database_url(self) -> str:
        """The embedded database."""
        return str(json.loads((self.up.data / "run.json").read_text())["database_url"])


def main() -> int:
    """0 if everything held, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.outages", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS_OF_FAULT, help="of each fault")
    seconds = parser.parse_args().seconds
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65_536)), hard))
    with ExitStack() as stack:
        run = stack.enter_context(_running())
        faults: dict[str, Callable[[Run, float], None]] = {
            "hung database": _hang_the_database,
            f"{SILENT + HALF_SENT + STREAMS} connections": _crowd,
        }
        if run.disk.is_mount():
            faults["full disk"] = _fill_the_disk
        else:
            print("skipped: full disk, as no file system can be mounted here")
        for name, fault in faults.items():
            print(f"{name}: {_recovered(run, fault, seconds)}", flush=True)
        _check(run)
    for line in run.broken:
        print(f"BROKEN: {line}")
    if not run.broken:
        print("nothing lost, nothing twice")
    return 1 if run.broken else 0


@contextmanager
def _running() -> Iterator[Run]:
    with ExitStack() as stack:
        up = stack.enter_context(services())
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=755", "tmpfs", str(up.directory)]
        if subprocess.run(mount, check=False).returncode == 0:
            stack.callback(subprocess.run, ["umount", "--lazy", str(up.directory)], check=True)
        stack.callback(up.end)
        up.start("--workers", "2")
        secret = (up.data / "admin-token").read_text().strip()
        submitter = Submitter(up.url, secret)
        run = Run(up, up.url, secret, submitter)
        with on_postgres(run.database_url) as adapters:
            record(adapters.log, *cluster("gpu", cpu_milli=100_000_000))
        submitter.start()
        stack.callback(submitter.end)
        wait_until(lambda: submitter.taken >= 20, "workloads are taken")
        yield run


def _recovered(run: Run, fault: Callable[[Run, float], None], seconds: float) -> str:
    """Let a fault come and go; how long it took until submits were taken and decided again."""
    taken, refused = run.submitter.taken, run.submitter.refused
    fault(run, seconds)
    began = time.monotonic()
    meanwhile = f"{run.submitter.taken - taken} taken, {run.submitter.refused - refused} refused"
    again = "workloads are taken again"
    wait_until(lambda: run.submitter.taken_at > began, again, SECONDS_TO_RECOVER)
    taken_after = run.submitter.taken_at - began
    with on_postgres(run.database_url) as adapters:
        head = adapters.log.head()
        decided = "workloads are admitted again"
        wait_until(lambda: admits_after(adapters, head), decided, SECONDS_TO_RECOVER)
    decided_after = time.monotonic() - began
    ready = httpx.get(f"{run.url}/readyz", timeout=30)
    if ready.json()["status"] != "ok":
        run.broken.append(f"afterwards the API is not ready: {ready.text}")
    aim = "" if decided_after <= AIM_SECONDS else f" (aim: {AIM_SECONDS:g} s)"
    return (
        f"{meanwhile} meanwhile; submits taken after {taken_after:.1f} s, "
        f"decided after {decided_after:.1f} s{aim}"
    )


def _hang_the_database(run: Run, seconds: float) -> None:
    """Stop every process of the database in its tracks; its socket accepts all the same."""
    postmaster = int((run.up.data / "postgres/data/postmaster.pid").read_text().split()[0])
    root = psutil.Process(postmaster)
    stopped = [root, *root.children(recursive=True)]
    for process in stopped:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    ready = httpx.get(f"{run.url}/readyz", timeout=30)
    if ready.status_code != httpx.codes.SERVICE_UNAVAILABLE:
        run.broken.append(f"a hung database was not told: {ready.text}")
    header = {"Authorization": f"Bearer {run.secret}"}
    if httpx.get(f"{run.url}/v1/queues", headers=header, timeout=30).status_code != httpx.codes.OK:
        run.broken.append("what is in memory was not answered while the database hung")
    for process in stopped:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGCONT)


def _fill_the_disk(run: Run, seconds: float) -> None:
    """Fill the disk of everything, to the last byte, and free it after a while."""
    filler, refused = run.disk / "filler", run.submitter.refused
    ends_at = time.monotonic() + seconds
    try:
        while time.monotonic() < ends_at or run.submitter.refused == refused:
            # Again and again: what is cleaned up meanwhile is filled as well.
            with suppress(OSError), filler.open("ab", buffering=0) as file:
                while True:
                    file.write(bytes(4_096))
            time.sleep(0.2)
            if time.monotonic() > ends_at + SECONDS_TO_RECOVER:
                run.broken.append("a full disk kept no write from being taken")
                break
        ready = httpx.get(f"{run.url}/readyz", timeout=30)
        print(f"full disk: /readyz said {ready.status_code} {ready.json()['code']}")
        if ready.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            run.broken.append(f"a full disk was not told: {ready.text}")
    finally:
        filler.unlink()


def _crowd(run: Run, seconds: float) -> None:
    """Open 2,000 connections and keep asking for `/healthz` and for submits."""
    address = ("127.0.0.1", httpx.URL(run.url).port or 80)
    asked = f"GET /v1/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {run.secret}\r\n\r\n"
    opened: list[socket.socket] = []
    taken, context = run.submitter.taken, get_context("spawn")
    mine, theirs = context.Pipe()
    given = (run.url, theirs, run.up.pid_of("api"))
    asking = context.Process(target=ask_health_anew, args=given, daemon=True)
    asking.start()
    mine.recv()
    try:
        for count, said in ((SILENT, b""), (HALF_SENT, HALF), (STREAMS, asked.encode())):
            for _ in range(count):
                opened.append(socket.create_connection(address, timeout=30))
                opened[-1].sendall(said)
        time.sleep(seconds)
        streams = sum(each.recv(15) == b"HTTP/1.1 200 OK" for each in opened[-STREAMS:])
        mine.send("end")
        answers: list[HealthAnswer] = mine.recv()
        print(f"{len(opened)} connections: /healthz {spread(each.seconds for each in answers)}")
        print(f"without waits for a processor: {spread(each.own_seconds for each in answers)}")
        if streams != STREAMS:
            run.broken.append(f"{streams} of {STREAMS} streams were opened")
        if run.submitter.taken == taken:
            run.broken.append("no workload was taken beside the connections")
    finally:
        asking.kill()
        for each in opened:
            each.close()


def _check(run: Run) -> None:
    """Everything that does not hold in the end."""
    run.submitter.end()
    with on_postgres(run.database_url) as adapters:
        wait_until(lambda: not adapters.partitions.agenda().due, "all is decided")
    for words in (["--chain"], []):
        done = subprocess.run(
            [HEADGATE, "verify", *words, "-o", "table", "--database-url", run.database_url],
            env={**environment(), "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        print(done.stdout.strip())
        if done.returncode:
            run.broken.append(f"headgate verify {' '.join(words)} ended with {done.returncode}")
    ledger = read_ledger(run.database_url)
    print(
        f"{run.submitter.taken} taken, {ledger.submitted} in the log, {ledger.admissions} admitted"
    )
    # The last one may have been recorded without an answer.
    if not run.submitter.taken <= ledger.submitted <= run.submitter.taken + 1:
        run.broken.append(f"{run.submitter.taken} taken, {ledger.submitted} in the log")
    if ledger.admissions != ledger.submitted:
        run.broken.append(f"{ledger.submitted} submitted, {ledger.admissions} admitted")
    run.broken += run.submitter.unexpected
    run.broken += [f"{stream} was submitted twice" for stream in ledger.submitted_twice]
    run.broken += [f"{stream} was admitted twice" for stream in ledger.admitted_twice]
    if run.up.process is not None and run.up.process.poll() is not None:
        run.broken.append(f"headgate up has ended: {run.up.said()[-1_000:]}")


if __name__ == "__main__":
    sys.exit(main())
