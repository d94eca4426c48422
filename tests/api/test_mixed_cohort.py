"""One cohort with flavors on three engines, each with an executor of its own.

Each executor sees its own pods alone; a preemption on one engine makes room for the queue to which
the quota belongs. The processes behind it are real in tests/executors/test_mixed_installation.py.
"""

from collections.abc import Callable
from typing import Any

import pytest

from headgate.bootstrap import Platform
from tests.api.callers import Api, flavor, local_queue
from tests.api.test_executor_pods import CurrentApi, a_kueue_object, about, item_of, report
from tests.api.test_executor_protocol import HOST, RACK, Process, a_node, an_executor

ENGINES = ("rack", "slurm", "kube")
QUOTAS = {"research": {"rack": "1", "slurm": "0", "kube": "1"}, "production": {"slurm": "1"}}


@pytest.fixture(scope="module")
def admin(admin: Api, platform: Platform) -> Api:
    return CurrentApi(admin, platform)


@pytest.fixture(scope="module")
def engines(admin: Api, callers: dict[str, Api], platform: Platform) -> dict[str, Process]:
    levels = {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOST}]}
    admin.post("/v1/topologies", a_kueue_object("Topology", "racks", levels))
    for name in ENGINES:
        made = flavor(name, topologyName="racks", nodeLabels={"pool": name})
        assert admin.post("/v1/resourceflavors", made).status_code == 201
    for queue, quotas in QUOTAS.items():
        flavors = [
            {"name": name, "resources": [{"name": "cpu", "nominalQuota": amount}]}
            for name, amount in quotas.items()
        ]
        spec = {
            "cohortName": "fleet",
            "namespaceSelector": {},
            "preemption": {"reclaimWithinCohort": "Any"},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        }
        answer = admin.post("/v1/clusterqueues", a_kueue_object("ClusterQueue", queue, spec))
        assert answer.status_code == 201, answer.text
        admin.post("/v1/namespaces/team-a/localqueues", local_queue(queue, queue))
    found = {}
    for name in ENGINES:
        assert admin.post("/v1/executors", an_executor(name)).status_code == 201
        found[name] = Process(CurrentApi(callers["executor"], platform), name)
        found[name].register(a_node(f"{name}-1", name))
    return found


def assigned(engines: dict[str, Process]) -> dict[str, dict[str, bool]]:
    """What each engine is to run, and whether it is to stop it."""
    return {
        name: {
            item["workload"].partition("/")[2]: item.get("eviction") is not None
            for item in process.get("assignments").json()["items"]
        }
        for name, process in engines.items()
    }


def test_a_workload_starts_on_the_next_engine_and_preemption_frees_quota_across_them(
    engines: dict[str, Process],
    submitted: Callable[..., dict[str, Any]],
    schedule: Callable[[], int],
) -> None:
    pod = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    pod_sets = [{"name": "main", "count": 1, "template": {"spec": pod}}]
    for name in ("first", "second", "third"):
        submitted(name, "research", podSets=pod_sets)
    assert assigned(engines) == {
        "rack": {"first": False},
        "slurm": {"second": False},
        "kube": {"third": False},
    }
    urgent = submitted("urgent", "production", podSets=pod_sets)
    assert urgent["status"]["phase"] == "Nominated"
    assert assigned(engines) == {
        "rack": {"first": False},
        "slurm": {"second": True},
        "kube": {"third": False},
    }
    victim = item_of(engines["slurm"], "second")
    assert report(engines["slurm"], about(victim, 0, "stopped")) == [True]
    schedule()
    assert assigned(engines)["slurm"] == {"urgent": False}
    assert report(engines["rack"], *ended(item_of(engines["rack"], "first"))) == [True] * 3
    schedule()
    assert assigned(engines) == {
        "rack": {"second": False},
        "slurm": {"urgent": False},
        "kube": {"third": False},
    }


def ended(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Reports of a pod that has run and succeeded."""
    end = about(item, 0, "finished", reason="Completed", exitCode=0)
    return [about(item, 0, "started"), about(item, 0, "ready"), end]
