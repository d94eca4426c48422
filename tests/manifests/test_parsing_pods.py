"""Workload manifests: what their pods ask for, and of which nodes."""

from typing import Any

import pytest

from headgate.domain.values.selectors import (
    NodeSelectorTerm,
    PreferredTerm,
    Requirement,
    Toleration,
)
from tests.manifests.readers import a_manifest, refused
from tests.manifests.workloads import TEMPLATE, a_workload_manifest, spec_of


def requests_of(spec: dict[str, Any]) -> dict[str, int]:
    return spec_of({"template": {"spec": spec}}).pod_sets[0].scheduling.requests


def asking(**requests: Any) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


def test_containers_are_added_up() -> None:
    two = [asking(cpu="500m", memory="1Gi"), asking(cpu=1)]
    assert requests_of({"containers": two}) == {"cpu": 1500, "memory": 2**30}


def test_limits_stand_in_for_missing_requests() -> None:
    container = {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "gpu": 1}}}
    assert requests_of({"containers": [container]}) == {"cpu": 1000, "gpu": 1}


def test_initialisation_counts_where_it_is_hungrier() -> None:
    pod = {"containers": [asking(cpu=1)], "initContainers": [asking(cpu=3), asking(cpu=2)]}
    assert requests_of(pod) == {"cpu": 3000}


def test_sidecars_count_beside_containers_and_beside_later_initialisation() -> None:
    sidecar = asking(cpu=1) | {"restartPolicy": "Always"}
    pod = {"containers": [asking(cpu=2)], "initContainers": [asking(cpu=3), sidecar]}
    assert requests_of(pod) == {"cpu": 3000}
    pod = {"containers": [asking(cpu=2)], "initContainers": [sidecar, asking(cpu=3)]}
    assert requests_of(pod) == {"cpu": 4000}
    pod = {"containers": [asking(cpu=5)], "initContainers": [sidecar, asking(cpu=3)]}
    assert requests_of(pod) == {"cpu": 6000}


def test_overhead_comes_on_top() -> None:
    pod = {"containers": [asking(cpu=1)], "overhead": {"cpu": "250m", "memory": "64Mi"}}
    assert requests_of(pod) == {"cpu": 1250, "memory": 64 * 2**20}


def test_the_greater_of_the_whole_pod_and_its_containers_counts() -> None:
    pod = {
        "containers": [asking(cpu=1, gpu=1)],
        "resources": {"requests": {"cpu": 4}, "limits": {"memory": "1Gi"}},
    }
    assert requests_of(pod) == {"cpu": 4000, "gpu": 1, "memory": 2**30}


def test_a_sum_of_parts_is_rounded_up_once() -> None:
    assert requests_of({"containers": [asking(cpu="100u")] * 15}) == {"cpu": 2}


@pytest.mark.parametrize(
    ("resources", "pointer"),
    [
        ({"requests": {"cpu": "one"}}, "/requests/cpu"),
        ({"requests": {"cpu": True}}, "/requests/cpu"),
        ({"requests": {"cpu": -1}}, "/requests/cpu"),
        ({"limits": {"pods": 1}}, "/limits/pods"),
        ({"requests": {"cpu": 2}, "limits": {"cpu": 1}}, "/requests"),
        ({"request": {}}, "/request"),
        ({"requests": []}, "/requests"),
    ],
)
def test_bad_resources_are_reported_where_they_stand(
    resources: dict[str, Any], pointer: str
) -> None:
    template = {"spec": {"containers": [{"resources": resources}]}}
    place = "/spec/podSets/0/template/spec/containers/0/resources"
    assert list(refused(a_workload_manifest({"template": template}))) == [place + pointer]


def test_misspelt_fields_of_pods_are_found_and_known_ones_kept() -> None:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "restartPolicy": "Never",
            "nodeSelectr": {},
            "containers": [{"name": "c", "image": "i", "comand": ["x"]}],
        },
    }
    found = refused(a_workload_manifest({"template": template}))
    pod = "/spec/podSets/0/template/spec"
    assert list(found) == [f"{pod}/containers/0/comand", f"{pod}/nodeSelectr"]
    assert "Did you mean command?" in found[f"{pod}/containers/0/comand"]


def test_a_pod_set_has_a_template_with_a_container() -> None:
    manifest = a_manifest("Workload", spec={"podSets": [{"name": "main"}]})
    assert "/spec/podSets/0/template" in refused(manifest)
    empty = a_workload_manifest({"template": {"spec": {}}})
    assert list(refused(empty)) == ["/spec/podSets/0/template/spec/containers"]


def test_nodes_are_chosen_by_selector_tolerations_and_affinity() -> None:
    pod = TEMPLATE["spec"] | {
        "nodeSelector": {"pool": "gpu"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 5}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["5"]}]}
                    ]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 7, "preference": {"matchFields": []}}
                ],
            },
            "podAffinity": {},
        },
    }
    found = refused(a_workload_manifest({"template": {"spec": pod}}, typo=1))
    assert list(found) == ["/spec/typo"]
    scheduling = spec_of({"template": {"spec": pod}}).pod_sets[0].scheduling
    greater = Requirement(key="a", operator="Gt", values=("5",))
    assert scheduling.node_selector == {"pool": "gpu"}
    assert scheduling.tolerations == (Toleration(key="gpu", operator="Exists", seconds=5),)
    assert scheduling.affinity == (NodeSelectorTerm(match_expressions=(greater,)),)
    assert scheduling.preferred_affinity == (PreferredTerm(weight=7, term=NodeSelectorTerm()),)
