"""Kubernetes quantities, exact both ways, and names."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.field_rules import (
    broken_rule_of_dns_label,
    broken_rule_of_label_key,
    broken_rule_of_label_value,
    broken_rule_of_name,
)
from headgate.domain.rejection import child, lies_within, moved
from headgate.domain.values.quantities import (
    MAX_AMOUNT,
    NotAQuantity,
    amount_of,
    amount_of_nanos,
    is_gpu,
    milli_of,
    milli_quantity,
    nanos_of,
    quantity_of,
    scaled,
)


@pytest.mark.parametrize(
    ("resource", "is_one"),
    [
        ("nvidia.com/gpu", True),
        ("amd.com/gpu", True),
        ("gpu", True),
        ("nvidia.com/gpu.shared", False),
        ("example.com/tgpu", False),
        ("requests.nvidia.com/gpu-memory", False),
        ("cpu", False),
    ],
)
def test_gpus_are_the_resources_that_have_this_name_in_whatever_domain(
    resource: str, *, is_one: bool
) -> None:
    assert is_gpu(resource) is is_one


RESOURCES = st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi"])


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        ("cpu", "500m", 500),
        ("cpu", "0.5", 500),
        ("cpu", "2", 2000),
        ("cpu", "1e3", 1_000_000),
        ("cpu", "100u", 1),
        ("cpu", "1n", 1),
        ("cpu", "0", 0),
        ("cpu", "-1", -1000),
        ("memory", "4Gi", 4 * 2**30),
        ("memory", "1.5Gi", 3 * 2**29),
        ("memory", "1G", 10**9),
        ("memory", "1k", 1000),
        ("memory", "100m", 1),
        ("memory", "12E", 12 * 10**18 if MAX_AMOUNT >= 12 * 10**18 else None),
        ("memory", "1E2", 100),
        ("memory", "7Ei", 7 * 2**60),
        ("nvidia.com/gpu", "8", 8),
        ("nvidia.com/gpu", "0.5", 1),
        ("nvidia.com/gpu", ".5", 1),
        ("nvidia.com/gpu", "5.", 5),
        ("nvidia.com/gpu", "+5", 5),
    ],
)
def test_a_quantity_is_an_exact_amount(resource: str, text: str, amount: int | None) -> None:
    if amount is None:
        with pytest.raises(NotAQuantity):
            amount_of(resource, text)
    else:
        assert amount_of(resource, text) == amount


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "abc",
        "1 Gi",
        "1GiB",
        "1gi",
        "0x10",
        "1e",
        "1e999",
        "٣",
        "1" * 65,
        "9e18k",
        "--1",
        "inf",
    ],
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(NotAQuantity):
        amount_of("memory", text)


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 500, "500m"),
        ("cpu", 2000, "2"),
        ("cpu", 1500, "1500m"),
        ("cpu", 2_000_000, "2k"),
        ("memory", 4 * 2**30, "4Gi"),
        ("memory", 1536 * 2**20, "1536Mi"),
        ("memory", 1000, "1000"),
        ("memory", 0, "0"),
        ("nvidia.com/gpu", 8, "8"),
        ("nvidia.com/gpu", 3000, "3k"),
    ],
)
def test_an_amount_is_written_canonically(resource: str, amount: int, text: str) -> None:
    assert quantity_of(resource, amount) == text


@given(RESOURCES, st.integers(-MAX_AMOUNT, MAX_AMOUNT))
def test_what_is_written_reads_back_the_same(resource: str, amount: int) -> None:
    assert amount_of(resource, quantity_of(resource, amount)) == amount


@given(st.decimals(0, 10**9, places=6))
def test_amounts_are_rounded_up_and_never_by_a_whole_unit(number: Decimal) -> None:
    amount = amount_of("memory", str(number))
    assert number <= amount < number + 1
    assert milli_of(str(number)) == math.ceil(number * 1000)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=5))
def test_a_sum_is_rounded_once(micros: list[int]) -> None:
    total = sum(nanos_of(f"{micro}u") for micro in micros)
    assert amount_of_nanos("cpu", total) == -(-sum(micros) // 1000)


@given(st.text(max_size=12))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    try:
        amount_of("cpu", text)
    except NotAQuantity:
        return


def test_a_weight_is_written_in_thousandths() -> None:
    assert [milli_quantity(weight) for weight in (0, 500, 1000, 2500)] == [
        "0",
        "500m",
        "1",
        "2500m",
    ]


@pytest.mark.parametrize(
    ("text", "is_label", "is_name", "is_key", "is_value"),
    [
        ("train-7", True, True, True, True),
        ("a.b", False, True, True, True),
        ("Upper", False, False, True, True),
        ("", False, False, False, True),
        ("-a", False, False, False, False),
        ("a" * 64, False, True, False, False),
        ("a" * 254, False, False, False, False),
        ("example.com/gpu", False, False, True, False),
        ("a/b/c", False, False, False, False),
        ("/b", False, False, False, False),
        ("tab\n", False, False, False, False),
        ("ä", False, False, False, False),
    ],
)
def test_names_follow_the_rules_of_kubernetes(
    text: str, is_label: bool, is_name: bool, is_key: bool, is_value: bool
) -> None:
    assert (broken_rule_of_dns_label(text) is None) == is_label
    assert (broken_rule_of_name(text) is None) == is_name
    assert (broken_rule_of_label_key(text) is None) == is_key
    assert (broken_rule_of_label_value(text) is None) == is_value


def test_pointers_escape_and_move() -> None:
    assert child("/a", "b/c", 1, "d~e") == "/a/b~1c/1/d~0e"
    assert lies_within("/a/b", "/a")
    assert not lies_within("/ab", "/a")
    places = (("/spec/podSets/0/count", "/spec/parallelism"), ("/spec/podSets", "/x"))
    assert moved("/spec/podSets/0/count", places) == "/spec/parallelism"
    assert moved("/spec/podSets/1/count", places) == "/x/1/count"
    assert moved("/spec/other", places) == "/spec/other"


@given(st.integers(-(2**70), 2**70), st.integers(0, 2**31))
def test_what_many_pods_ask_for_stays_within_what_can_be_counted(amount: int, count: int) -> None:
    (total,) = scaled({"cpu": amount}, count).values()
    exact = amount * count
    assert total == exact or (exact < 0 == total) or (total == MAX_AMOUNT < exact)
