"""The simulated executor reports what is so, once, and finds its way back after any cut."""

from headgate.cli.executor.behaviour import Behaviour, Habits, behaviour_of
from headgate.cli.executor.roster import Roster
from headgate.client.shapes import Assignment, Event, EvictionNotice, Report

STEADY = Behaviour(start_delay=2, run_length=10, stop_delay=3)


def roster(behaviour: Behaviour = STEADY) -> Roster:
    return Roster(lambda _key, _uid, _annotations: behaviour)


def event(position: int, kind: str, key: str = "a/x", **data: object) -> Event:
    return Event(position=position, stream=f"workload/{key}", type=f"workload.{kind}", data=data)


def begun(behaviour: Behaviour = STEADY) -> Roster:
    found = roster(behaviour)
    found.observe(event(1, "submitted", uid="u1"), 0)
    found.observe(event(2, "admitted"), 100)
    return found


def told(reports: list[Report]) -> list[tuple[str, str]]:
    return [(report.type, report.uid) for report in reports]


def test_pods_get_ready_and_end_in_their_time() -> None:
    found = begun()
    assert found.next_due() == 102
    assert told(found.take_due(101, 10)) == []
    assert told(found.take_due(102, 10)) == [("podsReady", "u1")]
    assert told(found.take_due(200, 10)) == [("finished", "u1")]
    assert told(found.take_due(999, 10)) == []


def test_what_fails_is_reported_as_failed_and_the_never_ready_stay_silent() -> None:
    failing = Behaviour(start_delay=0, run_length=0, stop_delay=0, fails=True)
    assert told(begun(failing).take_due(100, 10))[-1] == ("failed", "u1")
    silent = Behaviour(start_delay=0, run_length=0, stop_delay=0, is_never_ready=True)
    assert told(begun(silent).take_due(10_000, 10)) == []


def test_an_evicted_workload_stops_and_never_finishes() -> None:
    found = begun()
    found.observe(event(3, "evicted", eviction="r1"), 105)
    reports = found.take_due(10_000, 10)
    assert [(each.type, each.eviction) for each in reports] == [("stopped", "r1")]


def test_a_second_admission_starts_over() -> None:
    found = begun()
    found.observe(event(3, "evicted", eviction="r1"), 105)
    found.observe(event(4, "stopped", eviction="r1"), 108)
    found.observe(event(5, "admitted"), 200)
    assert told(found.take_due(212, 10)) == [("podsReady", "u1"), ("finished", "u1")]


def test_events_seen_again_change_nothing() -> None:
    found = begun()
    found.observe(event(2, "admitted"), 500)
    assert found.next_due() == 102


def test_an_unknown_admission_asks_for_the_list() -> None:
    found = roster()
    found.observe(event(9, "admitted", key="a/y"), 0)
    asked = found.needs_assignments
    found.reconcile(9, [Assignment(workload="a/y", uid="u9", phase="Starting")], 50)
    assert (asked, found.needs_assignments) == (True, False)
    assert told(found.take_due(62, 10)) == [("podsReady", "u9"), ("finished", "u9")]


def test_the_list_ends_what_is_gone_and_stops_what_is_evicted() -> None:
    found = begun()
    found.observe(event(3, "submitted", key="a/y", uid="u2"), 0)
    found.observe(event(4, "admitted", key="a/y"), 100)
    evicted = Assignment(
        workload="a/y", uid="u2", phase="Evicting", eviction=EvictionNotice(id="r7")
    )
    found.reconcile(8, [evicted], 101)
    reports = found.take_due(10_000, 10)
    assert [(each.workload, each.type, each.eviction) for each in reports] == [
        ("a/y", "stopped", "r7")
    ]


def test_undelivered_reports_fall_due_again() -> None:
    found = begun()
    reports = found.take_due(102, 10)
    found.give_back(reports, 300)
    assert told(found.take_due(299, 10)) == [("finished", "u1")]
    assert told(found.take_due(300, 10)) == [("podsReady", "u1")]


def test_behaviour_depends_on_uid_and_seed_alone() -> None:
    habits = Habits(seed=3, failure_rate=0.5)
    assert behaviour_of("u", {}, habits) == behaviour_of("u", {}, habits)
    assert len({behaviour_of(f"u{n}", {}, habits).run_length for n in range(20)}) == 20


def test_what_a_workload_says_of_itself_counts() -> None:
    said = {"headgate.dev/run-seconds": "7", "headgate.dev/fails": "true"}
    found = behaviour_of("u", said, Habits())
    assert (found.run_length, found.fails) == (7_000_000, True)
