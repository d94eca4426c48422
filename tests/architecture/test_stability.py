"""Nothing that is promised stable goes away unnoticed."""

import copy

import pytest

from tests.architecture.sources import assert_none
from tests.architecture.surface import Surface, missing, recorded, surface


@pytest.fixture(scope="module")
def found() -> Surface:
    return surface()


def test_what_is_promised_is_there(found: Surface) -> None:
    assert_none(missing(recorded(), found), "docs/stability.md promises these:")


@pytest.mark.nightly
def test_what_is_new_is_recorded(found: Surface) -> None:
    new = missing(found, recorded())
    assert_none(new, "Record it by `python -m tests.architecture.surface`:")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("fields", "ClusterQueueSpec.cohortName"),
        ("command line", "headgate submit --queue"),
        ("metrics", "headgate_log_position"),
        ("events", "workload.submitted v1"),
        ("api", "GET /v1/workloads query phase"),
    ],
)
def test_a_name_that_was_removed_is_refused_by_name(found: Surface, kind: str, name: str) -> None:
    without = copy.deepcopy(found)
    without[kind].remove(name)
    assert missing(recorded(), without) == [f"{kind}: {name}"]
