"""Jobs and JobSets that others create suspended: submitted, and run once they are admitted.

A suspended Job with a queue, in a namespace with the label `headgate.dev/managed=true`, becomes a
workload. Once that is admitted the Job is unsuspended with a scheduling gate in its template; each
of its pods gets its node and loses the gate by its completion index. Its own controller goes on to
create and count its pods, and an eviction suspends the Job again.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from headgate.adapters.system.clocks_and_randomness import wall_clock
from headgate.domain.values.capabilities import JOB
from headgate.executor.substrate import (
    CannotStart,
    FinishReason,
    Object,
    ObservedRun,
    PodPlan,
    RunEnd,
    RunKey,
)
from headgate.executor.substrates.agent.inventory import HOSTNAME
from headgate.executor.substrates.kubernetes.api_server import (
    CONFLICT,
    NOT_FOUND,
    ApiServer,
    Refused,
    ServerAway,
)
from headgate.executor.substrates.kubernetes.job_manifests import (
    GATE,
    PATHS,
    Job,
    convert_job,
    convert_namespace,
    indices_of,
    manifest_of,
    start_patch,
)
from headgate.executor.substrates.kubernetes.list_watch import Collection, Store
from headgate.executor.substrates.kubernetes.nodes import Node
from headgate.executor.substrates.kubernetes.objects import (
    Pod,
    end_of,
    use_of,
)
from headgate.executor.substrates.kubernetes.pod_manifest import (
    ATTEMPT_LABEL,
    RANK_LABEL,
    RUN,
    KeptRun,
    group_of,
    kept_run,
    tolerations_of,
)

MANAGED = "headgate.dev/managed"
QUEUE = "kueue.x-k8s.io/queue-name"
INDEX = "batch.kubernetes.io/job-completion-index"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
REPLICATED = "jobset.sigs.k8s.io/replicatedjob-name"
NAMESPACES = "/api/v1/namespaces"


class JobRun(msgspec.Struct, kw_only=True):
    """A run of a pod that a Job creates; its pods follow one another while the Job retries.

    `refusal` is why Kubernetes does not start it; the Job stays suspended, or is suspended again.
    """

    plan: PodPlan
    job: str
    pod: Pod | None = None
    is_stopping: bool = False
    refusal: str = ""
    end: RunEnd | None = None


class AdoptedJobs:
    """The Jobs of others that one executor runs; used by one thread but for what is submitted.

    `find_node` returns a node by its name.
    """

    def __init__(
        self,
        server: ApiServer,
        executor: str,
        on_change: Callable[[], None],
        find_node: Callable[[str], Node | None],
    ) -> None:
        self._server = server
        self._executor = executor
        self._find_node = find_node
        self._namespaces: Store[str] = Store(convert_namespace, on_change)
        self._jobs: Store[Job] = Store(lambda content: convert_job("Job", content), on_change)
        self._job_sets: Store[Job] = Store(
            lambda content: convert_job("JobSet", content), on_change
        )
        self.collections: list[Collection[Any]] = [
            Collection(server, NAMESPACES, self._namespaces, selector=f"{MANAGED}=true"),
            Collection(server, "/".join(PATHS["Job"]), self._jobs, selector=QUEUE),
            Collection(
                server,
                "/".join(PATHS["JobSet"]),
                self._job_sets,
                selector=QUEUE,
                is_optional=True,
            ),
        ]
        self._gated: dict[str, Pod] = {}
        self._forgotten: set[str] = set()
        self._lock = threading.Lock()
        self._submitted: dict[str, tuple[str, str]] = {}
        self.runs: dict[str, JobRun] = {}

    def to_submit(self) -> list[tuple[Job, Object]]:
        """Returns suspended Jobs that were not submitted, with what is to be submitted."""
        managed = {*self._namespaces.all()}
        with self._lock:
            return [
                (job, manifest_of(job, self._executor))
                for job in (*self._jobs.all(), *self._job_sets.all())
                if job.is_suspended
                and not job.has_ended
                and job.metadata.namespace in managed
                and self._submitted.get(job.key, ("", ""))[0] != job.metadata.uid
                and not any(owner.controller for owner in job.metadata.owner_references)
            ]

    def note_submitted(self, job: Job, workload: str) -> None:
        """Notes the workload, `namespace/name`, that the server has of a Job."""
        with self._lock:
            self._submitted[job.key] = job.metadata.uid, workload

    def to_withdraw(self) -> list[str]:
        """Returns the workloads of submitted Jobs that were deleted."""
        with self._lock:
            return [
                workload
                for key, (_, workload) in self._submitted.items()
                if self._find(key) is None
            ]

    def note_withdrawn(self, workload: str) -> None:
        """Notes that the server no longer has the workload of a deleted Job."""
        with self._lock:
            self._submitted = {
                key: known for key, known in self._submitted.items() if known[1] != workload
            }

    def start(self, plan: PodPlan) -> bool:
        """Notes a run of a Job's pod; False for a pod of no Job. Raises `CannotStart`."""
        annotations = (plan.template.get("metadata") or {}).get("annotations") or {}
        if JOB not in annotations:
            return False
        _, _, reference = str(annotations[JOB]).partition("/")
        key, _, uid = reference.rpartition("/")
        job = self._find(key)
        if job is None or job.metadata.uid != uid:
            raise CannotStart(f"{key} is no longer in Kubernetes")
        if job.has_ended:
            raise CannotStart(f"{key} has ended in Kubernetes: {job.failure}")
        self.runs.setdefault(plan.key.name, JobRun(plan=plan, job=key))
        return True

    def stop(self, key: RunKey) -> bool:
        """Has the Job of a run suspended; False for a run of no Job."""
        run = self.runs.get(key.name)
        if run is not None:
            run.is_stopping = True
        return run is not None

    def forget(self, key: RunKey) -> None:
        """Forgets a run; its pod is left to its Job."""
        run = self.runs.pop(key.name, None)
        if run is not None and run.pod is not None:
            self._forgotten.add(run.pod.metadata.uid)

    def take_pod(self, key: str, pod: Pod | None) -> bool:
        """Takes over a pod of a Job; False for another. None is a pod that is gone."""
        if pod is None:
            self._gated.pop(key, None)
            runs = [run for run in self.runs.values() if run.pod is not None]
            for run in runs:
                assert run.pod is not None
                if f"{run.pod.metadata.namespace}/{run.pod.metadata.name}" == key:
                    run.pod = None
                    return True
            return False
        if JOB not in pod.metadata.annotations:
            return False
        if any(gate.name == GATE for gate in pod.spec.scheduling_gates):
            self._gated[key] = pod
            return True
        self._gated.pop(key, None)
        kept = kept_run(pod.metadata)
        if kept is not None and pod.metadata.uid not in self._forgotten:
            self._take_run(kept, pod)
        return True

    def observe(self) -> dict[str, ObservedRun]:
        """Returns the runs by name."""
        return {name: self._observed(run) for name, run in self.runs.items()}

    def is_needed(self) -> bool:
        """Whether there is anything to ask the API server for."""
        return any(True for _ in self._changes()) or any(True for _ in self._places())

    async def send(self) -> bool:
        """Suspends, unsuspends and ungates; returns whether the server has answered all."""
        answers = await asyncio.gather(
            *(self._change(job, suspends=suspends) for job, suspends in self._changes()),
            *(self._place(pod, run) for pod, run in self._places()),
        )
        return all(answers)

    def _find(self, key: str) -> Job | None:
        kind, _, rest = key.partition("/")
        return (self._jobs if kind == "Job" else self._job_sets).find(rest)

    def _take_run(self, kept: KeptRun, pod: Pod) -> None:
        """Takes over the pod of a run, also of one that an earlier process began."""
        job = str(pod.metadata.annotations[JOB]).partition("/")[2].rpartition("/")[0]
        plan = PodPlan(
            key=kept.key,
            log_id=kept.log_id,
            owner="",
            node=kept.node,
            template={},
            environment={},
            hosts=(),
        )
        run = self.runs.setdefault(kept.key.name, JobRun(plan=plan, job=job))
        if run.pod is None or run.pod.metadata.uid == pod.metadata.uid or run.pod.has_ended:
            run.pod = pod

    def _observed(self, run: JobRun) -> ObservedRun:
        pod = run.pod
        run.end = run.end or self._end(run)
        state = "Ended" if run.end is not None else "Starting"
        if run.end is None and pod is not None and pod.is_running:
            state = "Running"
        return ObservedRun(
            key=run.plan.key,
            log_id=run.plan.log_id,
            state=state,  # type: ignore[arg-type]
            node=pod.spec.node_name if pod is not None else run.plan.node,
            started_at=pod.started_at if pod is not None else None,
            requests=use_of(pod.spec) if pod is not None else run.plan.requests,
            end=run.end,
        )

    def _end(self, run: JobRun) -> RunEnd | None:
        """How a run ended: a failed pod is replaced as long as its Job has not failed."""
        pod, job = run.pod, self._find(run.job)
        if pod is not None and not pod.has_ended:
            return None
        if pod is not None and pod.status.phase == "Succeeded":
            return end_of(pod, wall_clock())
        if run.is_stopping:
            if job is not None and not job.is_suspended and not job.has_ended:
                return None
            reason: FinishReason = "StartFailed" if run.refusal else "Evicted"
            return RunEnd(reason=reason, finished_at=wall_clock(), message=run.refusal)
        if job is None:
            message = f"{run.job} was deleted in Kubernetes"
            return RunEnd(reason="Error", finished_at=wall_clock(), message=message, exit_code=None)
        if not job.failure:
            # Pods that ran before the workload was taken over carry no name of a run.
            is_complete = pod is None and job.has_ended
            done = RunEnd(reason="Completed", finished_at=wall_clock(), exit_code=0)
            return done if is_complete else None
        end = end_of(pod, wall_clock()) if pod is not None else None
        code = end.exit_code if end is not None else None
        return RunEnd(reason="Error", finished_at=wall_clock(), message=job.failure, exit_code=code)

    def _changes(self) -> Iterator[tuple[Job, bool]]:
        """Yields Jobs to be suspended, or to be started where all that is wanted is to run."""
        wanted: dict[str, list[JobRun]] = {}
        for run in self.runs.values():
            if run.end is None:
                wanted.setdefault(run.job, []).append(run)
        for key, runs in sorted(wanted.items()):
            job = self._find(key)
            stops = any(run.is_stopping for run in runs)
            if job is not None and not job.has_ended and job.is_suspended != stops:
                yield job, stops

    def _places(self) -> Iterator[tuple[Pod, JobRun]]:
        """Yields gated pods with the run that each is, by completion index where it has one."""
        free = {
            (run.job, run.plan.key.pod_set, run.plan.key.index): run
            for run in self.runs.values()
            if not run.is_stopping and run.end is None and (run.pod is None or run.pod.has_ended)
        }
        for key in sorted(self._gated):
            pod = self._gated[key]
            job = str(pod.metadata.annotations[JOB]).partition("/")[2].rpartition("/")[0]
            found = self._run_of(pod, job, free)
            if found is not None:
                yield pod, free.pop(found)

    def _run_of(
        self, pod: Pod, job: str, free: dict[tuple[str, str, int], JobRun]
    ) -> tuple[str, str, int] | None:
        labels = {**pod.metadata.annotations, **pod.metadata.labels}
        mine = sorted(each for each in free if each[0] == job)
        if INDEX not in labels:
            return next(iter(mine), None)
        index = int(labels[INDEX])
        if REPLICATED in labels:
            found = self._find(job)
            index += int(labels.get(JOB_INDEX, "0")) * indices_of(found, labels[REPLICATED])
            mine = [each for each in mine if each[1] == labels[REPLICATED]]
        return next((each for each in mine if each[2] == index), None)

    async def _change(self, job: Job, *, suspends: bool) -> bool:
        body: Object = {"spec": {"suspend": suspends}}
        if not suspends:
            body = start_patch(job, self._executor)
        try:
            content = await self._server.patch(job.path, body)
        except ServerAway:
            return False
        except Refused as refusal:
            if not suspends and refusal.status not in {NOT_FOUND, CONFLICT}:
                self._refuse(job.key, f"Kubernetes refused to start {job.key}: {refusal}")
                return True
            return refusal.status in {NOT_FOUND, CONFLICT}
        (self._jobs if job.kind == "Job" else self._job_sets).put(content)
        return True

    async def _place(self, pod: Pod, run: JobRun) -> bool:
        """Gives a gated pod its node, its run, and leave to be scheduled, in one request."""
        key = run.plan.key
        kept = KeptRun(key=key, log_id=run.plan.log_id, node=run.plan.node)
        gates = [{"name": gate.name} for gate in pod.spec.scheduling_gates if gate.name != GATE]
        labels = {ATTEMPT_LABEL: group_of(key), RANK_LABEL: run.plan.environment.get("RANK", "0")}
        spec: Object = {"schedulingGates": gates or None}
        node = self._find_node(run.plan.node)
        if run.plan.node:
            hostname = node.hostname if node is not None else run.plan.node
            spec["nodeSelector"] = {HOSTNAME: hostname}
        known = pod.spec.tolerations
        added = [each for each in tolerations_of(node) if each not in known] if node else []
        if added:  # a merge patch replaces lists, and none of a pod may be taken away
            spec["tolerations"] = [*known, *added]
        annotations = {RUN: msgspec.json.encode(kept).decode()}
        body = {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec}
        place = f"{pod.metadata.namespace}/pods/{pod.metadata.name}"
        try:
            content = await self._server.patch(f"{NAMESPACES}/{place}", body)
        except ServerAway:
            return False
        except Refused as refusal:
            if refusal.status not in {NOT_FOUND, CONFLICT}:
                self._refuse(run.job, f"Kubernetes refused to place {place}: {refusal}")
            return True
        self._gated.pop(f"{pod.metadata.namespace}/{pod.metadata.name}", None)
        run.pod = msgspec.json.decode(content, type=Pod)
        return True

    def _refuse(self, job: str, why: str) -> None:
        """Ends the runs of a Job that cannot start, once the Job is suspended."""
        for run in self.runs.values():
            if run.job == job and run.end is None:
                run.is_stopping, run.refusal = True, why
