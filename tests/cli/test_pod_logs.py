"""`headgate logs`: the output of pods by rank, followed to its end, safe for terminals."""

import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from headgate.cli.output import for_terminal
from headgate.client.client import HeadgateClient
from headgate.client.executors import ExecutorClient
from headgate.client.transport import Body, Connection, Request
from tests.cli.invocation import Invoker

HERE = "/v1/namespaces/default/workloads"
OBJECTS: list[dict[str, Any]] = [
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "default"},
    },
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "all"},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": ["cpu"],
                    "flavors": [
                        {
                            "name": "default",
                            "resources": [{"name": "cpu", "nominalQuota": "100"}],
                        }
                    ],
                }
            ],
        },
    },
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "main", "namespace": "default"},
        "spec": {"clusterQueue": "all"},
    },
    {
        "apiVersion": "headgate.dev/v1",
        "kind": "Executor",
        "metadata": {"name": "rack-1"},
        "spec": {"nodeSelector": {"rack": "1"}},
    },
]


class Sender:
    """An executor that sends output."""

    def __init__(self, connection: Connection) -> None:
        self.client = ExecutorClient(connection, "rack-1")
        self.client.claim(version="1", capabilities=(), boot_id="b")

    def send(self, uid: str, name: str, content: bytes, offset: int = 0, **said: Any) -> None:
        chunk = {
            "workload": f"default/{name}",
            "uid": uid,
            "attempt": 1,
            "index": 0,
            "offset": offset,
            "content": b64encode(content).decode(),
            **said,
        }
        (outcome,) = self.client._send("POST", "/logs", {"chunks": [chunk]})["outcomes"]  # noqa: SLF001 - the executor's own call
        assert outcome["accepted"], outcome


@pytest.fixture(scope="module")
def sender(client: HeadgateClient, connection: Connection) -> Iterator[Sender]:
    """The newest process of rack-1."""
    for outcome in client.apply_objects(OBJECTS).results:
        assert outcome.outcome != "rejected", outcome
    made = Sender(connection)
    yield made
    made.client.close()


def running(client: HeadgateClient, name: str) -> str:
    """Submits a workload of two pods and waits for its first attempt; its uid."""
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
    spec = {"queueName": "main", "podSets": [{"name": "main", "count": 2, "template": template}]}
    made = client.submit_batch(
        [
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "Workload",
                "metadata": {"name": name, "namespace": "default"},
                "spec": spec,
            }
        ]
    )
    assert made.results[0].outcome == "created"
    for _ in range(600):
        found = client.read(f"{HERE}/{name}")
        if found["status"].get("attempt"):
            return str(found["metadata"]["uid"])
        time.sleep(0.05)
    raise AssertionError(f"{name} got no quota")


def test_logs_show_each_line_with_its_rank(
    client: HeadgateClient, sender: Sender, headgate: Invoker
) -> None:
    uid = running(client, "ranks")
    sender.send(uid, "ranks", b"one\ntwo\n")
    sender.send(uid, "ranks", b"other\nno end", index=1)

    assert headgate("logs", "ranks").stdout == "[0] one\n[0] two\n[1] other\n[1] no end\n"
    assert headgate("logs", "ranks", "--pod", "1").stdout == "other\nno end"
    assert headgate("logs", "ranks", "--pod", "main/0", "--tail", "1").stdout == "two\n"
    nothing = headgate("logs", "ranks", "--attempt", "7")
    assert (nothing.stdout, nothing.stderr) == ("", "No output yet\n")
    timed = headgate("logs", "ranks", "--pod", "0", "--timestamps").stdout.splitlines()
    assert [line[-4:] for line in timed] == [" one", " two"]
    assert headgate("logs", "absent", code=3).stdout == ""


def test_why_shows_what_the_log_of_a_failed_pod_tells(
    client: HeadgateClient, sender: Sender, headgate: Invoker
) -> None:
    uid = running(client, "broken")
    sender.send(uid, "broken", b"loading\nRuntimeError: \x1b[2Jno data\n")
    failed = {"workload": "default/broken", "uid": uid, "attempt": 1, "podSet": "main", "run": 1}
    for index, code in ((0, {"exitCode": 1}), (1, {"signal": 9, "message": "killed by a limit"})):
        report = {**failed, "index": index, "type": "finished", "reason": "Error", **code}
        (outcome,) = sender.client._send("POST", "/reports", {"reports": [report]})["outcomes"]  # noqa: SLF001 - the executor's own call
        assert outcome["accepted"], outcome

    shown = headgate("why", "broken").stdout.split("\n\n")[-1]

    assert shown.splitlines() == [
        "2 failed pods in attempt 1:",
        "  main/0 (rank 0): exit code 1",
        "    First error: RuntimeError: no data",
        "    Last lines:",
        "      loading",
        "      RuntimeError: no data",
        "  main/1 (rank 1): signal 9 (SIGKILL): killed by a limit",
    ]


def test_following_shows_what_comes_and_ends_with_the_workload(
    client: HeadgateClient, sender: Sender, headgate: Invoker
) -> None:
    uid = running(client, "growing")
    sender.send(uid, "growing", b"first\n")

    def go_on() -> None:
        sender.send(uid, "growing", b"second\n", 6)
        sender.send(uid, "growing", b"", 13, final=True)
        report = Request(
            method="POST",
            path=f"{HERE}/growing/finished",
            body=Body(content=b'{"uid": "%s", "succeeded": true}' % uid.encode()),
        )
        client._transport.send(report)  # noqa: SLF001 - a report of the whole workload

    later = threading.Timer(0.5, go_on)
    later.start()
    shown = headgate("logs", "growing", "-f", "--pod", "0").stdout
    later.join()

    assert shown == "first\nsecond\n"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (b"plain\ttext\n", "plain\ttext\n"),
        (b"\x1b[1;31mred\x1b[0m\n", "\x1b[1;31mred\x1b[0m\x1b[0m\n"),
        (b"\x1b]0;title\x07\n", "\\u001b]0;title\\u0007\n"),
        (b"\x1b[2Jcleared\n", "\\u001b[2Jcleared\n"),
        (b"10 %\r20 %\r\n", "10 %\n20 %\n"),
        (b"\xc2\x9b31m \xff\n", "\\u009b31m \ufffd\n"),
    ],
)
def test_a_terminal_gets_colors_and_nothing_else_to_obey(written: bytes, shown: str) -> None:
    assert for_terminal(written).decode() == shown
