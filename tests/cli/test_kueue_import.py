"""Workloads that run under Kueue run on under Headgate: on their hosts, with what they hold."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from headgate.client.client import HeadgateClient
from headgate.client.schemas import domains_of
from tests.cli.invocation import Invoker
from tests.cli.kueue_dumps import KueueCluster, Object, an_object, as_kubectl_writes, condition
from tests.cli.test_replay_and_verify import assert_verified

FORBIDDEN, REFUSED = 4, 8
FEW_HOSTS, FEW_PENDING = 8, 5
MANY_HOSTS, MANY_ADMITTED = 668, 2_000


def take_over(headgate: Invoker, objects: list[Object], *options: str, code: int = 0) -> Result:
    Path("dump.yaml").write_text(as_kubectl_writes(objects))
    return headgate("import", "kueue", "dump.yaml", *options, code=code)


def workloads(client: HeadgateClient, cluster: KueueCluster) -> dict[str, Object]:
    found = client.items(f"/v1/namespaces/{cluster.namespace}/workloads")
    return {str(one["metadata"]["name"]): one for one in found}


def admission_of(found: Object) -> Any:
    """ClusterQueue, flavors, usage and hosts in the order of ranks."""
    given = found["status"]["admission"]
    sets = [
        (one["name"], one["flavors"], one["resourceUsage"], domains_of(one["topologyAssignment"]))
        for one in given["podSetAssignments"]
    ]
    return given["clusterQueue"], sets


def types_of(client: HeadgateClient, workload: Object) -> list[str]:
    metadata = workload["metadata"]
    stream = f"workload/{metadata['namespace']}/{metadata['name']}"
    return [one["type"] for one in client.read("/v1/events", {"stream": stream})["items"]][::-1]


def require_taken_over(headgate: Invoker, client: HeadgateClient, cluster: KueueCluster) -> None:
    """Every admitted workload runs where it ran, and every pending one waits in its turn."""
    found = workloads(client, cluster)
    pending = []
    for one in cluster.workloads:
        here = found[one["metadata"]["name"]]
        if one["status"].get("admission"):
            assert admission_of(here) == admission_of(one)
            assert here["status"]["phase"] == "Running"
        else:
            pending.append(one["metadata"]["name"])
        assert here["metadata"]["creationTimestamp"] == one["metadata"]["creationTimestamp"]
        assert here["metadata"]["uid"] == one["metadata"]["uid"]
    if pending:
        headgate(
            "wait",
            f"{cluster.namespace}/{pending[0]}",
            "--for",
            "condition=QuotaReserved=false",
            "--timeout",
            "60s",
        )
    queue = client.read(f"/v1/clusterqueues/{cluster.name}-first/pendingworkloads")
    assert [one["metadata"]["name"] for one in queue["items"]] == pending
    evicted = client.read("/v1/events", {"type": "workload.evicted", "limit": "1"})
    assert evicted["items"] == []


def test_what_runs_in_kueue_runs_on_where_it_is(
    headgate: Invoker, client: HeadgateClient, database_url: str
) -> None:
    # Given hosts that are full, and workloads that wait for them
    cluster = KueueCluster("whole", FEW_HOSTS)
    cluster.fill()
    for _ in range(FEW_PENDING):
        cluster.submit()

    # When it is only tried, nothing changes
    tried = take_over(headgate, cluster.objects(), "--dry-run")
    assert "24 admitted, 15 configured created, 5 pending (dry run)" in tried.stderr
    assert "workload/team-whole/whole-0 admitted (dry run)" in tried.stdout
    assert workloads(client, cluster) == {}

    # When it is taken over, everything stands as it stood
    done = take_over(headgate, cluster.objects())
    assert "24 admitted, 15 configured created, 5 pending" in done.stderr
    assert "Usage differs" not in done.stderr
    require_taken_over(headgate, client, cluster)
    assert_verified(database_url)

    # When it is taken over again, nothing happens
    before = workloads(client, cluster)
    again = take_over(headgate, cluster.objects())
    assert "15 configured unchanged, 29 unchanged" in again.stderr
    assert workloads(client, cluster) == before


@pytest.mark.nightly
def test_two_thousand_workloads_are_taken_over_without_an_eviction(
    headgate: Invoker, client: HeadgateClient, database_url: str
) -> None:
    cluster = KueueCluster("many", MANY_HOSTS)
    cluster.fill()
    assert len([one for one in cluster.workloads if one["status"]["admission"]]) >= MANY_ADMITTED
    for _ in range(FEW_PENDING):
        cluster.submit()
    take_over(headgate, cluster.objects())
    require_taken_over(headgate, client, cluster)
    assert_verified(database_url)


def test_more_than_the_quota_runs_on_and_nothing_new_starts(
    headgate: Invoker, client: HeadgateClient, database_url: str
) -> None:
    cluster = KueueCluster("over", 2, nominal_hosts=0)
    running = cluster.admit({cluster.hosts[0]: 2})
    waiting = cluster.submit()
    take_over(headgate, cluster.objects())
    require_taken_over(headgate, client, cluster)
    assert types_of(client, running) == [
        "workload.submitted",
        "workload.imported",
        "workload.quota_reserved",
        "workload.admitted",
        "workload.pods_ready",
    ]
    headgate("why", f"{waiting['metadata']['namespace']}/{waiting['metadata']['name']}")
    assert_verified(database_url)


def test_the_end_of_what_was_taken_over_lets_the_next_start(
    headgate: Invoker, client: HeadgateClient, database_url: str
) -> None:
    cluster = KueueCluster("next", 1)
    running = cluster.admit({cluster.hosts[0]: 4})
    first, second = cluster.submit(), cluster.submit(4)
    take_over(headgate, cluster.objects())
    name = running["metadata"]["name"]
    path = f"/v1/namespaces/{cluster.namespace}/workloads/{name}/finished"
    client.act(path, {"uid": running["metadata"]["uid"], "attempt": 1, "succeeded": True})
    headgate(
        "wait", f"{cluster.namespace}/{first['metadata']['name']}", "--for", "condition=Admitted"
    )
    assert workloads(client, cluster)[second["metadata"]["name"]]["status"]["phase"] == "Pending"
    assert_verified(database_url)


def test_what_is_not_taken_over_is_said(headgate: Invoker, client: HeadgateClient) -> None:
    cluster = KueueCluster("told", 1)
    evicting, finished = cluster.admit({cluster.hosts[0]: 1}), cluster.submit()
    lost, away = cluster.admit({"nowhere": 1}), cluster.submit()
    counted = cluster.admit({cluster.hosts[0]: 1})
    evicting["status"]["conditions"].append(condition("Evicted", 0, reason="Preempted"))
    finished["status"]["conditions"].append(condition("Finished", 1, reason="Succeeded"))
    counted["status"]["schedulingStats"] = {"evictions": [{"reason": "Preempted", "count": 2}]}
    away["spec"]["queueName"] = "gone"
    config = an_object("MultiKueueConfig", "several", spec={"clusters": ["a"]})

    done = take_over(headgate, [config, *cluster.objects()], code=REFUSED)

    told = done.stderr
    assert "1 object of kind MultiKueueConfig, which has no equal" in told
    assert "1 finished workload" in told
    assert "being evicted (Preempted)" in told
    assert "Node nowhere does not exist" in told
    assert "schedulingStats has no effect here" in told
    assert "LocalQueue gone does not exist" in told
    found = workloads(client, cluster)
    names = {one["metadata"]["name"] for one in (counted, away)}
    assert set(found) == names
    assert lost["metadata"]["name"] not in found


def test_a_workload_that_waits_for_checks_goes_on_waiting(
    headgate: Invoker, client: HeadgateClient
) -> None:
    cluster = KueueCluster("checks", 1)
    cluster.checks = ["budget", "image"]
    reserved = cluster.admit({cluster.hosts[0]: 1})
    reserved["status"]["conditions"] = [condition("QuotaReserved", 0)]
    reserved["status"]["admissionChecks"] = [
        {"name": "budget", "state": "Ready", "message": "granted", "lastTransitionTime": "x"},
        {"name": "image", "state": "Pending", "message": ""},
    ]
    take_over(headgate, cluster.objects())
    here = workloads(client, cluster)[reserved["metadata"]["name"]]
    assert here["status"]["phase"] == "QuotaReserved"
    assert {one["name"]: one["state"] for one in here["status"]["admissionChecks"]} == {
        "budget": "Ready", "image": "Pending",
    }  # fmt: skip


def test_only_administrators_take_over(headgate: Invoker, client: HeadgateClient) -> None:
    cluster = KueueCluster("role", 1)
    cluster.admit({cluster.hosts[0]: 1})
    role = ("--role", "submitter", "-n", cluster.namespace)
    secret = headgate("token", "create", "of-a-team", *role).stdout.strip()
    dump = as_kubectl_writes([one for one in cluster.workloads if one["kind"] == "Workload"])
    Path("workloads.yaml").write_text(dump)
    told = headgate("--token", secret, "import", "kueue", "workloads.yaml", code=FORBIDDEN)
    assert "may not configure workloads" in told.stderr
    assert workloads(client, cluster) == {}
