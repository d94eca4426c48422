"""Pods that cannot start, that flood their output, and that do not go when they must."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.executors.bad_days.cases import HOST, Case, Seen, Site, Skipped
from tests.executors.pods import python, shell, template_of

OUTPUT_BYTES = 10 << 30
KEPT_BYTES = 2 * (16 << 20)
"""The first and the last 16 MiB of a stream, as an Executor keeps them by default."""
SLACK_BYTES = 8 << 20
HUNGRY = "import time; b = bytearray(512 << 20); time.sleep(60)"
ACCOUNTS = "accounts"


def wrong_command(site: Site) -> Iterator[Seen]:
    yield site.ended("wrong-command", template_of("no-such-command"))


def missing_directory(site: Site) -> Iterator[Seen]:
    template = template_of("true", container={"workingDir": "/no/such/directory"})
    yield site.ended("missing-directory", template)


def unknown_user(site: Site) -> Iterator[Seen]:
    if os.geteuid() != 0:
        raise Skipped("only an agent that runs as root changes accounts")
    made = site.installation
    made.pool(ACCOUNTS)
    options = ["--default-account", "no-such-account"]
    agent = made.agent(ACCOUNTS, ACCOUNTS, made.executor(ACCOUNTS), options=options).start()
    made.await_nodes(ACCOUNTS)
    made.submit("unknown-user", ACCOUNTS, template_of("true"))
    made.await_end("unknown-user")
    yield site.seen("unknown-user", agent)
    agent.end()


def much_output(site: Site) -> Iterator[Seen]:
    made, most = site.installation, 0
    made.submit("much-output", HOST, shell(f"yes | head -c {OUTPUT_BYTES}; echo end"))
    has_ended = threading.Event()

    def watch() -> None:
        nonlocal most
        while not has_ended.wait(0.25):
            most = max(most, _size(site.host.state))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        made.eventually(lambda: made.phase("much-output") == "Succeeded", "it ends", 600.0)
    finally:
        has_ended.set()
        watcher.join()
    limit = KEPT_BYTES + SLACK_BYTES
    wrong = "" if most <= limit else f"the output took {most} bytes, more than {limit}"
    yield site.seen("much-output", site.host, wrong=wrong)


def ignores_sigterm(site: Site) -> Iterator[Seen]:
    made = site.installation
    script = "trap '' TERM; while :; do sleep 0.2; done"
    made.submit("ignores-sigterm", HOST, shell(script, terminationGracePeriodSeconds=1))
    made.await_phase("ignores-sigterm", "Running")
    made.act("ignores-sigterm", "cancel")
    made.await_end("ignores-sigterm")
    (pod,) = made.pods("ignores-sigterm")
    wrong = "" if pod["signal"] == 9 else f"it ended with {pod}"
    yield site.seen("ignores-sigterm", site.host, wrong=wrong)


def detaches(site: Site) -> Iterator[Seen]:
    script = "setsid -f sh -c 'setsid -f sleep 300; sleep 300'; (sleep 300 &) ; sleep 0.2"
    yield site.ended("detaches", shell(script))


def exhausts_memory(site: Site) -> Iterator[Seen]:
    if "Isolation: process-group" in site.host.said():
        raise Skipped("no cgroup limits memory here: rlimits let the allocation fail instead")
    template = python(HUNGRY)
    template["spec"]["containers"][0]["resources"] = {"limits": {"memory": "64Mi"}}
    yield site.ended("exhausts-memory", template)


def _size(directory: Path) -> int:
    """The bytes that files below a directory take on disk."""
    total = 0
    for root, _, names in os.walk(directory):
        for name in names:
            try:
                total += Path(root, name).stat().st_blocks * 512
            except OSError:
                continue
    return total


CASES = (
    Case([("wrong command", "Failed", "StartFailed")], wrong_command),
    Case([("missing directory", "Failed", "StartFailed")], missing_directory),
    Case([("unknown user", "Failed", "StartFailed")], unknown_user),
    Case([("output of 10 GB", "Succeeded", "Completed")], much_output),
    Case([("a pod that ignores SIGTERM", "Cancelled", "Stopped")], ignores_sigterm),
    Case([("a pod that forks and detaches", "Succeeded", "Completed")], detaches),
    Case([("a pod that exhausts memory", "Failed", "OOMKilled")], exhausts_memory),
)
