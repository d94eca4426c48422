"""The addresses of every page, with objects of a running Headgate where a page is about one."""

from headgate.client.client import HeadgateClient
from tests.browser.cluster import Object

FIXED = {
    "overview": ("/", "Overview"),
    "needs-attention": ("/attention", "Needs attention"),
    "workloads": ("/workloads", "Workloads"),
    "queues": ("/queues", "Queues"),
    "topology": ("/topology", "Topology"),
    "preemptions": ("/preemptions", "Preemptions"),
    "submit": ("/submit?template=gang", "Submit"),
    "simulations": ("/simulations", "Simulations"),
    "simulator": ("/simulations/new", "Simulator"),
    "backtests": ("/simulations/backtest", "Backtests"),
    "policy-lab": ("/simulations/lab", "Policy lab"),
    "configuration": ("/configuration", "Configuration"),
    "history": ("/configuration?view=changes", "All changes"),
    "events": ("/events", "Event log"),
    "cycles": ("/cycles", "Scheduling cycles"),
    "executors": ("/executors", "Executors"),
    "missing": ("/nowhere", "Page not found"),
}


def every_page(client: HeadgateClient) -> dict[str, tuple[str, str]]:
    """A short name for each page, to its address and its heading (empty where it has none)."""
    found = dict(FIXED)
    found["workloads-grouped"] = ("/workloads?group=clusterQueue", "Workloads")
    _add_workloads(found, client)
    for queue in _first(client, "/v1/clusterqueues"):
        name = queue["metadata"]["name"]
        found["queue"] = (f"/queues/{name}", name)
        for view in ("admitted", "doors", "usage", "waits", "definition", "history"):
            found[f"queue-{view}"] = (f"/queues/{name}?view={view}", name)
        configured = f"/configuration/ClusterQueue/{name}"
        found["configuration-object"] = (configured, "Configuration")
        for tab in ("form", "uses", "history"):
            found[f"configuration-{tab}"] = (f"{configured}?tab={tab}", "Configuration")
    for node in _first(client, "/v1/nodes"):
        found["node"] = (f"/nodes/{node['metadata']['name']}", node["metadata"]["name"])
        found["topology-host"] = (f"/topology?host={node['metadata']['name']}", "Topology")
    for one in _first(client, "/v1/preemptions"):
        found["round"] = (f"/preemptions/{one['id']}", "")
    for one in _first(client, "/v1/cycles"):
        found["cycle"] = (f"/cycles/{one['id']}", "")
    for one in _first(client, "/v1/backtests"):
        found["backtest"] = (f"/simulations/{one['id']}", "")
    for one in _first(client, "/v1/simulations", {"kind": "Workload,Change"}):
        found["simulation"] = (f"/simulations/{one['id']}", "")
    for executor in _first(client, "/v1/executors"):
        name = executor["metadata"]["name"]
        found["executor"] = (f"/executors/{name}", name)
    for event in _first(client, "/v1/events"):
        found["event"] = (f"/events?open={event['position']}", "Event log")
    return found


def _add_workloads(found: dict[str, tuple[str, str]], client: HeadgateClient) -> None:
    for phase in ("Pending", "Running", "Failed", "Inactive"):
        for workload in _first(client, "/v1/workloads", {"phase": phase}):
            metadata = workload["metadata"]
            key = f"{metadata['namespace']}/{metadata['name']}"
            found[f"workload-{phase.lower()}"] = (f"/workloads/{key}", key)
            if phase == "Pending":
                found["workloads-panel"] = (f"/workloads?panel={key}", "Workloads")
                found["simulator-workload"] = (f"/simulations/new?workload={key}", "Simulator")
            if phase == "Running":
                for tab in ("pods", "logs", "timeline", "manifest"):
                    found[f"workload-{tab}"] = (f"/workloads/{key}?tab={tab}", key)


def _first(client: HeadgateClient, path: str, query: dict[str, str] | None = None) -> list[Object]:
    """At most one object of a list."""
    items: list[Object] = client.read(path, {"limit": "1", **(query or {})})["items"]
    return items[:1]
