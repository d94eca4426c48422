"""What happened to a workload, at the command line: the latest first of all, all if wanted."""

import json

import pytest

from headgate.adapters.postgres.connections import open_pool
from headgate.adapters.postgres.event_log import PostgresEventLog
from headgate.application.ports import Appended, AppendUnit, NewEvent
from headgate.client.client import PAGE_SIZE, HeadgateClient
from headgate.domain.recorded_event import EventMetadata
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.events import WorkloadExplained
from headgate.domain.workloads.explanation import Blocker, Explanation
from tests.cli.invocation import Invoker

EXPLANATIONS = PAGE_SIZE + 99
FACTS = EXPLANATIONS + 1


def _explained(number: int) -> WorkloadExplained:
    blocker = Blocker(type="Quota", reason="Short", message=message("DoesNotFit"))
    told = Message("AsRecorded", {"text": f"Reason {number}."})
    return WorkloadExplained(
        explanation=Explanation(dominant="Short", message=told, blockers=(blocker,))
    )


@pytest.fixture(scope="module", autouse=True)
def often_explained(client: HeadgateClient, database_url: str) -> int:
    """A workload of no queue, explained more often than a page is long; the last position."""
    container = {"name": "main", "resources": {"requests": {"cpu": 1}}}
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "old", "namespace": "default"},
        "spec": {"queueName": "none", "podSets": [pod_set]},
    }
    (made,) = client.submit_batch([manifest]).results
    assert made.outcome == "created"
    stream = "workload/default/old"
    pool = open_pool(database_url, most=1)
    log = PostgresEventLog(pool)
    unit = AppendUnit(
        at=log.now(),
        metadata=EventMetadata(actor="scheduler"),
        expected={stream: 1},
        events=tuple(
            NewEvent(stream=stream, event=_explained(number))
            for number in range(1, EXPLANATIONS + 1)
        ),
    )
    (appended,) = log.append([unit])
    pool.close()
    assert isinstance(appended, Appended)
    return appended.last_position


def test_people_are_told_the_latest_and_how_to_get_the_rest(
    headgate: Invoker, often_explained: int
) -> None:
    told = headgate("timeline", "old")
    lines = told.stdout.splitlines()
    assert len(lines) == 1 + 20
    assert lines[0].split() == ["POSITION", "AGE", "EVENT", "ACTOR", "DETAILS"]
    assert lines[-1].startswith(f"{often_explained} ")
    assert lines[-1].endswith(f"Reason {EXPLANATIONS}.")
    assert told.stderr == f"{FACTS - 20} earlier entries: headgate timeline default/old --all\n"


def test_as_many_as_wanted_are_reported(headgate: Invoker) -> None:
    some = headgate("timeline", "wl/old", "--limit", str(PAGE_SIZE + 1), "--no-headers")
    assert len(some.stdout.splitlines()) == PAGE_SIZE + 1
    assert some.stderr.startswith(f"{FACTS - PAGE_SIZE - 1} earlier entries")
    everything = headgate("timeline", "default/old", "--all", "--no-headers")
    assert len(everything.stdout.splitlines()) == FACTS
    assert "Submitted" in everything.stdout.splitlines()[0]
    assert everything.stderr == ""


def test_programs_are_told_everything_unless_they_ask_for_less(
    headgate: Invoker, often_explained: int
) -> None:
    whole = headgate.json("timeline", "old")
    positions = [entry["position"] for entry in whole["entries"]]
    assert (len(positions), positions[-1], whole["earlier"]) == (FACTS, often_explained, 0)
    assert positions == sorted(positions)
    some = headgate.json("timeline", "old", "--limit", "3")
    assert (some["entries"], some["earlier"]) == (whole["entries"][-3:], FACTS - 3)
    lines = headgate("timeline", "old", "-o", "ndjson").stdout.splitlines()
    assert [json.loads(line) for line in lines] == whole["entries"]


def test_the_past_blocker_is_reported_where_wanted(headgate: Invoker) -> None:
    asked = ("timeline", "old", "--limit", "1")
    (brief,) = headgate.json(*asked)["entries"]
    (whole,) = headgate.json(*asked, "--whole")["entries"]
    assert "blockers" not in brief["data"]["explanation"]
    assert whole["data"]["explanation"]["blockers"][0]["message"]["text"] == "Does not fit"


def test_the_past_has_a_timeline_of_its_own(headgate: Invoker, often_explained: int) -> None:
    then = often_explained - EXPLANATIONS + 30
    found = headgate.json("timeline", "old", "--at", str(then))
    assert (len(found["entries"]), found["entries"][-1]["position"]) == (31, then)
    assert found["position"] == then


def test_a_description_ends_with_the_latest(headgate: Invoker) -> None:
    lines = headgate("describe", "wl/old").stdout.splitlines()
    earlier = f"Timeline ({FACTS - 12} earlier entries: headgate timeline default/old --all):"
    assert lines[-14] == earlier
    assert lines[-1].endswith(f"Reason {EXPLANATIONS}.")


def test_an_absent_workload_has_no_timeline(headgate: Invoker) -> None:
    assert "Workload default/absent not found" in headgate("timeline", "absent", code=3).stderr
