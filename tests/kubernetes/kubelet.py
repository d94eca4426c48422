"""The scheduler and the kubelets of the double: they bind pods and play their containers.

What a container does stands in annotations of its pod: `test/exit-code`, `test/seconds`,
`test/lasts` (until it is stopped, when it reads its eviction file and saves), `test/output`,
`test/fault` (an image that is missing, an end by the kernel for memory, an eviction by the
kubelet).
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.kubernetes.api_double import TERMINAL, ApiDouble
from tests.kubernetes.object_store import Key, Object, now_text

HOSTNAME = "kubernetes.io/hostname"
EVICTION = "headgate.dev/eviction"
START_SECONDS = 0.01
STOP_SECONDS = 0.02
STOPPED = 143
KILLED = 137


class Cluster:
    """Nodes with kubelets, which run what is bound to them."""

    def __init__(self, api: ApiDouble, nodes: tuple[str, ...] = ("host-1", "host-2")) -> None:
        self.api = api
        self.starts: Counter[str] = Counter()
        self.ranks: dict[str, str] = {}
        self.saved: dict[str, str] = {}
        self.processes: set[str] = set()
        self.outputs: dict[Key, list[str]] = {}
        self.started_at: dict[str, float] = {}
        self.defaults: dict[str, str] = {}
        self._dead_nodes: set[str] = set()
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        api.outputs = self._output_of
        api.do(lambda: self._prepare(nodes))

    def _prepare(self, nodes: tuple[str, ...]) -> None:
        self.api.store.listeners.append(self._take)
        for name in nodes:
            self.api.store.create("nodes", "", node(name))
        self._nodes = {("nodes", "", name) for name in nodes}
        for namespace in ("default", "team-a"):
            self.api.store.create("namespaces", "", {"metadata": {"name": namespace}})

    def change(self, key: Key, change: Callable[[Object], None]) -> None:
        """Changes an object as a controller or an administrator does."""
        self.api.do(lambda: self.api.store.change(key, change))

    def change_node(self, name: str, change: Callable[[Object], None]) -> None:
        self.change(("nodes", "", name), change)

    def pod(self, name: str, namespace: str = "team-a") -> Object | None:
        return self.api.do(lambda: self.api.store.find("pods", namespace, name))

    def pods(self) -> list[Object]:
        objects = self.api.store.objects
        return self.api.do(lambda: [objects[key] for key in sorted(objects) if key[0] == "pods"])

    def create_pod(self, name: str, *, node_name: str, cpu: str, **labels: str) -> None:
        """A pod of others, as a DaemonSet's."""
        container = {"name": "main", "image": "other", "resources": {"requests": {"cpu": cpu}}}
        body = {
            "metadata": {"name": name, "labels": labels, "annotations": {"test/lasts": "true"}},
            "spec": {"containers": [container], "nodeName": node_name},
            "status": {"phase": "Pending"},
        }
        self.api.do(lambda: self.api.store.create("pods", "default", body))

    def evict_by_kubelet(self, name: str) -> None:
        """Ends a pod as a kubelet does that is short of memory."""

        def change(pod: Object) -> None:
            condition = {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "TerminationByKubelet",
            }
            pod["status"] |= {
                "phase": "Failed",
                "reason": "Evicted",
                "message": "The node was low on resource: memory.",
                "conditions": [condition],
            }
            _terminate(pod, KILLED, "Error")

        self.processes.discard(name)
        self.change(("pods", "team-a", name), change)

    def stop_kubelet(self, name: str) -> None:
        """A node that no longer answers: nothing of it changes any more."""
        self._dead_nodes.add(name)

        def change(found: Object) -> None:
            found["status"]["conditions"] = [
                {
                    "type": "Ready",
                    "status": "Unknown",
                    "reason": "NodeStatusUnknown",
                    "lastTransitionTime": "2020-01-01T00:00:00Z",
                }
            ]
            taint = {"key": "node.kubernetes.io/unreachable"}
            found["spec"]["taints"] = [
                {**taint, "effect": "NoSchedule"},
                {**taint, "effect": "NoExecute"},
            ]

        self.change_node(name, change)

    def _take(self, kind: str, key: Key, found: Object) -> None:
        """Begins or ends what an object asks for; called at every change."""
        if key[0] == "nodes":
            for pod in list(self._tasks):
                self.api.store.wake(pod)
        if key[0] != "pods":
            return
        if kind == "DELETED":
            task = self._tasks.pop(key, None)
            if task is not None and task is not asyncio.current_task():
                task.cancel()
            self.processes.discard(key[2])
        elif key not in self._tasks and found["status"].get("phase") not in TERMINAL:
            self._tasks[key] = asyncio.get_running_loop().create_task(self._run(key))

    async def _until(self, key: Key, look: Callable[[Object], bool]) -> Object:
        """Waits until a pod is so."""
        while not look(found := self.api.store.objects[key]):
            await self.api.store.changed(key)
        return found

    def _set(self, key: Key, change: Callable[[Object], None]) -> None:
        self.api.store.change(key, change)

    async def _run(self, key: Key) -> None:
        """The life of a pod: bound, started, and ended by itself or by order."""
        name = key[2]
        await asyncio.sleep(START_SECONDS)
        pod = await self._until(key, lambda each: self._host_of(each) is not None)
        host = self._host_of(pod)
        if not pod["spec"].get("nodeName"):
            self._set(key, lambda each: each["spec"].update(nodeName=host))
        await asyncio.sleep(START_SECONDS)
        annotations = {**self.defaults, **(pod["metadata"].get("annotations") or {})}
        fault = annotations.get("test/fault", "")
        if fault in {"ErrImagePull", "InvalidImageName"}:
            self._set(key, lambda each: _wait_for_image(each, fault))
            await self._until(key, _is_deleted)
            await self._end(key, KILLED, "ContainerStatusUnknown")
            return
        self.starts[name] += 1
        self.processes.add(name)
        self.started_at[name] = asyncio.get_running_loop().time()
        self.ranks[name] = _environment(pod).get("RANK", "")
        for line in annotations.get("test/output", "").splitlines():
            self.write(key, line)
        self._set(key, _start)
        if fault == "OOMKilled":
            await self._end(key, KILLED, fault)
            return
        if annotations.get("test/lasts") != "true":
            await asyncio.sleep(float(annotations.get("test/seconds", START_SECONDS)))
            code = int(annotations.get("test/exit-code", "0"))
            await self._end(key, code, "Completed" if code == 0 else "Error")
            return
        found = await self._until(key, lambda each: _is_deleted(each) or _has_ended(each))
        if _has_ended(found):
            return
        eviction = (found["metadata"].get("annotations") or {}).get(EVICTION)
        if eviction:
            self.saved[name] = json.loads(eviction)["reason"]
        await asyncio.sleep(STOP_SECONDS)
        await self._end(key, 0 if eviction else STOPPED, "Completed" if eviction else "Error")

    async def _end(self, key: Key, code: int, reason: str) -> None:
        """Ends the container; a pod that is being deleted is let go by its kubelet then."""
        await self._until(key, lambda each: each["spec"].get("nodeName") not in self._dead_nodes)
        self.processes.discard(key[2])

        def end(pod: Object) -> None:
            pod["status"]["phase"] = "Succeeded" if code == 0 else "Failed"
            _terminate(pod, code, reason)

        self._set(key, end)
        await self._until(key, _is_deleted)
        self._set(key, lambda pod: pod["metadata"].update(deletionGracePeriodSeconds=0))

    def write(self, key: Key, text: str) -> None:
        """Writes a line of output, with the time that the runtime gives it."""
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
        self.outputs.setdefault(key, []).append(f"{stamp} {text}\n")
        self.api.store.wake(key)

    def _output_of(self, key: Key) -> tuple[list[str], bool]:
        found = self.api.store.objects.get(key)
        is_over = found is None or found["status"].get("phase") in TERMINAL
        return self.outputs.get(key, []), is_over

    def _host_of(self, pod: Object) -> str | None:
        """The node that the scheduler gives a pod; none while it has gates or nothing fits."""
        spec = pod["spec"]
        if spec.get("nodeName"):
            return str(spec["nodeName"])
        if spec.get("schedulingGates") or _is_deleted(pod):
            return None
        tolerated = {
            (each.get("key"), each.get("effect")) for each in spec.get("tolerations") or ()
        }
        objects = self.api.store.objects
        for key in sorted(self._nodes):
            found = objects[key]
            labels = found["metadata"]["labels"]
            wanted = (spec.get("nodeSelector") or {}).items()
            taints = found["spec"].get("taints") or ()
            if all(labels.get(label) == value for label, value in wanted) and all(
                (each["key"], each["effect"]) in tolerated for each in taints
            ):
                return key[2]
        return None


def node(name: str, **labels: str) -> Object:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": now_text()}
    return {
        "metadata": {"name": name, "labels": {HOSTNAME: name, **labels}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110", "nvidia.com/gpu": "2"},
            "conditions": [ready],
        },
    }


def _environment(pod: Object) -> dict[str, Any]:
    return {each["name"]: each.get("value") for each in pod["spec"]["containers"][0].get("env", [])}


def _is_deleted(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _has_ended(pod: Object) -> bool:
    return pod["status"].get("phase") in TERMINAL


def _start(pod: Object) -> None:
    state = {"running": {"startedAt": now_text()}}
    statuses = [{"name": each["name"], "state": state} for each in pod["spec"]["containers"]]
    pod["status"] |= {"phase": "Running", "startTime": now_text(), "containerStatuses": statuses}


def _terminate(pod: Object, code: int, reason: str) -> None:
    told = (pod["metadata"].get("annotations") or {}).get("test/result", "")
    state = {"exitCode": code, "reason": reason, "message": told, "finishedAt": now_text()}
    for each in pod["status"].get("containerStatuses", []):
        running = each["state"].get("running")
        each["state"] = {"terminated": {**state, **(running or {})}}


def _wait_for_image(pod: Object, reason: str) -> None:
    state = {"waiting": {"reason": reason, "message": "no such image: registry.example.com/none"}}
    statuses = [{"name": each["name"], "state": state} for each in pod["spec"]["containers"]]
    pod["status"] |= {"phase": "Pending", "containerStatuses": statuses}
