"""A snapshot holds as long as logs that never change fold to the same state.

That is what the state version says; comments, names and the order of functions do not count.
"""

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

import headgate.domain.recorded_event as recorded_event_module
from headgate.adapters.memory.stores import MemoryStateCache
from headgate.application.ports import EventLog
from headgate.application.snapshot_store import CACHE_NAME, NewFold, SnapshotStore
from headgate.domain import workloads
from headgate.domain.cluster_state import ClusterState
from headgate.domain.workloads import evolve as evolve_module
from headgate.domain.workloads.state import Workload
from headgate.event_log.codec import EVENT_CLASSES
from headgate.event_log.folds import STATE_VERSIONS, StateStep, StateVersions, fold_digest
from tests.builders.world import HistoryLog
from tests.event_log.golden_states import (
    Fingerprints,
    changed,
    fingerprints,
    folded_log,
    golden_logs,
    recorded_fingerprints,
    remedy,
    snapshot_path,
    stored_cache,
    stored_snapshots,
)

DOMAIN = Path(workloads.__file__).parents[1]
FOLDING = ("workloads/", "rounds/state", "nodes/state", "kinds/", "starts.py", "local_queue_usage")
"""Where the states of objects change; indices follow from states and are in no snapshot."""
NOT_REACHED = {
    "cluster_queue_activity": "asked only of a ClusterQueue that is there",
    "local_queue_activity": "asked only of a LocalQueue that is there",
    "_evolve_existing": "a submission is folded before it",
    "exceeded_execution_time": "of deactivations that no release records any more",
    "_is_scheduled": "asked only of what is admitted",
    "with_next_runs": "pods are reported only of what is admitted",
    "_penalize": "a workload with a penalty stays in its LocalQueue",
    "_settle": "a workload that is admitted has had its penalty",
    "trimmed_to": "fewer pods are asked for than there are",
    "without_ranks": "some pods are asked for",
    "_joined": "the pods that left were whole domains",
    "has_ended": "asked of pod sets with reclaimable pods",
    "with_pod_count": "some pods of a set leave",
    "_after_others": "rounds ask for pods of the same sets",
    "_cancelled": "checks of an evicted workload were reset",
    "full_message": "no recorded reason has quota to borrow beside a nominal one",
}
"""Functions with lines that no golden log goes through, and why; by their names."""


def test_golden_logs_fold_to_the_state_of_their_state_version() -> None:
    names = changed(fingerprints(), recorded_fingerprints())

    assert not names, remedy(names)


def test_the_recorded_fingerprints_are_those_of_the_present_state_version_and_logs() -> None:
    recorded = recorded_fingerprints()

    missing = sorted(golden_logs().keys() ^ recorded.digests.keys())
    assert (recorded.state_version, missing) == (STATE_VERSIONS.current, []), (
        "run python -m tests.event_log.golden_states"
    )


@pytest.mark.parametrize("version", STATE_VERSIONS.readable)
def test_a_snapshot_of_every_readable_version_is_what_its_log_folds_to_now(version: str) -> None:
    stored, recorded = stored_snapshots(int(version)), recorded_fingerprints()
    assert stored

    for name, (rest, kept) in stored.items():
        found = ClusterState.load(STATE_VERSIONS.rest(rest, version))
        upcast = STATE_VERSIONS.workloads(kept, version)
        found.workloads.update(msgspec.msgpack.decode(upcast, type=dict[str, Workload]))
        assert fold_digest(found) == recorded.digests[name], name


def test_a_snapshot_of_the_present_state_version_is_kept() -> None:
    assert snapshot_path(STATE_VERSIONS.current).exists()


@pytest.mark.parametrize("version", [each for each in STATE_VERSIONS.readable if each != "1"])
def test_what_a_store_kept_in_every_readable_version_is_read(version: str) -> None:
    """Bodies, parts and their names are as that version wrote them; of version 1 none are kept."""
    stored = stored_cache(int(version))
    events, cache = golden_logs()[stored.log], MemoryStateCache()
    cache.put(CACHE_NAME, (version,), NewFold(stored.fold.position, stored.fold.body, stored.parts))

    found = SnapshotStore(cache, cast("EventLog", HistoryLog(events))).newest(at_most=len(events))

    assert found is not None
    assert fold_digest(found.cluster_state) == recorded_fingerprints().digests[stored.log]


def test_golden_logs_have_every_event() -> None:
    seen = {type(recorded.event) for events in golden_logs().values() for recorded in events}

    assert set(EVENT_CLASSES) - seen == set()


def test_golden_logs_go_through_every_line_that_folds() -> None:
    with _traced() as left:
        for events in golden_logs().values():
            folded_log(events)

    missed = {
        f"{Path(code.co_filename).name}:{number} {text}": _function_of(code)
        for code, numbers in left.items()
        for number in sorted(numbers)
        if not _is_unreachable(text := linecache.getline(code.co_filename, number).strip())
    }
    new = [place for place, function in missed.items() if function not in NOT_REACHED]
    assert new == [], "add a history to tests/event_log/golden_histories.py and record it"
    assert NOT_REACHED.keys() - missed.values() == set(), "they are gone through now"


def test_a_comment_changes_no_fingerprint_and_a_rule_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version says what is folded, not how it is written: no source is read for it."""
    source = inspect.getsource(evolve_module)
    names = [name for name in golden_logs() if name.startswith(("log of a test", "stored"))]
    recorded = fingerprints(names)

    _evolve_by(f"# An upgrade says more about it.\n{source}", monkeypatch)
    assert fingerprints(names) == recorded

    rule = "requeue=replace(workload.requeue, requeue_at=None)"
    assert rule in source
    _evolve_by(source.replace(rule, "requeue=workload.requeue"), monkeypatch)
    differing = changed(fingerprints(names), recorded)
    assert differing
    assert "raise STATE_VERSIONS.current" in remedy(differing)


def test_a_fingerprint_may_change_with_a_new_state_version() -> None:
    recorded = Fingerprints(1, {"a log": "00"})

    assert changed(Fingerprints(1, {"a log": "01"}), recorded) == ["a log"]
    assert changed(Fingerprints(2, {"a log": "01"}), recorded) == []


def test_a_field_with_a_default_is_read_from_a_snapshot_of_before() -> None:
    versions = StateVersions(current=2, steps={1: StateStep()})
    before, now = _without_a_field(), _running()

    found = msgspec.msgpack.decode(versions.workloads(before, "1"), type=dict[str, Workload])

    assert found == {now.key: replace(now, pods_scheduled=False)}


def test_a_step_computes_a_field_from_others() -> None:
    def scheduled(fields: dict[str, Any]) -> dict[str, Any]:
        return {**fields, "pods_scheduled": fields["admission"] is not None}

    versions = StateVersions(current=3, steps={1: StateStep(workload=scheduled), 2: StateStep()})

    upcast = versions.workloads(_without_a_field(), "1")

    assert msgspec.msgpack.decode(upcast, type=dict[str, Workload])["team/w"].pods_scheduled


def test_a_snapshot_is_read_as_far_as_steps_lead() -> None:
    assert StateVersions(4, {2: StateStep(), 3: StateStep()}).readable == ("4", "3", "2")
    assert StateVersions(4, {2: StateStep()}).readable == ("4",)


def test_a_digest_does_not_depend_on_the_order_of_entries() -> None:
    events = golden_logs()["more_ended_workloads_than_stay_whole"]
    folded = folded_log(events)
    shuffled = ClusterState.load(folded.dump())
    tables: list[dict[Any, Any]] = [*shuffled.ended.counts.values(), shuffled.ended.failures]
    for table in (*tables, shuffled.versions):
        entries = list(reversed(table.items()))
        table.clear()
        table.update(entries)

    assert list(shuffled.ended.failures) != list(folded.ended.failures)
    assert fold_digest(shuffled) == fold_digest(folded)
    shuffled.versions["workload/team/later"] += 1
    assert fold_digest(shuffled) != fold_digest(folded)


def _running() -> Workload:
    events = golden_logs()["a_scaled_down_job_with_indices_that_come_again"]
    return replace(folded_log(events).workloads["team/job"], name="w")


def _without_a_field() -> bytes:
    fields = msgspec.to_builtins(_running())
    del fields["pods_scheduled"]
    return msgspec.msgpack.encode({"team/w": fields})


def _evolve_by(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workloads be folded by a module of this source."""
    names = {"__name__": evolve_module.__name__}
    exec(compile(ast.parse(source), "evolve.py", "exec"), names)
    monkeypatch.setattr(recorded_event_module, "evolve_workload", names["evolve"])


@contextmanager
def _traced() -> Iterator[dict[CodeType, set[int]]]:
    """The lines of the code that folds that are not gone through, by function."""
    left: dict[CodeType, set[int]] = {}

    def trace(frame: FrameType, _event: str, _argument: object) -> Any:
        code = frame.f_code
        path = code.co_filename
        if not path.startswith(str(DOMAIN)) or not any(each in path for each in FOLDING):
            return None
        missing = left.get(code)
        if missing is None:
            missing = left[code] = _lines_of(code)
        elif not missing:
            return None

        def trace_line(inner: FrameType, event: str, _argument: object) -> Any:
            if event == "line":
                missing.discard(inner.f_lineno)
            return trace_line

        return trace_line

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield left
    finally:
        sys.settrace(before)


def _lines_of(code: CodeType) -> set[int]:
    numbers = {number for _, _, number in code.co_lines() if number}
    return numbers - {code.co_firstlineno}


def _function_of(code: CodeType) -> str:
    """The name of the function that some code, perhaps of a comprehension, stands in."""
    return code.co_qualname.partition(".<locals>")[0].rpartition(".")[2]


def _is_unreachable(text: str) -> bool:
    return text in {"case _:", "assert_never(event)"}
