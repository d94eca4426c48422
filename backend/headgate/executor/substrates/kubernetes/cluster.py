"""The substrate of a Kubernetes cluster: plain pods, created once they are admitted.

Pods and nodes are followed by watches; what is asked for is sent by `flush`. A pod keeps its run
and its orders in annotations, and its end by a finalizer: the executor has no files of them.
"""

import math
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds, wall_clock
from headgate.domain.values.capabilities import JOB, KUBERNETES_CAPABILITIES
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.executor.substrate import (
    CannotStart,
    NodeDescription,
    Object,
    ObservedRun,
    OutputChunk,
    PodPlan,
    RunEnd,
    RunKey,
    SessionPlan,
    StopOrder,
    SubstrateSession,
)
from headgate.executor.substrates.agent.inventory import EXECUTOR_LABEL
from headgate.executor.substrates.kubernetes.access import Access
from headgate.executor.substrates.kubernetes.api_server import ApiServer, LoopThread
from headgate.executor.substrates.kubernetes.jobs import AdoptedJobs
from headgate.executor.substrates.kubernetes.list_watch import Collection, Store
from headgate.executor.substrates.kubernetes.nodes import Node, describe_nodes
from headgate.executor.substrates.kubernetes.objects import (
    OtherPod,
    Pod,
    end_of,
    start_failure,
    use_of,
)
from headgate.executor.substrates.kubernetes.pod_logs import MAX_STREAMS, PodLogs
from headgate.executor.substrates.kubernetes.pod_manifest import (
    EVICTION,
    KeptRun,
    ManifestRules,
    kept_run,
    namespace_of,
    pod_of,
)
from headgate.executor.substrates.kubernetes.pod_requests import PodRequests, Stop, path_of

HONOURED = (*sorted(KUBERNETES_CAPABILITIES), "retryPod", "softEviction")
PODS, NODES = "/api/v1/pods", "/api/v1/nodes"
RETRY_SECONDS = 1.0


class KubernetesSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes are served, and how long the executor waits for what.

    A pod is deleted `notice_seconds` after its eviction file was written, as the kubelet takes a
    moment to bring it. Images may fail to be pulled for `start_seconds`; a node that was not ready
    for `lost_seconds` is lost; output has `output_seconds` to come after the end of its pod. What
    was reported is deleted once in `removal_seconds`, many pods in one request. Output of
    `followed_pods` that have run for `follow_after_seconds` is streamed, that of others read now
    and then; pods that ended before need one request for all of their output.
    """

    rules: ManifestRules
    node_selector: str = ""
    labels: dict[str, str] = {}
    notice_seconds: float = 2.0
    start_seconds: float = 300.0
    lost_seconds: float = 60.0
    output_seconds: float = 10.0
    removal_seconds: float = 10.0
    followed_pods: int = MAX_STREAMS
    follow_after_seconds: float = 1.0
    nodes_seconds: float = 10.0


class KubernetesCluster:
    """Fills the port `Substrate` with pods; used by one thread but for `wake` and `logs`."""

    def __init__(self, settings: KubernetesSettings, access: Access) -> None:
        self._settings = settings
        self._executor = settings.rules.executor
        self._news = threading.Event()
        self._thread = LoopThread()
        self._server = ApiServer(access)
        self._logs = PodLogs(
            self._server,
            self._thread,
            seconds_to_come=settings.output_seconds,
            max_streams=settings.followed_pods,
            follow_after_seconds=settings.follow_after_seconds,
        )
        self.pods: Store[Pod | OtherPod] = Store(self._convert_pod, self._news.set)
        self._nodes: Store[Node] = Store(_convert_node, self._news.set)
        self._collections: list[Collection[Any]] = [
            Collection(self._server, PODS, self.pods),
            Collection(self._server, NODES, self._nodes, selector=settings.node_selector),
        ]
        self._runs: dict[str, KeptRun] = {}
        self._own: dict[str, Pod] = {}
        self._others: dict[str, OtherPod] = {}
        self._observed: dict[str, ObservedRun] = {}
        self._waits_since: dict[str, float] = {}
        self._requests = PodRequests(
            self._server,
            self.pods,
            self._own,
            self._manifest,
            executor=self._executor,
            notice_seconds=settings.notice_seconds,
            removal_seconds=settings.removal_seconds,
        )
        self.jobs = AdoptedJobs(self._server, self._executor, self._news.set, self._node)
        self._collections += self.jobs.collections
        self._retry_at = 0.0
        self._server_ahead = 0.0
        for collection in self._collections:
            self._thread.spawn(collection.follow())

    def is_known(self) -> bool:
        """Whether all pods and nodes were listed; before, the cluster must not be observed."""
        self._thread.raise_failure()
        return all(each.store.is_complete.is_set() for each in self._collections)

    @property
    def failure(self) -> str:
        """What keeps the executor from following the cluster; empty while it does."""
        return next((each.failure for each in self._collections if each.failure), "")

    @property
    def capabilities(self) -> Sequence[str]:
        """What of a template is honoured."""
        return (*HONOURED, f"job.{self._executor}")

    @property
    def nodes_seconds(self) -> float:
        """Pods of others come and go at any time."""
        return self._settings.nodes_seconds

    def observe(self) -> Mapping[str, ObservedRun]:
        """Returns the runs as the watch has brought them."""
        self._thread.raise_failure()
        for key, kept in self.pods.take_changes().items():
            self._take_pod(key, kept)
        for name in list(self._waits_since):
            self._observed[name] = self._observation(self._own[name], self._runs[name])
        local, forgotten = self._requests.local, self._requests.forgotten
        found = {**local, **self._observed} if local else self._observed
        if self.jobs.runs:
            found = {**found, **self._job_runs()}
        return {name: run for name, run in found.items() if name not in forgotten}

    def start(self, plan: PodPlan) -> None:
        """Notes a run to be created by `flush`. Raises `CannotStart`."""
        name = plan.key.name
        if self.jobs.start(plan):
            return
        if name not in self._observed and name not in self._requests.local:
            self._manifest(plan)
            self._requests.pending[name] = plan

    def flush(self) -> None:
        """Creates pods, carries out orders, and removes what was forgotten, all at once."""
        now = elapsed_seconds()
        if now < max(self._retry_at, self._server.retry_at):
            return
        for part in (self._requests, self.jobs):
            if part.is_needed() and not self._thread.call(part.send()):
                self._retry_at = now + RETRY_SECONDS

    def signal(self, key: RunKey, order: StopOrder) -> None:
        """Writes the order into the pod's file, and deletes the pod with the time that is left."""
        if self.jobs.stop(key) or not self._lives(key.name):
            return
        deadline = math.inf
        if order.deadline:
            deadline = datetime.fromisoformat(order.deadline).timestamp() - self._server_ahead
        known = self._requests.stops.get(key.name)
        self._requests.stops[key.name] = Stop(
            key=key,
            file=msgspec.json.encode(order) if order.is_eviction else None,
            deadline=deadline,
            delete_at=known.delete_at if known is not None else 0.0,
        )

    def kill(self, key: RunKey) -> None:
        """Deletes a pod with the shortest time that lets the kubelet tell of its end."""
        if self.jobs.stop(key):
            return
        known = self._requests.stops.get(key.name)
        if self._lives(key.name) and not (known is not None and known.is_kill):
            self._requests.stops[key.name] = Stop(key=key, is_kill=True)

    def logs(self, key: RunKey, stream: str, offset: int, limit: int) -> OutputChunk:
        """Returns output of a run; Kubernetes gives both streams as one."""
        if stream != "stdout":
            return OutputChunk(offset=offset, content=b"")
        return self._logs.read(key.name, offset, limit)

    def nodes(self) -> list[NodeDescription]:
        """Returns the nodes that are not lost, with what pods of others use."""
        now = wall_clock()
        lost = self._settings.lost_seconds
        nodes = [node for node in self._nodes.all() if not node.is_lost(now, lost)]
        others = self._others.values()
        return describe_nodes(nodes, others, self._executor, self._settings.labels)

    def forget(self, key: RunKey) -> None:
        """Removes an ended pod; the objects of its attempt go with the last one."""
        name = key.name
        run = self._observed.get(name)
        if run is not None and run.state == "Ended":
            self._requests.forgotten[name] = key
        self._requests.local.pop(name, None)
        self.jobs.forget(key)
        self._logs.forget(name)

    def open_session(self, key: RunKey, plan: SessionPlan) -> SubstrateSession:
        """Refuses: Kubernetes has a command of its own."""
        where = f"-n {namespace_of(key)} {key.name} -- {plan.command[0]}"
        raise CannotStart(f"the pod runs in Kubernetes: use `kubectl exec {where}`")

    def keep_lease(self, seconds: float) -> None:
        """Takes no notice: no pod is under Fence, as none could end without this process."""

    def keep_time(self, server_time: Instant) -> None:
        """Notes how far the server's clock is ahead."""
        self._server_ahead = (server_time - wall_clock()) / MICROSECONDS_PER_SECOND

    def wait(self, seconds: float) -> None:
        """Returns once a pod or node has changed or something is due, or after `seconds`."""
        rest = self._requests.next_due() - elapsed_seconds()
        self._news.wait(min(seconds, rest) if rest > 0 else seconds)
        self._news.clear()

    def wake(self) -> None:
        """Ends `wait`."""
        self._news.set()

    def close(self) -> None:
        """Ends all connections; pods run on."""
        self._thread.end(self._server.close())

    def _convert_pod(self, content: bytes) -> tuple[str, str, Pod | OtherPod]:
        """Returns own pods whole, and of others only their use."""
        pod = msgspec.json.decode(content, type=Pod)
        metadata = pod.metadata
        key = f"{metadata.namespace}/{metadata.name}"
        is_own = kept_run(metadata) is not None or JOB in metadata.annotations
        if is_own and metadata.labels.get(EXECUTOR_LABEL) == self._executor:
            return key, metadata.resource_version, pod
        node = "" if pod.has_ended else pod.spec.node_name
        return key, metadata.resource_version, OtherPod(node, use_of(pod.spec) if node else {})

    def _take_pod(self, key: str, kept: Pod | OtherPod | None) -> None:
        namespace, _, name = key.partition("/")
        if isinstance(kept, OtherPod):
            self._others[key] = kept
            return
        if self.jobs.take_pod(key, kept if isinstance(kept, Pod) else None):
            self._others.pop(key, None)
            return
        if isinstance(kept, Pod):
            run = kept_run(kept.metadata)
            assert run is not None
            self._own[name], self._runs[name] = kept, run
            self._observed[name] = self._observation(kept, run)
            return
        self._others.pop(key, None)
        if name in self._own and self._own[name].metadata.namespace == namespace:
            for known in (self._own, self._runs, self._observed, self._waits_since):
                known.pop(name, None)
            self._requests.drop(name)
            self._logs.forget(name)

    def _job_runs(self) -> Mapping[str, ObservedRun]:
        """Returns the runs of pods that Jobs create, and has their output read."""
        found = self.jobs.observe()
        for name, run in found.items():
            pod = self.jobs.runs[name].pod
            if pod is not None and pod.started_at is not None:
                path = f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}"
                self._logs.begin(name, path, pod.spec.containers[0].name)
            if run.end is not None:
                self._logs.note_end(name, run.end.finished_at)
        return found

    def _observation(self, pod: Pod, kept: KeptRun) -> ObservedRun:
        name, key = pod.metadata.name, kept.key
        found = ObservedRun(
            key=key,
            log_id=kept.log_id,
            state="Running" if pod.is_running else "Starting",
            node=pod.spec.node_name or kept.node,
            started_at=pod.started_at,
            requests=use_of(pod.spec),
        )
        if found.started_at is not None and name not in self._requests.forgotten:
            self._logs.begin(name, path_of(key), pod.spec.containers[0].name)
        if not pod.has_ended:
            self._note_waiting(pod, key)
            return found
        self._waits_since.pop(name, None)
        end = self._end(pod)
        self._logs.note_end(name, end.finished_at)
        return msgspec.structs.replace(found, state="Ended", end=end)

    def _end(self, pod: Pod) -> RunEnd:
        """Returns how a pod ended; one that was deleted by an order has stopped."""
        end = end_of(pod, wall_clock())
        stop = self._requests.stops.get(pod.metadata.name)
        if pod.metadata.deletion_timestamp is None:
            return end
        if stop is not None:
            message = stop.message or end.message
            return msgspec.structs.replace(end, reason=stop.reason, message=message)
        if EVICTION in pod.metadata.annotations:
            return msgspec.structs.replace(end, reason="Evicted")
        return end

    def _note_waiting(self, pod: Pod, key: RunKey) -> None:
        """Ends a pod of which an image cannot be pulled or a container cannot be created."""
        name = pod.metadata.name
        message, is_hopeless = start_failure(pod)
        if not message:
            self._waits_since.pop(name, None)
            return
        since = self._waits_since.setdefault(name, elapsed_seconds())
        is_over = is_hopeless or elapsed_seconds() - since >= self._settings.start_seconds
        if is_over and name not in self._requests.stops:
            stop = Stop(key=key, is_kill=True, reason="StartFailed", message=message)
            self._requests.stops[name] = stop
            self._news.set()

    def _lives(self, name: str) -> bool:
        run = self._observed.get(name) or self._requests.local.get(name)
        return run is not None and run.state != "Ended"

    def _manifest(self, plan: PodPlan) -> Object:
        """Returns the pod of a plan. Raises `CannotStart`."""
        first = plan.hosts[0] if plan.hosts else plan.node
        return pod_of(
            plan,
            self._settings.rules,
            self._node(plan.node),
            has_rank_0=not first or self._node(first) is not None,
        )

    def _node(self, name: str) -> Node | None:
        return self._nodes.find(f"/{name}") if name else None


def _convert_node(content: bytes) -> tuple[str, str, Node]:
    node = msgspec.json.decode(content, type=Node)
    return f"/{node.metadata.name}", node.metadata.resource_version, node
