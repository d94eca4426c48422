"""Topology assignments as Kueue's v1beta2 and v1beta1 write them (topology.md §1.5)."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headgate.adapters.manifests.topology_requests import (
    MAX_SLICES,
    in_domains,
    rendered_topology_assignment,
)
from headgate.client.schemas import domains_of
from headgate.domain.workloads.admission import TopologyAssignment, TopologyDomain

HOSTNAME = "kubernetes.io/hostname"
Domains = list[tuple[tuple[str, ...], int]]


def rendered(domains: Domains, levels: tuple[str, ...] = (HOSTNAME,)) -> dict[str, Any]:
    given_domains = (TopologyDomain(values=values, count=count) for values, count in domains)
    return rendered_topology_assignment(
        TopologyAssignment(levels=levels, domains=tuple(given_domains))
    )


def on_hosts(**pods: int) -> Domains:
    return [((name.replace("_", "-"),), count) for name, count in pods.items()]


def test_hosts_of_one_prefix_are_one_slice_with_what_they_have_in_common() -> None:
    found = rendered(on_hosts(gpu_1_dc=4, gpu_2_dc=4, gpu_31_dc=4))
    assert found == {
        "levels": [HOSTNAME],
        "slices": [
            {
                "domainCount": 3,
                "valuesPerLevel": [
                    {"individual": {"prefix": "gpu-", "suffix": "-dc", "roots": ["1", "2", "31"]}}
                ],
                "podCounts": {"universal": 4},
            }
        ],
    }


def test_a_value_that_all_domains_share_is_written_once() -> None:
    (part,) = rendered([(("b1", "r1"), 2), (("b1", "r2"), 1)], ("block", "rack"))["slices"]
    assert part["valuesPerLevel"] == [
        {"universal": "b1"},
        {"individual": {"prefix": "r", "roots": ["1", "2"]}},
    ]
    assert part["podCounts"] == {"individual": [2, 1]}


def test_runs_of_long_prefixes_are_slices_where_that_is_shorter() -> None:
    pools = ("east-training-accelerators-pool-", "west-inference-accelerators-pool-")
    domains: Domains = [((f"{pool}{n:02}",), 8) for pool in pools for n in range(20)]
    parts = rendered(domains)["slices"]
    assert [part["domainCount"] for part in parts] == [20, 20]
    assert [part["valuesPerLevel"][0]["individual"]["prefix"][:4] for part in parts] == [
        "east",
        "west",
    ]


def test_no_more_slices_than_kueue_allows() -> None:
    """Prefixes lose their last part until the runs are few enough."""
    domains: Domains = [
        ((f"a-long-name-of-a-pool-of-hosts-{n}-{one}",), 1) for n in range(1_500) for one in "xy"
    ]
    found = rendered(domains)
    assert len(found["slices"]) <= MAX_SLICES
    assert domains_of(found) == domains


NAMES = st.from_regex(r"[ab]{1,2}(-[ab1]{1,2}){0,3}", fullmatch=True)
DOMAINS = st.lists(
    st.tuples(st.tuples(st.sampled_from(["r1", "r10", "r2"]), NAMES), st.integers(1, 3)),
    min_size=1,
    max_size=12,
)


@given(DOMAINS)
def test_both_forms_have_the_same_domains_in_the_same_order(domains: Domains) -> None:
    found = rendered(domains, ("rack", HOSTNAME))
    assert domains_of(found) == domains
    assert domains_of(in_domains(found)) == domains
    for part in found["slices"]:
        for level in part["valuesPerLevel"]:
            assert all(level.get("individual", {"roots": ["-"]})["roots"]), "no root is empty"
