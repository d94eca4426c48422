"""What requests count for quota: exclusions and transformations, exact whatever their order."""

from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.kinds.configuration import ResourceRules, Transformation, quota_amounts

GPU = "nvidia.com/gpu"
MEMORY = "example.com/gpu-memory"


def rules(*transformations: Transformation, **fields: Any) -> ResourceRules:
    return ResourceRules(transformations=transformations, **fields)


def test_without_rules_requests_count_as_they_are() -> None:
    assert quota_amounts({"cpu": 1500, GPU: 1}, ResourceRules()) == {"cpu": 1500, GPU: 1}


def test_excluded_resources_count_nothing_and_are_read_by_transformations() -> None:
    """Kueue 0.20, change 35 (#15954): quota was overcommitted by a factor that was left out."""
    excluding = rules(
        Transformation(input=GPU, multiply_by="quota/factor", outputs_milli={MEMORY: 10_000}),
        exclude_resource_prefixes=("quota/",),
    )
    assert quota_amounts({GPU: 2, "quota/factor": 2}, excluding) == {GPU: 2, MEMORY: 40}


def test_an_excluded_input_counts_as_its_outputs() -> None:
    """Kueue 0.20, change 35 (#16041)."""
    excluding = rules(
        Transformation(input="quota/share", outputs_milli={"quota/total": 4000}),
        exclude_resource_prefixes=("quota/",),
    )
    assert quota_amounts({"quota/share": 1, "quota/x": 1}, excluding) == {"quota/total": 4}


def test_replaced_resources_count_only_as_their_outputs() -> None:
    replacing = rules(Transformation(input=GPU, strategy="Replace", outputs_milli={MEMORY: 40_000}))
    assert quota_amounts({"cpu": 1000, GPU: 2}, replacing) == {"cpu": 1000, MEMORY: 80}


def test_a_resource_replaced_by_nothing_is_ignored() -> None:
    assert quota_amounts({GPU: 2}, rules(Transformation(input=GPU, strategy="Replace"))) == {}


def test_fractions_are_rounded_up_once_and_not_for_each_input() -> None:
    tenths = rules(
        Transformation(input="a", strategy="Replace", outputs_milli={"credits": 100}),
        Transformation(input="b", strategy="Replace", outputs_milli={"credits": 200}),
    )
    assert quota_amounts({"a": 3, "b": 1}, tenths) == {"credits": 1}


def test_half_a_core_counts_half() -> None:
    by_core = rules(
        Transformation(input="cpu", strategy="Replace", outputs_milli={"credits": 4000})
    )
    assert quota_amounts({"cpu": 500}, by_core) == {"credits": 2}


def test_an_output_in_cpu_is_counted_in_thousandths() -> None:
    to_cores = rules(Transformation(input=GPU, outputs_milli={"cpu": 2500}))
    assert quota_amounts({"cpu": 1000, GPU: 2}, to_cores) == {"cpu": 6000, GPU: 2}


def test_an_allowance_that_is_not_used_up_lowers_no_plain_request() -> None:
    allowance = rules(
        Transformation(input=GPU, outputs_milli={MEMORY: -1_024_000}),
        Transformation(
            input="x.io/memory", strategy="Replace", multiply_by=GPU, outputs_milli={MEMORY: 1000}
        ),
    )
    asked = {GPU: 2, "x.io/memory": 512, MEMORY: 7}
    assert quota_amounts(asked, allowance) == {GPU: 2, MEMORY: 7}


NAMES = st.sampled_from(["cpu", "memory", GPU, "a.io/x", "a.io/y"])
REQUESTS = st.dictionaries(NAMES, st.integers(0, 10**6), max_size=5)
TRANSFORMATIONS = st.lists(
    st.builds(
        Transformation,
        input=NAMES,
        strategy=st.sampled_from(["Retain", "Replace"]),
        outputs_milli=st.dictionaries(NAMES, st.integers(-5000, 10**6), max_size=3),
        multiply_by=st.one_of(st.just(""), NAMES),
    ),
    max_size=5,
    unique_by=lambda transformation: transformation.input,
)


@given(REQUESTS, TRANSFORMATIONS, st.randoms())
def test_the_order_of_rules_and_requests_does_not_matter(
    requests: dict[str, int], given_rules: list[Transformation], random: Any
) -> None:
    mixed, names = list(given_rules), list(requests)
    random.shuffle(mixed)
    random.shuffle(names)
    shuffled = {name: requests[name] for name in names}
    assert quota_amounts(shuffled, rules(*mixed)) == quota_amounts(requests, rules(*given_rules))


@given(REQUESTS, TRANSFORMATIONS)
def test_amounts_are_exact_and_never_negative(
    requests: dict[str, int], given_rules: list[Transformation]
) -> None:
    found = quota_amounts(requests, rules(*given_rules))
    assert all(amount >= 0 for amount in found.values())
    for name, amount in found.items():
        plain = 0 if any(_replaces(rule, name) for rule in given_rules) else requests.get(name, 0)
        exact = sum((_exactly(rule, requests, name) for rule in given_rules), Fraction(0))
        assert plain + max(Fraction(0), exact) <= amount < plain + max(Fraction(0), exact) + 1


@given(REQUESTS, TRANSFORMATIONS, st.integers(2, 9))
def test_no_resource_appears_without_a_request_or_quota(
    requests: dict[str, int], given_rules: list[Transformation], times: int
) -> None:
    outputs = {name for rule in given_rules for name in rule.outputs_milli}
    assert set(quota_amounts(requests, rules(*given_rules))) <= {*requests, *outputs}
    more = {name: amount * times for name, amount in requests.items()}
    assert set(quota_amounts(more, rules(*given_rules))) == set(
        quota_amounts(requests, rules(*given_rules))
    )


def _replaces(rule: Transformation, name: str) -> bool:
    return rule.input == name and rule.strategy == "Replace"


def _exactly(rule: Transformation, requests: dict[str, int], name: str) -> Fraction:
    """Quantities in units, multiplied as a person would, and the result as it is counted."""
    if rule.input not in requests or name not in rule.outputs_milli:
        return Fraction(0)
    units = _in_units(rule.input, requests)
    if rule.multiply_by in requests:
        units *= _in_units(rule.multiply_by, requests)
    return units * Fraction(rule.outputs_milli[name], 1000) * (1000 if name == "cpu" else 1)


def _in_units(name: str, requests: dict[str, int]) -> Fraction:
    return Fraction(requests[name], 1000 if name == "cpu" else 1)
