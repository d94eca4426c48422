"""What is asked of the API server for runs: pods created, stopped, removed, and what gangs share.

Each request is sent again until the server has answered it, and repeating it changes nothing: names
and uids say which object is meant.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Mapping

import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds, wall_clock
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.executor.substrate import (
    CannotStart,
    FinishReason,
    Object,
    ObservedRun,
    PodPlan,
    RunEnd,
    RunKey,
)
from headgate.executor.substrates.agent.inventory import EXECUTOR_LABEL
from headgate.executor.substrates.kubernetes.api_server import (
    CONFLICT,
    NOT_FOUND,
    ApiServer,
    Refused,
    ServerAway,
)
from headgate.executor.substrates.kubernetes.list_watch import Store
from headgate.executor.substrates.kubernetes.objects import Metadata, OtherPod, Pod
from headgate.executor.substrates.kubernetes.pod_manifest import (
    ATTEMPT_LABEL,
    EVICTION,
    FINALIZER,
    HOSTS,
    RELEASED_LABEL,
    group_of,
    hosts_map_of,
    is_gang,
    namespace_of,
    needs_hosts_map,
    service_of,
)

KILL_SECONDS = 1
"""Not 0, after which the server would forget a pod that still runs."""
REMOVED_AT_ONCE = 200
"""So many pods are deleted in one request, which a server carries out one after another."""
ALREADY_EXISTS = "AlreadyExists"

Manifest = Callable[[PodPlan], Object]


class Stop(msgspec.Struct, kw_only=True):
    """An order that is being carried out: the file is written, then the pod is deleted."""

    key: RunKey
    file: bytes | None = None
    is_kill: bool = False
    deadline: float = math.inf
    delete_at: float = 0.0
    is_deleted: bool = False
    reason: FinishReason = "Evicted"
    message: str = ""

    def is_due(self, now: float) -> bool:
        """Whether there is something to ask for now."""
        return not self.is_deleted and self.delete_at <= now

    def grace_seconds(self) -> int | None:
        """Returns the time that the pod gets; None for what its template says."""
        if self.is_kill:
            return KILL_SECONDS
        if math.isinf(self.deadline):
            return None
        left = self.deadline - wall_clock() / MICROSECONDS_PER_SECOND
        return max(KILL_SECONDS, math.ceil(left))


class _Listed(msgspec.Struct):
    metadata: Metadata


class _Services(msgspec.Struct):
    items: list[_Listed] | None = None


class PodRequests:
    """Requests of one executor; `pods` are its own as the watch has brought them, by name."""

    def __init__(  # noqa: PLR0913 - what an executor has
        self,
        server: ApiServer,
        store: Store[Pod | OtherPod],
        pods: Mapping[str, Pod],
        manifest: Manifest,
        *,
        executor: str,
        notice_seconds: float,
        removal_seconds: float,
    ) -> None:
        self._server = server
        self._store = store
        self._pods = pods
        self._manifest = manifest
        self._executor = executor
        self._notice_seconds = notice_seconds
        self._removal_seconds = removal_seconds
        self._groups: dict[tuple[str, str], bool] = {}
        self._has_listed_groups = False
        self.looks_for_groups = True
        self.pending: dict[str, PodPlan] = {}
        self.uncertain: dict[str, PodPlan] = {}
        self.local: dict[str, ObservedRun] = {}
        self.stops: dict[str, Stop] = {}
        self.forgotten: dict[str, RunKey] = {}
        self._released: set[str] = set()
        self._to_empty: Counter[str] = Counter()
        self._empty_at = math.inf

    def is_needed(self) -> bool:
        """Whether there is anything to ask for now."""
        now = elapsed_seconds()
        return bool(
            self.pending
            or self.uncertain
            or self._to_release()
            or self.looks_for_groups
            or self.next_due() <= now
        )

    def next_due(self) -> float:
        """Returns when something is to be asked for, infinity if nothing is known yet."""
        stops = [stop.delete_at for stop in self.stops.values() if not stop.is_deleted]
        return min([self._empty_at, *stops])

    def _to_release(self) -> set[str]:
        return self.forgotten.keys() - self._released

    def drop(self, name: str) -> None:
        """Forgets what was to be done with a pod that is gone."""
        self.stops.pop(name, None)
        self.forgotten.pop(name, None)
        self._released.discard(name)
        self.looks_for_groups = True

    async def send(self) -> bool:
        """Sends all that is due; returns whether the server has answered everything."""
        now = elapsed_seconds()
        plans = {**self.pending, **self.uncertain}
        self.pending.clear()
        gangs = {group_of(plan.key): plan for plan in plans.values() if is_gang(plan)}
        answers = await asyncio.gather(*(self._create_group(plan) for plan in gangs.values()))
        emptied = self._take_namespaces_to_empty(now)
        answers += await asyncio.gather(
            *(self._create(plan) for plan in plans.values()),
            *(self._stop(stop) for stop in self.stops.values() if stop.is_due(now)),
            *(self._release(self.forgotten[name]) for name in sorted(self._to_release())),
            *(self._delete_released(namespace) for namespace in emptied),
        )
        if self.looks_for_groups:
            answers.append(await self._remove_groups())
        return all(answers)

    async def _create(self, plan: PodPlan) -> bool:
        """Creates a pod; one that exists under its name is the same run."""
        name, path = plan.key.name, f"/api/v1/namespaces/{namespace_of(plan.key)}/pods"
        self.uncertain[name] = plan
        self.local.setdefault(name, starting(plan))
        if name in self.stops:
            return await self._resolve(plan)
        try:
            self._store.put(await self._server.create(path, self._manifest(plan)))
        except ServerAway:
            return False
        except CannotStart as failure:
            self._end(plan, "StartFailed", str(failure))
            return True
        except Refused as refusal:
            if refusal.status == CONFLICT and refusal.reason == ALREADY_EXISTS:
                return await self._resolve(plan)
            if refusal.status == CONFLICT:  # a quota that others changed at the same time
                return False
            self._end(plan, "StartFailed", f"Kubernetes refused the pod: {refusal}")
            return True
        self._settle(name)
        return True

    async def _resolve(self, plan: PodPlan) -> bool:
        """Looks at a pod that exists, or of which the creation was not answered."""
        name = plan.key.name
        try:
            self._store.put(await self._server.get(path_of(plan.key)))
        except ServerAway:
            return False
        except Refused as refusal:
            if refusal.status == NOT_FOUND and name in self.stops:
                self._end(plan, "Evicted", "the pod was not created")
            return refusal.status == NOT_FOUND
        found = self._store.find(f"{namespace_of(plan.key)}/{name}")
        if isinstance(found, OtherPod):
            self._end(plan, "StartFailed", f"another pod of Kubernetes has the name {name}")
        self._settle(name)
        return True

    def _settle(self, name: str) -> None:
        """Leaves the run to the store, which has its pod."""
        self.uncertain.pop(name, None)
        run = self.local.get(name)
        if run is not None and run.state != "Ended":
            del self.local[name]

    def _end(self, plan: PodPlan, reason: FinishReason, message: str) -> None:
        """Ends a run of which there is no pod; after a restart it is tried again."""
        name = plan.key.name
        self.uncertain.pop(name, None)
        self.stops.pop(name, None)
        end = RunEnd(reason=reason, finished_at=wall_clock(), message=message)
        self.local[name] = msgspec.structs.replace(starting(plan), state="Ended", end=end)

    async def _stop(self, stop: Stop) -> bool:
        """Writes the eviction file if there is one, and deletes the pod after its notice."""
        pod = self._pods.get(stop.key.name)
        if pod is None:
            return True
        try:
            if stop.file is not None:
                body = {"metadata": {"annotations": {EVICTION: stop.file.decode()}}}
                self._store.put(await self._server.patch(path_of(stop.key), body))
                stop.file = None
                if self._waits_for_notice(stop, pod):
                    return True
            await self._delete(stop.key, pod, stop.grace_seconds())
        except ServerAway:
            return False
        except Refused as refusal:
            if refusal.status not in {NOT_FOUND, CONFLICT}:
                return False
        stop.is_deleted = True
        return True

    def _waits_for_notice(self, stop: Stop, pod: Pod) -> bool:
        """Whether the pod reads its eviction file before it gets the signal."""
        left = stop.deadline - wall_clock() / MICROSECONDS_PER_SECOND
        if stop.delete_at or pod.started_at is None or left <= self._notice_seconds:
            return False
        stop.delete_at = elapsed_seconds() + self._notice_seconds
        return True

    async def _delete(self, key: RunKey, pod: Pod, grace_seconds: int | None) -> None:
        options: Object = {"preconditions": {"uid": pod.metadata.uid}}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        await self._server.delete(path_of(key), options)

    async def _release(self, key: RunKey) -> bool:
        """Lets an ended pod go: without our finalizer, and to be deleted with others."""
        pod = self._pods.get(key.name)
        if pod is None:
            self._released.add(key.name)
            return True
        others = [each for each in pod.metadata.finalizers if each != FINALIZER]
        is_deleted = pod.metadata.deletion_timestamp is not None
        is_released = is_deleted or RELEASED_LABEL in pod.metadata.labels
        metadata: Object = {} if is_released else {"labels": {RELEASED_LABEL: "true"}}
        if FINALIZER in pod.metadata.finalizers:
            metadata["finalizers"] = others or None
            if others:  # of other writers: only as they were read
                metadata["resourceVersion"] = pod.metadata.resource_version
        try:
            if metadata:
                await self._server.patch(path_of(key), {"metadata": metadata})
                pod.metadata.finalizers = others
        except ServerAway:
            return False
        except Refused as refusal:
            if refusal.status != NOT_FOUND:
                return False
        self._released.add(key.name)
        if not is_deleted:
            self._empty_within(namespace_of(key), self._removal_seconds)
        return True

    def _empty_within(self, namespace: str, seconds: float) -> None:
        self._to_empty[namespace] += 1
        wait = seconds if self._to_empty[namespace] < REMOVED_AT_ONCE else 0.0
        self._empty_at = min(self._empty_at, elapsed_seconds() + wait)

    def _take_namespaces_to_empty(self, now: float) -> list[str]:
        """Returns namespaces with released pods that are due; those released meanwhile are next."""
        if self._empty_at > now:
            return []
        found, self._to_empty, self._empty_at = sorted(self._to_empty), Counter(), math.inf
        return found

    async def _delete_released(self, namespace: str) -> bool:
        """Deletes the pods of a namespace that were let go, in one request."""
        selector = f"{EXECUTOR_LABEL}={self._executor},{RELEASED_LABEL}=true"
        path = f"/api/v1/namespaces/{namespace}/pods"
        try:
            await self._server.delete(path, {}, {"labelSelector": selector})
        except (ServerAway, Refused):
            self._empty_within(namespace, 0.0)
            return False
        return True

    async def _create_group(self, plan: PodPlan) -> bool:
        """Creates what the pods of a gang share, once."""
        group = namespace_of(plan.key), group_of(plan.key)
        if group in self._groups:
            return True
        wanted = [("services", service_of(plan, self._executor))]
        if needs_hosts_map(plan):
            wanted.append(("configmaps", hosts_map_of(plan, self._executor)))
        for kind, body in wanted:
            try:
                await self._server.create(f"/api/v1/namespaces/{group[0]}/{kind}", body)
            except ServerAway:
                return False
            except Refused as refusal:
                if refusal.status != CONFLICT:  # told by the pods, which are refused likewise
                    return True
        self._groups[group] = needs_hosts_map(plan)
        return True

    async def _remove_groups(self) -> bool:
        """Removes what gangs shared of which no pod is left, also those of an earlier process."""
        try:
            if not self._has_listed_groups:
                params = {"labelSelector": f"{EXECUTOR_LABEL}={self._executor}"}
                content = await self._server.get("/api/v1/services", params)
                for each in msgspec.json.decode(content, type=_Services).items or ():
                    group = each.metadata.namespace, each.metadata.name
                    self._groups[group] = HOSTS in each.metadata.labels
                self._has_listed_groups = True
            pods = [pod for pod in self._store.all() if isinstance(pod, Pod)]
            used = {pod.metadata.labels.get(ATTEMPT_LABEL) for pod in pods}
            plans = (*self.pending.values(), *self.uncertain.values())
            used |= {group_of(plan.key) for plan in plans}
            for group in sorted(each for each in self._groups if each[1] not in used):
                await self._remove_group(*group, has_map=self._groups[group])
                del self._groups[group]
        except (ServerAway, Refused):
            return False
        self.looks_for_groups = False
        return True

    async def _remove_group(self, namespace: str, name: str, *, has_map: bool) -> None:
        for kind in ("configmaps", "services") if has_map else ("services",):
            try:
                await self._server.delete(f"/api/v1/namespaces/{namespace}/{kind}/{name}", {})
            except Refused as refusal:
                if refusal.status != NOT_FOUND:
                    raise


def path_of(key: RunKey) -> str:
    """Returns the path of the pod of a run."""
    return f"/api/v1/namespaces/{namespace_of(key)}/pods/{key.name}"


def starting(plan: PodPlan) -> ObservedRun:
    """Returns a run of which the pod is not known yet."""
    return ObservedRun(
        key=plan.key,
        log_id=plan.log_id,
        state="Starting",
        node=plan.node,
        requests=plan.requests,
    )
