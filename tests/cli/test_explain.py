"""Fields explained, manual pages, contexts, and a reason that fits on 80 columns."""

import stat
from pathlib import Path
from typing import Any

import pytest

from headgate.cli.commands import explain
from headgate.cli.commands.why import constraint_lines
from headgate.cli.main import COMMANDS, GROUPS
from headgate.client.client import HeadgateClient
from headgate.client.contexts import CONFIGURATION_PATH
from headgate.client.transport import Connection
from tests.builders.documents import queue_documents
from tests.cli.invocation import Invoker

QUEUES = queue_documents("small", local="main", namespace="default", cpu=4)


@pytest.fixture(scope="module", autouse=True)
def configured(client: HeadgateClient) -> None:
    assert {result.outcome for result in client.apply(QUEUES.encode()).results} == {"created"}


def test_a_field_is_explained_with_its_type_values_and_fields(headgate: Invoker) -> None:
    kind = headgate("explain", "cq").stdout
    assert kind.startswith("KIND:     ClusterQueue\n")
    assert "  spec <ClusterQueueSpec> -required-" in kind
    groups = headgate("explain", "clusterqueue.spec.resourceGroups").stdout
    assert "FIELD:    resourceGroups <[]ResourceGroup>" in groups
    assert "Quota by flavor and resource" in groups
    assert "  coveredResources <[]string>" in groups
    strategy = headgate("explain", "cq.spec.queueingStrategy").stdout
    assert "    One of: StrictFIFO, BestEffortFIFO\n    Default: BestEffortFIFO" in strategy
    assert "FIELDS:" not in strategy
    profile = headgate("explain", "cq.spec.preemption.orderProfile").stdout
    assert "<string>" in profile
    assert "One of: ScopeFirst, PriorityFirst\n" in profile
    assert "Default: true" in headgate("explain", "wl.spec.active").stdout
    assert max(map(len, groups.splitlines())) <= 80


def test_all_fields_below_are_listed_without_end_to_none(headgate: Invoker) -> None:
    names = headgate("explain", "wl.spec", "--recursive").stdout
    assert "  podSets <[]" in names
    assert "      count <integer>" in names or "    count <integer>" in names


def test_a_field_that_is_not_there_is_refused_with_the_nearest(headgate: Invoker) -> None:
    said = headgate("explain", "cq.spec.cohortNam", code=3).stderr
    assert "Did you mean cohortName?" in said
    headgate("explain", "clusterque", code=2)


def test_every_command_has_a_manual_page(headgate: Invoker, tmp_path: Path) -> None:
    headgate("man", "--directory", str(tmp_path / "man1"))
    written = {path.name for path in (tmp_path / "man1").iterdir()}
    groups = {f"{name}-{sub}" for name, (_, below) in GROUPS.items() for sub in below}
    assert written == {
        "headgate.1", *(f"headgate-{name}.1" for name in (*COMMANDS, *GROUPS, *groups)),
    }  # fmt: skip
    page = headgate("man", "get").stdout
    assert page.startswith('.TH "HEADGATE-GET" "1"')
    assert "headgate\\-get \\- List resources" in page
    assert ".B \\-\\-sort\\-by PATH\nSort by a field" in page
    assert not [line for line in page.splitlines() if line.startswith("'")]
    token = headgate("man", "token", "create").stdout
    assert token.startswith('.TH "HEADGATE-TOKEN-CREATE"')
    headgate("man", "gett", code=2)


def test_a_terminal_shows_the_manual_page_by_man(
    headgate: Invoker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    viewer, seen = tmp_path / "man", tmp_path / "seen"
    viewer.write_text(f'#!/bin/sh\n[ "$*" = "-l -" ] && exec cat > {seen}\n')
    viewer.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(explain, "is_terminal", lambda: True)
    assert headgate("man", "get").stdout == ""
    assert seen.read_text().startswith('.TH "HEADGATE-GET" "1"')
    viewer.write_text("#!/bin/sh\nexit 1\n")
    assert headgate("man", "get").stdout.startswith('.TH "HEADGATE-GET" "1"')


def test_a_context_has_a_name_and_a_url(headgate: Invoker) -> None:
    told = headgate("config", "get-contexts")
    assert "headgate config set-context" in told.stderr
    for server in ("nonsense", "ftp://host", "http://", "http://[::1"):
        refused = headgate("config", "set-context", "prod", "--server", server, code=2).stderr
        assert f"--server {server}: not a URL" in refused
    headgate("config", "set-context", " ", code=2)
    assert headgate.json("config", "get-contexts")["items"] == []


def test_contexts_name_servers_and_tokens(
    headgate: Invoker,
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.delenv("HEADGATE_URL")
    monkeypatch.delenv("HEADGATE_TOKEN")
    headgate("config", "current-context", code=3)
    there = ("--server", connection.url, "--token", connection.token)
    assert headgate("config", "set-context", "real", *there).stdout == "context/real created\n"
    headgate("config", "set-context", "gone", "--server", "http://127.0.0.1:9")
    path = tmp_path / CONFIGURATION_PATH
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    listed = headgate("config", "get-contexts").stdout
    assert [line.split()[:2] for line in listed.splitlines()[1:]] == [
        ["gone", "http://127.0.0.1:9"], ["real", "*"],
    ]  # fmt: skip
    assert connection.token not in listed
    assert "small" in headgate("get", "cq").stdout
    assert headgate("get", "cq", "--context", "gone", code=1).stderr.count("127.0.0.1:9") == 1
    headgate("config", "use-context", "gone")
    headgate("get", "cq", code=1)
    assert "small" in headgate("--context", "real", "get", "cq").stdout
    assert "Contexts: gone, real" in headgate("get", "cq", "--context", "reel", code=3).stderr
    headgate("config", "delete-context", "gone")
    headgate("config", "current-context", code=3)


def test_a_context_comes_before_the_environment(headgate: Invoker) -> None:
    headgate("config", "set-context", "gone", "--server", "http://127.0.0.1:9")
    assert "small" in headgate("get", "cq").stdout
    assert "127.0.0.1:9" in headgate("get", "cq", "--context", "gone", code=1).stderr


def test_a_file_without_contexts_is_one_context(headgate: Invoker, tmp_path: Path) -> None:
    path = tmp_path / CONFIGURATION_PATH
    path.parent.mkdir(parents=True)
    path.write_text('server = "http://127.0.0.1:9"\ntoken = "kept \\"quoted\\""\n')
    path.chmod(0o600)
    assert headgate("config", "current-context").stdout == "default\n"
    headgate("config", "set-context", "more", "--server", "http://127.0.0.1:8")
    names = headgate.json("config", "get-contexts")["items"]
    assert [(each["name"], each["token"], each["current"]) for each in names] == [
        ("default", "set", True), ("more", "-", False),
    ]  # fmt: skip
    assert 'token = "kept \\"quoted\\""' in path.read_text()


def test_a_reason_fits_on_80_columns_and_is_said_once(
    headgate: Invoker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, cpu in (("holder-with-a-long-name", "3"), ("second-with-a-long-name", "1")):
        headgate("submit", "--name", name, "--queue", "main", "--cpu", cpu)
        headgate("wait", name, "--for", "condition=Admitted", "--timeout", "180s")
    headgate("submit", "--name", "pending", "--queue", "main", "--cpu", "2")
    monkeypatch.setenv("COLUMNS", "80")
    shown = headgate("why", "pending").stdout
    assert max(map(len, shown.splitlines())) <= 80
    words = " ".join(shown.split())
    explanation = headgate.json("why", "pending")
    assert words.count(" ".join(explanation["sentence"].split())) == 1
    for blocker in explanation["blockers"]:
        assert words.count(blocker["message"].rstrip(".")) == 1
    assert words.count("In use by") == 1
    assert words.count("holder-with-a-long-name") == 1
    assert "AVAILABLE" in headgate("why", "pending", "-o", "wide").stdout


def test_remedies_have_codes_beside_their_texts(headgate: Invoker) -> None:
    headgate("submit", "--name", "large", "--queue", "main", "--cpu", "64")
    explanation: dict[str, Any] = headgate.json("why", "large")
    remedies = explanation["remedies"]
    assert remedies
    told = headgate("why", "large").stdout.lower()
    assert told.count(explanation["blockers"][0]["message"].rstrip(".").lower()) == 1
    assert [each["text"] for each in remedies] == explanation["wouldUnblock"]
    assert all(each["code"].isalnum() and each["code"][0].isupper() for each in remedies)
    assert all(isinstance(each["arguments"], dict) for each in remedies)


def test_constraints_are_listed_once_with_what_uses_the_rest() -> None:
    held = ["a/one", "a/two", "a/three", "a/four"]
    blockers: list[dict[str, Any]] = [
        {"message": "2 GPU short in small.", "heldBy": held},
        {"message": "Rack r1 has 3 of 4 hosts free"},
        {"message": "Rack r1 has 3 of 4 hosts free"},
    ]
    assert constraint_lines(blockers, "2 GPU short in small.").splitlines() == [
        "Constraints:",
        "  - Rack r1 has 3 of 4 hosts free",
    ]
    assert constraint_lines(blockers, "Unschedulable: 2 gpu short").splitlines() == [
        "Constraints:",
        "  - 2 GPU short in small",
        "    In use by a/one, a/two, a/three and 1 more",
        "  - Rack r1 has 3 of 4 hosts free",
    ]
    assert constraint_lines([], "Running") == ""
