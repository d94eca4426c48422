"""Taking work and changes of tests away, so that the small cluster is free and as configured."""

from headgate.client.client import HeadgateClient
from headgate.client.schemas import Report
from tests.browser.cluster import HOSTS, configuration
from tests.processes.programs import wait_until


def clear(client: HeadgateClient) -> None:
    """Delete every workload, make every host usable and every object what it was."""
    client.apply_objects(configuration())
    for host in HOSTS:
        client.act(f"/v1/nodes/{host}/uncordon", {"reason": "the tests of a file are over"})
    wait_until(lambda: _is_empty(client), "the cluster is empty")


def _is_empty(client: HeadgateClient) -> bool:
    # With all that the log has: what a test has just submitted must not stay for the next file.
    found = list(client.items("/v1/workloads", {"minPosition": str(client.head())}))
    for workload in found:
        namespace, name = workload["metadata"]["namespace"], workload["metadata"]["name"]
        if workload["status"]["phase"] == "Evicting":
            uid, attempt = workload["metadata"]["uid"], workload["status"]["attempt"]
            stopped = Report(
                workload=f"{namespace}/{name}", uid=uid, attempt=attempt, type="stopped"
            )
            client.report([stopped])
        else:
            client.remove(f"/v1/namespaces/{namespace}/workloads/{name}")
    return not found
