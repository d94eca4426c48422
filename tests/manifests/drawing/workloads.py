"""Random workload manifests."""

from typing import Any

from hypothesis import strategies as st

from tests.manifests.drawing.values import LABELS, NAMES, RESOURCES, SECONDS

_QUANTITIES = st.sampled_from([1, "2", "500m", 0.25, "4Gi", "1e3", "100u"])
_CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={
            "resources": st.fixed_dictionaries(
                {"requests": st.dictionaries(st.sampled_from(RESOURCES), _QUANTITIES, max_size=3)}
            ),
            "image": NAMES,
            "args": st.lists(st.text(alphabet="-xyz ", max_size=5), max_size=2),
        },
    ),
    min_size=1,
    max_size=3,
)


POLICY = {
    "limitPerIndex": 2,
    "maxFailedIndexes": 3,
    "backoffBaseSeconds": 0,
    "rules": [
        {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [0, 3]}},
        {"action": "FailWorkload", "onSignals": [9]},
        {"action": "RetryWorkload", "onReasons": ["OOMKilled"]},
        {"action": "Ignore"},
    ],
}
"""A retryPolicy with a rule of each condition."""

RETRIES = st.fixed_dictionaries(
    {
        "retryPolicy": st.sampled_from([None, {}, {"limit": 0}, POLICY]),
        "successPolicy": st.sampled_from([None, {"rules": [{"succeededCount": 2}]}]),
        "ttlSecondsAfterFinished": st.sampled_from([None, 0, 60]),
    }
)


@st.composite
def workload_manifests(draw: st.DrawFn) -> dict[str, Any]:
    """A Workload manifest that breaks no rule."""
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    size = draw(st.integers(1, 4))
    topologies: list[dict[str, Any] | None] = [
        None,
        {"required": "a.io/rack"},
        {"preferred": "rack", "balanced": True},
        {"unconstrained": True},
        {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": size},
        {
            "podsetSliceRequiredTopologyConstraints": [
                {"topology": "block", "size": 2 * size},
                {"topology": "rack", "size": size},
            ]
        },
    ]
    pod_sets = [
        {
            "name": name,
            "count": 4 * size,
            "completions": draw(st.sampled_from([None, 4 * size, 100])),
            "template": {
                "metadata": {"labels": draw(LABELS)},
                "spec": {
                    "containers": draw(_CONTAINERS),
                    "initContainers": draw(_CONTAINERS),
                    "nodeSelector": draw(LABELS),
                },
            },
            "topologyRequest": draw(st.sampled_from(topologies)),
            "disruptionMode": draw(st.sampled_from(["All", "Single", "Replica"])),
        }
        for name in names
    ]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": draw(NAMES), "namespace": draw(NAMES), "labels": draw(LABELS)},
        "spec": {
            "podSets": pod_sets,
            "queueName": draw(NAMES),
            "priority": draw(st.integers(-9, 9)),
            "preemptibility": draw(st.sampled_from(["Preemptible", "NonPreemptible"])),
            "canPreempt": draw(st.booleans()),
            "preemptionPolicy": draw(st.sampled_from(["PreemptLowerPriority", "Never"])),
            "preemptionGates": draw(st.sampled_from([[], [{"name": "a.io/b"}]])),
            "evictionPolicy": draw(
                st.sampled_from(
                    [
                        None,
                        {"mode": "Immediate"},
                        {"gracePeriodSeconds": 5, "requireAck": True, "handler": "h"},
                    ]
                )
            ),
            "active": draw(st.booleans()),
            "maximumExecutionTimeSeconds": draw(st.one_of(st.none(), SECONDS)),
            **draw(RETRIES),
        },
    }
