"""What every store promises of the inline read models."""

from collections import Counter
from itertools import count, product
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.application.ports import Loaded, Row, WorkloadQuery
from headgate.application.queries.workload_lists import conditions_in, order_in
from headgate.application.workload_filter import (
    OLDEST_STUCK_FIRST,
    GroupField,
    WorkloadFilter,
    WorkloadGroup,
    grouped,
    order_value,
)
from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.kinds.configured_object import Absent, Configured
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.rounds.state import Round
from headgate.domain.values.selectors import LabelSelector, Operator, Requirement
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.events import WorkloadOwner
from headgate.domain.workloads.specs import PodSet, Scheduling, WorkloadSpec
from headgate.domain.workloads.state import Condition, Deactivation, Hold, Workload
from tests.contracts.adapters import Adapters
from tests.contracts.events import event, key, shown, unit
from tests.contracts.history import committed, submitted

CREATED = 1_000
ADA = WorkloadOwner(user="ada", groups=("physics",))


def workload(name: str, namespace: str = "a", **given: object) -> Workload:
    values = {"uid": f"uid-{name}", "created_at": CREATED, "spec": submitted(name).spec, **given}
    return Workload(name=name, namespace=namespace, **values)  # type: ignore[arg-type]


def show(adapters: Adapters, *workloads: Workload) -> None:
    verdicts = adapters.log.append([shown(f"workload/{found.key}", found) for found in workloads])
    assert len(verdicts) == len(workloads)


def configured(name: str, spec: object, namespace: str = "") -> Configured[object]:
    return Configured(
        name=name, namespace=namespace, uid=f"uid-{name}", created_at=CREATED, spec=spec
    )


def a_round(round_id: str, preemptor: str, *victims: str, at: int) -> Round:
    given = committed(round_id, preemptor, *victims)
    return Round(
        id=round_id,
        stage="Draining",
        preemptor=preemptor,
        preemptor_priority=1,
        cluster_queue="gpu",
        admission=given.admission,
        victims=given.victims,
        considered=2,
        basis_position=1,
        committed_at=at,
    )


def names(adapters: Adapters, **query: object) -> list[str]:
    paging = {key: query.pop(key) for key in ("after", "keys", "limit") if key in query}
    where = WorkloadFilter(**query)  # type: ignore[arg-type]
    found = adapters.models.workloads(WorkloadQuery(where=where, **paging))  # type: ignore[arg-type]
    return [loaded.state.name for loaded in found]


def test_what_was_never_there_is_absent(adapters: Adapters) -> None:
    unknown = Loaded(stream="workload/a/x", version=0, position=0, state=Absent())

    assert adapters.models.load(["workload/a/x"]) == [unknown]


def test_a_state_is_loaded_as_it_was_written(adapters: Adapters) -> None:
    queue = configured("gpu", ClusterQueueSpec(cohort_name="all"))
    held = workload("x", hold=Hold(owner="ada", reason="Grüße 😀", held_at=3, expires_at=9))
    adapters.log.append([shown("workload/a/x", held), shown("clusterqueue/gpu", queue)])

    assert adapters.models.load(["clusterqueue/gpu", "workload/a/y", "workload/a/x"]) == [
        Loaded(stream="clusterqueue/gpu", version=1, position=2, state=queue),
        Loaded(stream="workload/a/y", version=0, position=0, state=Absent()),
        Loaded(stream="workload/a/x", version=1, position=1, state=held),
    ]


def test_a_newer_state_replaces_the_older(adapters: Adapters) -> None:
    show(adapters, workload("x"))
    newer = workload("x", uid="another", created_at=CREATED + 5)

    adapters.log.append([shown("workload/a/x", newer, version=1)])

    [loaded] = adapters.models.load(["workload/a/x"])
    assert (loaded.version, loaded.position, loaded.state) == (2, 2, newer)


def test_what_was_deleted_is_absent_and_keeps_its_version(adapters: Adapters) -> None:
    show(adapters, workload("x"))
    adapters.log.append([shown("workload/a/x", Absent(), version=1)])

    assert adapters.models.load(["workload/a/x"]) == [
        Loaded(stream="workload/a/x", version=2, position=2, state=Absent())
    ]
    assert names(adapters) == []


def test_a_refused_unit_leaves_no_row(adapters: Adapters) -> None:
    adapters.log.append([shown("workload/a/x", workload("x"), version=4)])

    assert names(adapters) == []


def test_a_row_stands_where_its_last_event_does(adapters: Adapters) -> None:
    first, last = event("workload/a/x"), event("node/n")
    columns = shown("workload/a/x", workload("x")).rows[0].columns
    row = Row(table="workload", stream="workload/a/x", columns=columns)
    adapters.log.append([unit(event("node/m")), unit(first, first, last, rows=(row,))])

    [loaded] = adapters.models.load(["workload/a/x"])
    [listed] = adapters.models.workloads(WorkloadQuery())
    assert (listed.version, listed.position) == (loaded.version, loaded.position) == (2, 3)


def test_workloads_come_newest_first_page_by_page(adapters: Adapters) -> None:
    show(adapters, *(workload(f"w{n}", created_at=CREATED + n // 2) for n in range(5)))

    assert names(adapters) == ["w4", "w3", "w2", "w1", "w0"]
    assert names(adapters, limit=2) == ["w4", "w3"]
    assert names(adapters, limit=2, after=(CREATED + 1, "a/w3")) == ["w2", "w1"]
    assert names(adapters, after=(CREATED, "a/w0")) == []


def labelled(key: str, operator: Operator, *values: str) -> LabelSelector:
    requirement = Requirement(key=key, operator=operator, values=values)
    return LabelSelector(match_expressions=(requirement,))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"namespaces": ("b",)}, ["run-b"]),
        ({"namespaces": ()}, []),
        ({"namespaces": ("a", "b"), "phases": ("OnHold", "QuotaReserved")}, ["run-b", "held"]),
        ({"phases": ("Pending",)}, ["other", "plain"]),
        ({"phases": ("OnHold", "Unschedulable"), "keys": ("a/plain", "b/none")}, ["plain", "held"]),
        ({"phases": ("Unschedulable",), "keys": ("b/run-b",), "namespaces": ("a",)}, []),
        ({"local_queue": "door"}, ["run-b", "plain", "held"]),
        ({"name_contains": "e"}, ["other", "held"]),
        ({"name_contains": "%"}, []),
        ({"selector": LabelSelector(match_labels={"team": "x"})}, ["plain", "held"]),
        ({"selector": LabelSelector(match_labels={"team": "x", "tier": "1"})}, ["held"]),
        ({"selector": labelled("team", "In", "x")}, ["plain", "held"]),
        ({"selector": labelled("tier", "In", "1", "2")}, ["held"]),
        ({"selector": labelled("tier", "NotIn", "1")}, ["other", "plain", "run-b"]),
        ({"selector": labelled("tier", "Exists")}, ["held"]),
        ({"selector": labelled("team", "DoesNotExist")}, ["other", "run-b"]),
        ({"cluster_queue": "gpu"}, ["run-b", "plain", "held"]),
        ({"cluster_queue": "batch"}, []),
        ({"owner": "ada"}, ["held"]),
        ({"owner": "ad"}, []),
        ({"cluster_queue": "gpu", "namespaces": ("a",)}, ["plain", "held"]),
    ],
)
def test_filters_narrow_a_list(
    adapters: Adapters, query: dict[str, object], found: list[str]
) -> None:
    door = configured("door", LocalQueueSpec(cluster_queue="gpu"), "a")
    adapters.log.append([shown("localqueue/a/door", door)])
    hold = Hold(owner="o", reason="r", held_at=1)
    admission = Admission(cluster_queue="gpu", pod_set_assignments=())
    show(
        adapters,
        workload("held", labels={"team": "x", "tier": "1"}, hold=hold, owner=ADA),
        workload("plain", labels={"team": "x"}),
        workload("other", spec=submitted("other", queue="side").spec),
        workload("run-b", namespace="b", admission=admission),
    )

    assert sorted(names(adapters, **query)) == sorted(found)


SECOND = 1_000_000
NOW = CREATED + 1_000 * SECOND


def spec_of(gpus: int, pods: int, queue: str = "door", priority: int = 0) -> WorkloadSpec:
    scheduling = Scheduling(requests={"cpu": 1000, "nvidia.com/gpu": gpus})
    return WorkloadSpec(
        queue_name=queue,
        priority=priority,
        pod_sets=(PodSet(count=pods, scheduling=scheduling),),
    )


def show_grid(adapters: Adapters) -> None:
    """Four workloads: one runs, one ended, two wait, of which one can never start."""
    door = configured("door", LocalQueueSpec(cluster_queue="gpu"), "a")
    adapters.log.append([shown("localqueue/a/door", door)])
    admission = Admission(cluster_queue="lent", pod_set_assignments=())
    admitted = Condition(
        type="Admitted", status=True, reason="Admitted", last_transition_at=NOW - 100 * SECOND
    )
    ended = Condition(
        type="Finished", status=True, reason="Failed", last_transition_at=NOW - 20 * SECOND
    )
    show(
        adapters,
        workload(
            "run-1",
            spec=spec_of(8, 2, priority=5),
            owner=ADA,
            admission=admission,
            conditions=(admitted,),
            accumulated_execution_seconds=300,
        ),
        workload(
            "run-2",
            created_at=CREATED + 500 * SECOND,
            spec=spec_of(1, 1, queue="Side"),
            owner=WorkloadOwner(user="Ben"),
            conditions=(admitted, ended),
            finished_at=NOW - 20 * SECOND,
        ),
        workload("wait-1", created_at=CREATED + 900 * SECOND, spec=spec_of(4, 4), owner=ADA),
        workload("wait-2", spec=spec_of(16, 1), labels={"team": "x"}),
    )


def grid(adapters: Adapters, text: str, order: str = "name", **paging: object) -> list[str]:
    where = WorkloadFilter(conditions=conditions_in(text, "ada"), at=NOW)
    query = WorkloadQuery(where=where, order=order_in(order, NOW), keys=("a/wait-2",), **paging)  # type: ignore[arg-type]
    return [loaded.state.name for loaded in adapters.models.workloads(query)]


FOUND_BY = {
    "": ["run-1", "run-2", "wait-1", "wait-2"],
    "RUN": ["run-1", "run-2"],
    "-run": ["wait-1", "wait-2"],
    "name:=run-1": ["run-1"],
    "queue:side": ["run-2"],
    "queue:=a/door gpu:>=8": ["run-1", "wait-1", "wait-2"],
    "clusterQueue:gpu": ["wait-1", "wait-2"],
    "clusterQueue:=lent": ["run-1"],
    "owner:me": ["run-1", "wait-1"],
    "owner:be": ["run-2"],
    "owner:ada,ben -phase:Failed": ["run-1", "wait-1"],
    "phase:Pending": ["wait-1", "wait-2"],
    "phase:Unschedulable,Failed": ["run-2", "wait-2"],
    "-phase:Unschedulable": ["run-1", "run-2", "wait-1"],
    "label:team=x": ["wait-2"],
    "-label:team": ["run-1", "run-2", "wait-1"],
    "gpu:1": ["run-2"],
    "pods:4": ["wait-1"],
    "gpu:>15": ["run-1", "wait-1", "wait-2"],
    "priority:>0": ["run-1"],
    "run:400": ["run-1"],
    "run:80": ["run-2"],
    "wait:600s": ["run-1"],
    "wait:400": ["run-2"],
    "wait:<2m": ["wait-1"],
    "ended:<1h": ["run-2"],
    "-ended:<1h": ["run-1", "wait-1", "wait-2"],
    "submitted:>=15m": ["run-1", "wait-2"],
    "name:%": [],
}


def test_conditions_narrow_a_list(adapters: Adapters) -> None:
    show_grid(adapters)

    assert {text: grid(adapters, text) for text in FOUND_BY} == FOUND_BY


IN_ORDER_OF = {
    "-gpu": ["wait-1", "wait-2", "run-1", "run-2"],
    "gpu": ["run-2", "wait-1", "wait-2", "run-1"],
    "-wait": ["wait-2", "run-1", "run-2", "wait-1"],
    "run": ["wait-1", "wait-2", "run-2", "run-1"],
    "-ended": ["run-2", "wait-1", "wait-2", "run-1"],
    "owner": ["wait-2", "run-2", "wait-1", "run-1"],
    "-submitted": ["wait-1", "run-2", "wait-2", "run-1"],
    "submitted": ["wait-2", "run-1", "run-2", "wait-1"],
    "clusterQueue": ["run-2", "wait-1", "wait-2", "run-1"],
}


def test_a_list_comes_in_any_order_page_by_page(adapters: Adapters) -> None:
    show_grid(adapters)

    assert {order: grid(adapters, "", order) for order in IN_ORDER_OF} == IN_ORDER_OF
    assert {order: one_by_one(adapters, order) for order in IN_ORDER_OF} == IN_ORDER_OF


def one_by_one(adapters: Adapters, order: str) -> list[str]:
    """The names of all workloads, read in pages of one."""
    paged, paging = list[str](), dict[str, object]()
    while found := grid(adapters, "", order, limit=1, **paging):
        paged += found
        [last] = adapters.models.load([f"workload/a/{found[0]}"])
        queue = {"run-1": "lent", "run-2": ""}.get(found[0], "gpu")
        value = order_value(order_in(order, NOW), last.state, queue)
        paging = {"after": (last.state.created_at, last.state.key), "after_value": value}
    return paged


def test_workloads_are_counted_by_a_field(adapters: Adapters) -> None:
    show_grid(adapters)
    every = WorkloadQuery(where=WorkloadFilter(at=NOW))

    def group(value: str, count: int, gpus: int, pods: int, **phases: int) -> WorkloadGroup:
        return WorkloadGroup(value=value, count=count, gpus=gpus, pods=pods, phases=phases)

    models = adapters.models
    assert models.workload_groups(every, None) == [
        group("", 4, 49, 8, Pending=2, Starting=1, Failed=1)
    ]
    assert models.workload_groups(every, "owner") == [
        group("ada", 2, 32, 6, Pending=1, Starting=1),
        group("", 1, 16, 1, Pending=1),
        group("Ben", 1, 1, 1, Failed=1),
    ]
    assert models.workload_groups(every, "clusterQueue")[0] == group("gpu", 2, 32, 5, Pending=2)
    assert [found.value for found in models.workload_groups(every, "phase")] == [
        "Pending", "Starting", "Failed"
    ]  # fmt: skip
    assert [found.value for found in models.workload_groups(every, "queue")] == [
        "a/door", "a/Side"
    ]  # fmt: skip
    nothing = WorkloadQuery(where=WorkloadFilter(phases=("Evicting",)))
    assert models.workload_groups(nothing, None) == []
    # A part of a name is no field by which workloads are counted beside their rows.
    named = WorkloadFilter(at=NOW, conditions=conditions_in("run", "ada"))
    assert models.workload_groups(WorkloadQuery(where=named), None)[0].count == 2
    bounded = WorkloadQuery(where=named, counted_rows=1)
    assert models.workload_groups(bounded, None)[0].count == 1


SPACES = count()
STATES = st.one_of(
    st.none(),
    st.builds(
        lambda owner, queue, priority, gpus, shape: workload(
            "",
            owner=WorkloadOwner(user=owner) if owner else None,
            spec=spec_of(gpus, 1 + gpus, queue=queue, priority=priority),
            **shape,
        ),
        st.sampled_from(("", "ada")),
        st.sampled_from(("door", "side")),
        st.integers(0, 1),
        st.integers(0, 2),
        st.sampled_from(
            (
                {},
                {"hold": Hold(owner="ada", reason="later", held_at=3)},
                {"admission": Admission(cluster_queue="lent", pod_set_assignments=())},
                {"finished_at": 4},
            )
        ),
    ),
)
APPENDS = st.lists(st.lists(st.tuples(st.integers(0, 2), STATES), max_size=4), max_size=4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(APPENDS)
def test_kept_counts_are_those_of_a_recount(
    adapters: Adapters, appends: list[list[tuple[int, Workload | None]]]
) -> None:
    space = f"space-{next(SPACES)}"
    versions, states = Counter[str](), dict[str, Workload | Absent]()
    where = WorkloadFilter(namespaces=(space,))
    for written in appends:
        units = []
        for number, state in written:
            name = f"w{number}"
            named = Absent() if state is None else replace(state, namespace=space, name=name)
            units.append(shown(f"workload/{space}/{name}", named, version=versions[name]))
            versions[name] += 1
            states[name] = named
        adapters.log.append(units)
        kept = [each for each in states.values() if isinstance(each, Workload)]
        queues = [each.admission.cluster_queue if each.admission else "" for each in kept]
        for by in (None, *get_args(GroupField), "cause"):
            found = adapters.models.workload_groups(WorkloadQuery(where=where), by)
            assert found == grouped(zip(kept, queues, strict=True), by)
    loaded = adapters.models.load([f"workload/{space}/{name}" for name in states])
    assert [each.state for each in loaded] == list(states.values())
    assert adapters.models.miscounted() == 0


PLACES: tuple[tuple[str, ...] | None, ...] = (None, ("a",), ("a", "c"), ())
OF_PHASES = (
    (),
    ("Pending",),
    ("Succeeded", "Failed"),
    ("OnHold", "Unschedulable", "QuotaReserved"),
)


@pytest.mark.parametrize("text", ["", "phase:Pending,OnHold", "-phase:OnHold"])
def test_newest_pages_of_places_are_those_of_one_list(adapters: Adapters, text: str) -> None:
    shapes: tuple[dict[str, object], ...] = (
        {},
        {"hold": Hold(owner="ada", reason="later", held_at=3), "owner": ADA},
        {"admission": Admission(cluster_queue="lent", pod_set_assignments=())},
        {"finished_at": CREATED + 9},
    )
    found = [
        workload(f"w{n:02}", "abc"[n % 3], created_at=CREATED + n // 4, **shapes[n // 3 % 4])
        for n in range(24)
    ]
    show(adapters, *found)
    for spaces, phases, keys in product(PLACES, OF_PHASES, ((), ("a/w03", "b/w04"))):
        where = WorkloadFilter(
            namespaces=spaces, phases=phases, conditions=conditions_in(text, "ada"), at=NOW
        )
        query, listed = WorkloadQuery(where=where, keys=keys, limit=4), list[str]()
        while page := [each.state for each in adapters.models.workloads(query)]:
            listed += [each.key for each in page]
            query = replace(query, after=(page[-1].created_at, page[-1].key))
        matching = [each for each in found if where.matches(each, "", keys)]
        newest = sorted(matching, key=lambda each: (each.created_at, each.key), reverse=True)
        assert listed == [each.key for each in newest], (spaces, phases, keys)


def test_objects_of_a_kind_come_by_name_page_by_page(adapters: Adapters) -> None:
    for name in ("b", "a", "Z", "ä"):
        queue = configured(name, ClusterQueueSpec())
        adapters.log.append([shown(f"clusterqueue/{name}", queue)])

    def listed(after: str = "", limit: int = 9) -> list[str]:
        found = adapters.models.objects("clusterqueue", after=after, limit=limit)
        return [loaded.state.name for loaded in found]

    assert listed() == ["Z", "a", "b", "ä"]
    assert listed(limit=2) == ["Z", "a"]
    assert listed(after="clusterqueue/a") == ["b", "ä"]
    assert adapters.models.objects("cohort") == []


def test_objects_are_listed_by_namespace(adapters: Adapters) -> None:
    for namespace in ("a", "ab"):
        door = configured("door", LocalQueueSpec(cluster_queue="gpu"), namespace)
        adapters.log.append([shown(f"localqueue/{namespace}/door", door)])

    found = adapters.models.objects("localqueue", namespace="a")

    assert [loaded.stream for loaded in found] == ["localqueue/a/door"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["r3", "r2", "r1"]),
        ({"limit": 2}, ["r3", "r2"]),
        ({"after": (20, "r2")}, ["r1"]),
        ({"workload": "a/x"}, ["r3", "r1"]),
        ({"workload": "a/none"}, []),
        ({"cluster_queue": "batch"}, ["r3", "r2", "r1"]),
        ({"cluster_queue": "gpu", "limit": 1}, ["r3"]),
    ],
)
def test_rounds_come_newest_first(
    adapters: Adapters, query: dict[str, object], found: list[str]
) -> None:
    adapters.log.append(
        [
            shown("round/r1", a_round("r1", "a/p", "a/x", "a/y", at=10)),
            shown("round/r2", a_round("r2", "a/p", "a/y", at=20)),
            shown("round/r3", a_round("r3", "a/x", "a/z", at=20)),
        ]
    )

    loaded = adapters.models.rounds(**query)  # type: ignore[arg-type]

    assert [each.state.id for each in loaded] == found


def test_an_unknown_key_has_no_answer(adapters: Adapters) -> None:
    adapters.log.append([unit(event(), idempotency=key())])

    assert adapters.models.replay_of("k", "user:bob") is None
    assert adapters.models.replay_of("other", "user:ada") is None


def stuck(name: str, since: int, cause: str = "", namespace: str = "a") -> Workload:
    """A workload on hold since an instant, or inactive for a cause."""
    if not cause:
        return workload(name, namespace, hold=Hold(owner="ada", reason="later", held_at=since))
    spec = replace(submitted(name).spec, active=False)
    why = Deactivation(cause=cause, deactivated_at=since)  # type: ignore[arg-type]
    return workload(name, namespace, spec=spec, deactivation=why)


def test_stuck_workloads_come_longest_stuck_first_and_are_counted_by_cause(
    adapters: Adapters,
) -> None:
    show(
        adapters,
        stuck("held", 30),
        stuck("asked", 20, "Requested"),
        stuck("tried", 25, "RequeuingLimitExceeded"),
        stuck("foreign", 10, namespace="b"),
        workload("pending"),
    )
    models, phases = adapters.models, ("OnHold", "Inactive")

    def found(**where: object) -> list[str]:
        given = WorkloadFilter(phases=phases, **where)  # type: ignore[arg-type]
        query = WorkloadQuery(where=given, order=OLDEST_STUCK_FIRST)
        return [loaded.state.name for loaded in models.workloads(query)]

    assert found() == ["foreign", "asked", "tried", "held"]
    assert found(namespaces=("a",), stuck_since=25) == ["tried", "held"]
    assert found(causes=("OnHold", "Requested")) == ["foreign", "asked", "held"]
    query = WorkloadQuery(where=WorkloadFilter(phases=phases, namespaces=("a", "c")))
    counts = {group.value: group.count for group in models.workload_groups(query, "cause")}
    assert counts == {"OnHold": 1, "Requested": 1, "RequeuingLimitExceeded": 1}


def test_pages_of_several_namespaces_are_those_of_one_list(adapters: Adapters) -> None:
    spaces = ("a", "b", "c")
    for n in range(12):
        show(adapters, workload(f"w{n:02}", spaces[n % 3], created_at=CREATED + n // 2))
    wanted = [f"w{n:02}" for n in range(11, -1, -1) if n % 3 != 1]

    seen: list[str] = []
    after: tuple[int, str] | None = None
    while page := adapters.models.workloads(
        WorkloadQuery(where=WorkloadFilter(namespaces=("a", "c")), after=after, limit=3)
    ):
        seen += [loaded.state.name for loaded in page]
        after = (page[-1].state.created_at, page[-1].state.key)
    assert sorted(seen, reverse=True) == wanted
    assert len(seen) == len(set(seen))
