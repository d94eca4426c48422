"""Every difference from Kueue's validation stands in docs/semantics/validation.md, and holds."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from headgate.adapters.manifests.parse import Desired, as_written, parse
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.object_commands import Create
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.rejection import Rejection
from headgate.domain.workloads.commands import Submit
from headgate.domain.workloads.decide.decider import WORKLOAD
from tests.builders.instants import T0

PAGE = Path("docs/semantics/validation.md").read_text()
SECTIONS = {
    section.partition("\n")[0]: section.partition("\n## ")[0]
    for section in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
}
EXAMPLES = [
    (title, example)
    for title, section in SECTIONS.items()
    for example in re.findall(r"^```yaml\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
]
HELD = re.compile(r"^Held by `([^`]+)::([^`]+)`\.$", re.MULTILINE)
REFUSED = re.compile(r"# refused at (\S+): (\w+)")


def problem_of(manifest: str) -> Rejection | None:
    """What the one object of a manifest is refused for; None where it is taken."""
    (found,) = parse(manifest.encode())
    if not isinstance(found, Desired):
        return found.problem
    asked = {
        "uid": "uid",
        "name": found.name,
        "namespace": found.namespace,
        "labels": found.labels,
        "annotations": found.annotations,
        "spec": found.spec,
    }
    try:
        if found.kind == "Workload":
            WORKLOAD.decide(Absent(), Submit(**asked), T0)
        else:
            KINDS_BY_STREAM[found.stream_kind].decide(Absent(), Create(**asked), T0)
    except Rejection as problem:
        return as_written(problem, found)
    return None


@pytest.mark.parametrize(("title", "manifest"), EXAMPLES)
def test_each_example_is_judged_as_its_first_lines_say(title: str, manifest: str) -> None:
    said = [line for line in manifest.splitlines() if line.startswith("# ")]
    problem = problem_of(manifest)
    found = [(each.pointer, each.message.code) for each in problem.violations] if problem else []
    expected = [match.groups() for line in said if (match := REFUSED.fullmatch(line))]
    assert said == ["# accepted"] or len(expected) == len(said) > 0, title
    assert sorted(found) == sorted(expected), title


def test_every_difference_has_an_example_or_a_test() -> None:
    assert len(SECTIONS) >= 20
    shown = {title for title, _ in EXAMPLES}
    assert [t for t, text in SECTIONS.items() if t not in shown and not HELD.search(text)] == []
    for path, name in HELD.findall(PAGE):
        assert name in _tests_of(path), f"{path} has no {name}"


def test_what_goes_beyond_kueue_names_its_requirement() -> None:
    beyond = PAGE.partition("## Allowed beyond Kueue")[2].partition("\n## ")[0]
    sections = re.split(r"^### ", beyond, flags=re.MULTILINE)[1:]
    known = Path("docs/conformance.toml").read_text()
    for section in sections:
        ids = re.findall(r"\b(?:5710|2724|1282|KAI|KOO|K20)-\d+\b", section)
        assert ids, section.splitlines()[0]
        assert all(f'id = "{each}"' in known for each in ids)


@cache
def _tests_of(path: str) -> frozenset[str]:
    tree = ast.parse(Path(path).read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
