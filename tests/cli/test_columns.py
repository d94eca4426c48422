"""Columns that users choose by paths, columns of queues, and names that are completed."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headgate.cli.cells import from_template, values_at
from headgate.cli.commands.get import custom_columns
from headgate.cli.commands.submit import WorkloadOptions, manifest_of
from headgate.cli.commands.tree import in_order
from headgate.cli.failures import CommandFailed
from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection
from tests.builders.documents import queue_documents
from tests.cli.invocation import Invoker

QUEUES = queue_documents("paths", local="door", namespace="default", cpu=4)
POD: dict[str, Any] = {
    "metadata": {"name": "a", "labels": {"example.com/team": "vision"}},
    "spec": {"sets": [{"name": "x", "count": 2}, {"name": "y", "count": 3}], "active": True},
}
LIST = {"items": [POD, {"metadata": {"name": "b"}, "spec": {"sets": []}}]}


@pytest.fixture(scope="module", autouse=True)
def configured(client: HeadgateClient) -> None:
    assert {result.outcome for result in client.apply(QUEUES.encode()).results} == {"created"}
    options = WorkloadOptions(
        name="chosen", namespace="default", queue="door", requests={"cpu": "1500m"}
    )
    (result,) = client.submit_batch([manifest_of(options)]).results
    assert result.outcome == "created"


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".metadata.name", ["a"]),
        ("metadata.name", ["a"]),
        ("{.metadata.name}", ["a"]),
        ("$.spec.sets[*].count", [2, 3]),
        (".spec.sets[0].name", ["x"]),
        (".spec.sets[-1].name", ["y"]),
        (".spec.sets[7].name", []),
        (".metadata.labels['example.com/team']", ["vision"]),
        (r".metadata.labels.example\.com/team", ["vision"]),
        ('.spec.sets[?(@.name=="y")].count', [3]),
        (".spec.sets[?(@.count!=3)].name", ["x"]),
        (".status.phase", []),
    ],
)
def test_a_path_leads_to_the_values_that_kubectl_finds(path: str, values: list[object]) -> None:
    assert values_at(POD, path) == values


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.items[*].metadata.name}", "a b"),
        ('{range .items[*]}{.metadata.name}{"\\n"}{end}', "a\nb\n"),
        ("name={.items[0].metadata.name};", "name=a;"),
        ("{.items[0].spec.active} {.items[0].spec.sets[0]}", 'true {"name": "x", "count": 2}'),
        ('{"{"}{.items[?(@.metadata.name == "b")].metadata.name}{"}"} {', "{b} {"),
        ('{range .items[*]}{range .spec.sets[*]}{.name}{","}{end}{"|"}{end}', "x,y,||"),
    ],
)
def test_a_template_is_filled_in(template: str, text: str) -> None:
    assert from_template(LIST, template) == text


def test_columns_have_a_word_for_what_is_not_there() -> None:
    found = custom_columns(LIST["items"], "NAME:.metadata.name,COUNTS:.spec.sets[*].count")
    assert found == (["NAME", "COUNTS"], [["a", "2,3"], ["b", "<none>"]])


@pytest.mark.parametrize("spec", ["NAME", "NAME:.metadata.name,", ":.metadata.name"])
def test_a_column_without_name_or_path_is_refused(spec: str) -> None:
    with pytest.raises(CommandFailed, match="invalid columns"):
        custom_columns(LIST["items"], spec)


@pytest.mark.parametrize("template", ["{.items[}", "{range .items[*]}x", "{.items"])
def test_a_template_that_is_none_is_refused(template: str) -> None:
    with pytest.raises(CommandFailed):
        from_template(LIST, template)


def test_lists_are_written_by_templates(headgate: Invoker) -> None:
    names = headgate("get", "lq", "-o", "jsonpath={.items[*].metadata.name}").stdout
    assert names == "door\n"
    one = headgate("get", "cq/paths", "-o", "jsonpath={.metadata.name}").stdout
    assert one == "paths\n"
    table = headgate("get", "wl", "-o", "custom-columns=NAME:.metadata.name,Q:.spec.queueName")
    assert [line.split() for line in table.stdout.splitlines()] == [
        ["NAME", "Q"], ["chosen", "door"],
    ]  # fmt: skip
    assert headgate("get", "wl", "-o", "xml", code=2).stderr.count("jsonpath=TEMPLATE") == 1


def test_queues_show_their_use_of_the_quota(headgate: Invoker) -> None:
    headgate("wait", "chosen", "--for", "condition=Admitted", "--timeout", "180s")
    headers, row = (line.split("   ") for line in headgate("get", "cq").stdout.splitlines())
    cells = {
        name.strip(): cell.strip()
        for name, cell in zip(filter(None, headers), filter(None, row), strict=True)
    }
    assert (cells["USE"], cells["ACTIVE"]) == ("1.5/4 CPU", "True")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("submit", "--queue", ""), "door"),
        (("get", "wl", "--queue", "d"), "door"),
        (("get", "wl", "--cluster-queue", "pa"), "paths"),
        (("get", "cq", "p"), "paths"),
        (("get", "cq/p"), "cq/paths"),
        (("stop", "lq/d"), "lq/door"),
        (("usage", ""), "paths"),
    ],
)
def test_names_of_queues_are_completed(
    connection: Connection, words: tuple[str, ...], name: str
) -> None:
    program = str(Path(sys.executable).parent / "headgate")
    environment = {
        **os.environ,
        "HEADGATE_URL": connection.url,
        "HEADGATE_TOKEN": connection.token,
        "_HEADGATE_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("headgate", *words)),
        "COMP_CWORD": str(len(words)),
    }
    told = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    assert told.stdout.split() == [name]


def test_gpus_come_before_cpu_where_use_over_time_is_told() -> None:
    lines = [{"flavor": "a100", "resource": name} for name in ("cpu", "memory", "nvidia.com/gpu")]
    assert [line["resource"] for line in in_order(lines)] == ["nvidia.com/gpu", "cpu", "memory"]
