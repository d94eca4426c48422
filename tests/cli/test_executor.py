"""The simulated executor reports what is so, once, and finds its way back after any cut."""

from headgate.cli.executor.behavior import (
    Behavior,
    BehaviorDefaults,
    HostChange,
    Outages,
    behavior_of,
)
from headgate.cli.executor.runs import SimulatedRuns
from headgate.client.schemas import Assignment, Event, EvictionNotice, Report, Shrinking

STEADY = Behavior(start_delay=2, run_length=10, stop_delay=3)


def simulated_runs(behavior: Behavior = STEADY) -> SimulatedRuns:
    return SimulatedRuns(lambda _key, _uid, _annotations: behavior)


def event(position: int, kind: str, key: str = "a/x", **data: object) -> Event:
    return Event(position=position, stream=f"workload/{key}", type=f"workload.{kind}", data=data)


def _plain(told_at: tuple[int, HostChange]) -> tuple[int, tuple[str, bool]]:
    return told_at[0], (told_at[1].node, told_at[1].is_ready)


def begun(behavior: Behavior = STEADY) -> SimulatedRuns:
    found = simulated_runs(behavior)
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
    failing = Behavior(start_delay=0, run_length=0, stop_delay=0, fails=True)
    assert told(begun(failing).take_due(100, 10))[-1] == ("failed", "u1")
    silent = Behavior(start_delay=0, run_length=0, stop_delay=0, is_never_ready=True)
    assert told(begun(silent).take_due(10_000, 10)) == []


def test_an_evicted_workload_stops_and_never_finishes() -> None:
    found = begun()
    found.observe(event(3, "evicted", eviction="r1"), 105)
    reports = found.take_due(10_000, 10)
    assert [(each.type, each.eviction) for each in reports] == [("stopped", "r1")]


def test_reports_name_the_attempt_that_they_are_of() -> None:
    found = begun()
    found.observe(event(3, "evicted", eviction="r1"), 105)
    found.observe(event(4, "stopped", eviction="r1"), 106)
    found.observe(event(5, "admitted"), 200)
    reports = found.take_due(10_000, 10)
    assert [(each.type, each.attempt) for each in reports] == [("podsReady", 2), ("finished", 2)]


def test_attempts_of_assigned_workloads_come_from_the_list_after_a_cut() -> None:
    found = begun()
    found.reconcile(9, [Assignment(workload="a/x", uid="u1", attempt=4, phase="Running")], 200)
    assert {each.attempt for each in found.take_due(10_000, 10)} == {4}


def test_attempts_that_were_missed_are_asked_for() -> None:
    found = begun()
    found.reconcile(9, [], 200)
    found.observe(event(10, "admitted"), 300)
    assert found.needs_assignments


def test_a_shrinking_workload_reports_its_pods_and_finishes() -> None:
    found = begun()
    found.take_due(102, 10)
    found.observe(event(3, "pods_evicted", eviction="r1", pods={"main": 2}), 103)
    assert [(each.type, each.eviction) for each in found.take_due(106, 10)] == [("stopped", "r1")]
    found.observe(event(4, "shrunk", eviction="r1"), 106)
    assert told(found.take_due(10_000, 10)) == [("finished", "u1")]


def test_pods_stop_unsaved_at_the_end_of_their_grace_period() -> None:
    found = begun(SAVES)
    found.observe(event(3, "pods_evicted", eviction="r1", soft={"handler": "ckpt"}), 105)
    assert told(found.take_due(110, 10)) == [("podsReady", "u1")]
    found.observe(event(4, "eviction_forced", eviction="r1"), 110)
    assert told(found.take_due(113, 10)) == [("stopped", "u1")]


def test_pods_to_be_given_up_are_taken_from_the_list_after_a_cut() -> None:
    found = begun()
    notice = Shrinking(eviction=EvictionNotice(id="r1"))
    still = Assignment(workload="a/x", uid="u1", phase="Running", shrinking=[notice])
    found.reconcile(9, [still], 103)
    found.reconcile(10, [still], 104)
    kinds = [each.type for each in found.take_due(107, 10)]
    assert kinds == ["podsReady", "stopped"]


def test_pods_that_several_rounds_ask_for_stop_each_by_the_name_of_its_own() -> None:
    found = begun()
    for number, name in enumerate(("r1", "r2")):
        found.observe(event(3 + number, "pods_evicted", eviction=name, pods={"main": 1}), 103)
    found.observe(event(5, "eviction_forced", eviction="r1"), 103)
    stopped = [each.eviction for each in found.take_due(106, 10) if each.type == "stopped"]
    assert set(stopped) == {"r1", "r2"}


SAVES = Behavior(start_delay=2, run_length=100, stop_delay=3, save_delay=8)


def asked_softly() -> SimulatedRuns:
    found = begun(SAVES)
    found.take_due(102, 10)
    found.observe(event(3, "evicted", eviction="r1", soft={"deadline_at": 0}), 110)
    return found


def test_a_soft_eviction_is_acknowledged_and_saved_before_the_stop() -> None:
    found = asked_softly()
    reports = [(at, each.type) for at in range(110, 130) for each in found.take_due(at, 10)]
    assert reports == [
        (111, "acknowledged"),
        (114, "progressed"),
        (118, "progressed"),
        (121, "stopped"),
    ]


def test_what_another_handler_saves_is_left_to_it_while_there_is_time() -> None:
    found = begun(SAVES)
    found.take_due(102, 10)
    found.observe(event(3, "evicted", eviction="r1", soft={"handler": "ckpt"}), 110)
    assert found.take_due(999, 10) == []
    found.observe(event(4, "eviction_forced", eviction="r1"), 1_000)
    assert told(found.take_due(2_000, 10)) == [("stopped", "u1")]


def test_a_workload_stops_unsaved_at_the_end_of_its_grace_period() -> None:
    found = asked_softly()
    found.take_due(111, 10)
    found.observe(event(4, "eviction_forced", eviction="r1"), 112)
    assert told(found.take_due(200, 10)) == [("stopped", "u1")]


def test_a_workload_finishes_after_its_eviction_is_cancelled() -> None:
    found = asked_softly()
    found.observe(event(4, "eviction_cancelled", eviction="r1"), 110)
    assert told(found.take_due(201, 10)) == [("podsReady", "u1")]
    assert told(found.take_due(202, 10)) == [("finished", "u1")]


def test_how_an_eviction_stands_is_taken_from_the_list_after_a_cut() -> None:
    forced = EvictionNotice(id="r7", mode="Soft", stage="Forced")
    asked = EvictionNotice(id="r7", mode="Soft")
    for notice, first in ((asked, "acknowledged"), (forced, "stopped")):
        found = simulated_runs(SAVES)
        there = Assignment(workload="a/y", uid="u2", phase="Evicting", eviction=notice)
        found.reconcile(5, [there], 100)
        assert found.take_due(999, 1)[0].type == first


def test_a_second_admission_starts_over() -> None:
    found = begun()
    found.observe(event(3, "evicted", eviction="r1"), 105)
    found.observe(event(4, "stopped", eviction="r1"), 108)
    found.observe(event(5, "admitted"), 200)
    assert told(found.take_due(212, 10)) == [("podsReady", "u1"), ("finished", "u1")]


def test_pods_of_a_replaced_host_start_again_and_the_end_stays_where_it_was() -> None:
    found = begun()
    found.take_due(102, 10)

    found.observe(event(3, "placed", replaced=["h1"]), 105)

    assert told(found.take_due(105, 10)) == [("podsNotReady", "u1")]
    assert told(found.take_due(107, 10)) == [("podsReady", "u1")]
    assert told(found.take_due(112, 10)) == [("finished", "u1")]


def test_first_places_start_nothing_again() -> None:
    found = begun()
    found.take_due(102, 10)

    found.observe(event(3, "placed", replaced=[]), 105)

    assert told(found.take_due(111, 10)) == []


def test_hosts_fail_and_come_back_in_their_time() -> None:
    outages = Outages(seed=7, per_hour=3600.0, seconds=5)
    now = 0
    turns: list[tuple[int, HostChange]] = []
    assert not outages.is_due(now)
    while len(turns) < 20:
        now += 100_000
        if outages.is_due(now):
            turns += [(now, turn) for turn in outages.take_due(now, ["a", "b"])]
    failed = {name: at for at, (name, ready) in (_plain(t) for t in turns) if not ready}
    assert failed.keys() == {"a", "b"}
    for name in failed:
        mine = [(at, ready) for at, (other, ready) in (_plain(t) for t in turns) if other == name]
        assert [ready for _, ready in mine] == [n % 2 == 1 for n in range(len(mine))]
        spans = [back - down for (down, _), (back, _) in zip(mine[::2], mine[1::2], strict=False)]
        assert all(span >= 5_000_000 for span in spans)


def test_at_the_end_every_host_is_back() -> None:
    outages = Outages(seed=7, per_hour=3600.0, seconds=500)
    outages.is_due(0)
    (failed,) = outages.take_due(60_000_000, ["a"])

    assert outages.end() == [HostChange(failed.node, is_ready=True)]
    assert outages.end() == []


def test_without_outages_none_is_ever_due() -> None:
    assert not Outages(seed=7, per_hour=0.0, seconds=5).is_due(10**15)


def test_events_seen_again_change_nothing() -> None:
    found = begun()
    found.observe(event(2, "admitted"), 500)
    assert found.next_due() == 102


def test_an_unknown_admission_asks_for_the_list() -> None:
    found = simulated_runs()
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
    found.retry_at(reports, 300)
    assert told(found.take_due(299, 10)) == [("finished", "u1")]
    assert told(found.take_due(300, 10)) == [("podsReady", "u1")]


def test_behaviour_depends_on_uid_and_seed_alone() -> None:
    habits = BehaviorDefaults(seed=3, failure_rate=0.5)
    assert behavior_of("u", {}, habits) == behavior_of("u", {}, habits)
    assert len({behavior_of(f"u{n}", {}, habits).run_length for n in range(20)}) == 20


def test_what_a_workload_says_of_itself_counts() -> None:
    said = {"headgate.dev/run-seconds": "7", "headgate.dev/fails": "true"}
    found = behavior_of("u", said, BehaviorDefaults())
    assert (found.run_length, found.fails) == (7_000_000, True)
