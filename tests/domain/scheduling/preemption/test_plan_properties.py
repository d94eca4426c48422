"""What holds of every plan, in random cohorts (the invariants of preemption.md §6.12 by number)."""

from collections.abc import Iterator
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.domain.scheduling.partition.eviction_graph import Epoch
from headgate.domain.scheduling.preemption.request import RECLAIM_SCOPES, Candidate, Victim
from headgate.domain.scheduling.preemption.victim_plan import SearchRules, invalid_victims
from headgate.domain.workloads.protection import protection_of
from tests.simulation.termination import (
    GPU,
    WAITING,
    SimulatedCohort,
    a_cohort,
    a_request,
    commit,
    plan_for,
    rules_of,
    run_cohort,
)

SEEDS = st.integers(min_value=0, max_value=10**9)
Plan = tuple[SimulatedCohort, str, tuple[Victim, ...]]


def plain(cohort: SimulatedCohort) -> SearchRules:
    return SearchRules(cohort.strategies)


def plans(seed: int) -> Iterator[Plan]:
    """The plans of the pending workloads of one cohort."""
    cohort = a_cohort(Random(seed))
    for key in sorted(cohort.workloads):
        if cohort.stands[key] == WAITING and (victims := plan_for(cohort, key, plain(cohort))):
            yield cohort, key, victims


def fits(cohort: SimulatedCohort, key: str, *, borrow: bool) -> bool:
    ask, view = cohort.asks[key], cohort.view
    amount = ask.amounts[GPU]
    within = view.used(ask.node, GPU) + amount <= view.tree.nominal(ask.node, GPU)
    return view.available(ask.node, GPU) >= amount and (borrow or within)


def guard_own(cohort: SimulatedCohort, key: str, **spec: object) -> None:
    """Change the spec of one that holds a place."""
    changed = replace(cohort.workloads[key], spec=replace(cohort.workloads[key].spec, **spec))
    cohort.workloads[key] = changed
    cohort.asks[key] = replace(cohort.asks[key], workload=changed)
    held = cohort.held.get(cohort.asks[key].node, {})
    if key in held:
        held[key] = cohort.asks[key]


@given(SEEDS)
def test_i1_a_non_preemptible_workload_is_never_a_victim(seed: int) -> None:
    for cohort, key, victims in plans(seed):
        safe = victims[0].workload.key
        guard_own(cohort, safe, preemptibility="NonPreemptible")
        again = plan_for(cohort, key, plain(cohort))
        assert safe not in [victim.workload.key for victim in again]


@given(SEEDS)
def test_i3_i4_it_fits_once_all_have_left_and_not_before(seed: int) -> None:
    for cohort, key, victims in plans(seed):
        for victim in victims:
            cohort.view.remove(victim.candidate)
        assert fits(cohort, key, borrow=True)
        stays_within = fits(cohort, key, borrow=False)
        for victim in victims:
            cohort.view.restore(victim.candidate)
            assert not fits(cohort, key, borrow=not stays_within)
            cohort.view.remove(victim.candidate)


@given(SEEDS)
def test_i5_a_discretionary_victim_has_lower_priority_or_is_newer(seed: int) -> None:
    for cohort, key, victims in plans(seed):
        mine = cohort.workloads[key]
        for victim in victims:
            if victim.scope in {"Own", "WhileBorrowing"}:
                theirs = victim.workload
                older = mine.created_at < theirs.created_at
                assert (mine.spec.priority, older) > (protection_of(theirs.spec), False)


@given(SEEDS)
def test_i6_all_victims_are_legal_in_the_end_state(seed: int) -> None:
    for cohort, key, victims in plans(seed):
        for victim in victims:
            cohort.view.remove(victim.candidate)
        request = a_request(cohort, key)
        assert invalid_victims(cohort.view, request, victims, plain(cohort)) == {}
        for victim in victims:
            cohort.view.restore(victim.candidate)


@given(SEEDS)
def test_i7_discretionary_evictions_of_an_epoch_form_no_cycle(seed: int) -> None:
    random = Random(seed)
    cohort = a_cohort(random)
    assert run_cohort(cohort, random, rules_of(cohort)).settled
    edges = cohort.eviction_graph.edges(Epoch(cohort.workloads, ""))
    left = {p: [v for v, right in victims.items() if not right] for p, victims in edges.items()}
    while free := [p for p in sorted(left) if not any(v in left for v in left[p])]:
        for preemptor in free:
            del left[preemptor]
    assert left == {}


@given(SEEDS)
def test_i13_no_victim_evicts_its_preemptor(seed: int) -> None:
    for cohort, key, victims in list(plans(seed))[:1]:
        commit(cohort, key, victims)
        ask = cohort.asks[key]
        cohort.held.setdefault(ask.node, {})[key] = ask
        for victim in victims:
            back = plan_for(cohort, victim.workload.key, plain(cohort))
            assert key not in [turned.workload.key for turned in back]


@given(SEEDS, SEEDS)
def test_i14_the_order_of_what_is_given_changes_nothing(seed: int, shuffle: int) -> None:
    for cohort, key, victims in plans(seed):
        chance = Random(shuffle)
        for node, held in cohort.held.items():
            mixed = sorted(held.items(), key=lambda _: chance.random())
            cohort.held[node] = dict(mixed)
        again = plan_for(cohort, key, plain(cohort))
        assert [(v.workload.key, v.scope) for v in again] == [
            (v.workload.key, v.scope) for v in victims
        ]


@given(SEEDS)
def test_i16_what_a_queue_owns_it_can_always_get_back(seed: int) -> None:
    cohort = a_cohort(Random(seed))
    for key, ask in sorted(cohort.asks.items()):
        policies = cohort.policies[ask.node]
        owned = cohort.view.tree.nominal(ask.node, GPU) - cohort.view.used(ask.node, GPU)
        waits = cohort.stands[key] == WAITING and ask.amounts[GPU] <= owned
        if waits and policies.reclaim_within_cohort == "Any":
            victims = plan_for(cohort, key, plain(cohort))
            assert victims or fits(cohort, key, borrow=True)
            assert all(v.scope in RECLAIM_SCOPES for v in victims)


@given(SEEDS)
def test_i20_more_protection_never_makes_a_victim(seed: int) -> None:
    for cohort, key, victims in plans(seed):
        spared = next((c for c in holders(cohort) if c.workload not in of(victims)), None)
        if spared is not None:
            guard_own(cohort, spared.workload.key, preemption_priority=9)
            again = plan_for(cohort, key, plain(cohort))
            assert spared.workload.key not in [victim.workload.key for victim in again]


def holders(cohort: SimulatedCohort) -> list[Candidate]:
    return [found for _, held in sorted(cohort.held.items()) for found in held.values()]


def of(victims: tuple[Victim, ...]) -> list[object]:
    return [victim.workload for victim in victims]
