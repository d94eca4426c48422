"""The controllers of the double for Jobs and JobSets, which create, count and delete their pods."""

import copy
from typing import Any

from tests.kubernetes.api_double import TERMINAL, ApiDouble
from tests.kubernetes.object_store import Key, Object, now_text

INDEX = "batch.kubernetes.io/job-completion-index"
QUEUE = "kueue.x-k8s.io/queue-name"
JOBSET = "jobset.sigs.k8s.io"
MERGED = ("nodeSelector", "tolerations", "schedulingGates")


class JobController:
    """Follows Jobs and their pods as kube-controller-manager does."""

    def __init__(self, api: ApiDouble) -> None:
        self._api = api
        self._is_busy = False
        self._started: set[str] = set()
        api.do(lambda: api.store.listeners.append(self._take))

    def create(
        self, name: str, namespace: str = "team-a", *, queue: str = "main", **spec: Any
    ) -> None:
        """A suspended Job as a user creates it, for a queue."""
        labels = {QUEUE: queue}
        body = {
            "metadata": {"name": name, "labels": labels},
            "spec": {"suspend": True, "completionMode": "Indexed", **spec},
        }
        self._api.do(lambda: self._api.store.create("jobs", namespace, body))

    def job(self, name: str, namespace: str = "team-a") -> Object:
        found = self._api.do(lambda: self._api.store.find("jobs", namespace, name))
        assert found is not None
        return found

    def delete(self, name: str, namespace: str = "team-a") -> None:
        """Deletes a Job with its pods."""

        def act() -> None:
            pods = self._pods(self._api.store.objects["jobs", namespace, name])
            self._api.store.remove(("jobs", namespace, name))
            for key, _ in pods:
                self._api.delete(key, None)

        self._api.do(act)

    def _take(self, kind: str, key: Key, found: Object) -> None:
        if key[0] not in {"jobs", "pods"} or self._is_busy:
            return
        self._is_busy = True
        try:
            for each in [each for each in self._api.store.objects if each[0] == "jobs"]:
                self._reconcile(each)
        finally:
            self._is_busy = False

    def _reconcile(self, key: Key) -> None:
        job = self._api.store.objects[key]
        spec, status = job["spec"], job.get("status", {})
        if status.get("conditions"):
            return
        pods = self._pods(job)
        active = [each for each in pods if each[1]["status"].get("phase") not in TERMINAL]
        if spec.get("suspend"):
            for pod_key, pod in active:
                if "deletionTimestamp" not in pod["metadata"]:
                    self._api.delete(pod_key, None)
            if not active and job["metadata"]["uid"] in self._started:
                self._started.discard(job["metadata"]["uid"])
                self._api.store.change(key, lambda found: found["status"].pop("startTime"))
            return
        if job["metadata"]["uid"] not in self._started:
            self._started.add(job["metadata"]["uid"])
            started = {"startTime": now_text()}
            job = self._api.store.change(key, lambda found: found.update(status=started))
        done = {self._index(pod) for _, pod in pods if pod["status"].get("phase") == "Succeeded"}
        deleted = [pod for _, pod in pods if "deletionTimestamp" in pod["metadata"]]
        failed = [
            pod for _, pod in pods if pod["status"].get("phase") == "Failed" and pod not in deleted
        ]
        completions = spec.get("completions", 1)
        if len(done) == completions:
            self._end(key, "Complete", "")
        elif len(failed) > spec.get("backoffLimit", 6):
            self._end(key, "Failed", "BackoffLimitExceeded")
        else:
            taken = done | {self._index(pod) for _, pod in active}
            for index in [each for each in range(completions) if each not in taken]:
                self._create_pod(job, index)

    def _pods(self, job: Object) -> list[tuple[Key, Object]]:
        uid = job["metadata"]["uid"]
        return [
            (key, each)
            for key, each in list(self._api.store.objects.items())
            if key[0] == "pods"
            and any(owner["uid"] == uid for owner in each["metadata"].get("ownerReferences", ()))
        ]

    def _index(self, pod: Object) -> int:
        return int(pod["metadata"]["annotations"][INDEX])

    def _end(self, key: Key, kind: str, reason: str) -> None:
        condition = {"type": kind, "status": "True", "reason": reason, "message": ""}

        def change(job: Object) -> None:
            job["status"]["conditions"] = [condition]

        self._api.store.change(key, change)

    def _create_pod(self, job: Object, index: int) -> None:
        template, metadata = job["spec"]["template"], job["metadata"]
        own = template.get("metadata", {})
        owner = {
            "apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"],
            "uid": metadata["uid"], "controller": True,
        }  # fmt: skip
        body = {
            "metadata": {
                "generateName": f"{metadata['name']}-{index}-",
                "labels": {**own.get("labels", {}), INDEX: str(index)},
                "annotations": {**own.get("annotations", {}), INDEX: str(index)},
                "ownerReferences": [owner],
            },
            "spec": template["spec"],
            "status": {"phase": "Pending"},
        }
        self._api.store.create("pods", metadata["namespace"], body)


class JobSetController:
    """Follows JobSets as the controller of jobset.sigs.k8s.io does; a Job controller is beside it.

    While a JobSet is suspended its Jobs are; what was changed in its templates meanwhile is merged
    into those of its Jobs once it goes on.
    """

    def __init__(self, api: ApiDouble) -> None:
        self._api = api
        self._is_busy = False
        api.has_job_sets = True
        api.do(lambda: api.store.listeners.append(self._take))

    def create(self, name: str, namespace: str = "team-a", **replicated: Object) -> None:
        """A suspended JobSet as a user creates it; replicated Jobs by name."""
        jobs = [{"name": job, **fields} for job, fields in replicated.items()]
        body = {
            "metadata": {"name": name, "labels": {QUEUE: "main"}},
            "spec": {"suspend": True, "replicatedJobs": jobs},
        }
        self._api.do(lambda: self._api.store.create("jobsets", namespace, body))

    def _take(self, kind: str, key: Key, found: Object) -> None:
        if key[0] not in {"jobsets", "jobs"} or self._is_busy:
            return
        self._is_busy = True
        try:
            for each in [each for each in self._api.store.objects if each[0] == "jobsets"]:
                self._reconcile(each)
        finally:
            self._is_busy = False

    def _reconcile(self, key: Key) -> None:
        _, namespace, name = key
        number = 0
        for replicated in self._api.store.objects[key]["spec"]["replicatedJobs"]:
            for index in range(replicated.get("replicas", 1)):
                job = ("jobs", namespace, f"{name}-{replicated['name']}-{index}")
                if job not in self._api.store.objects:
                    self._create(key, job, replicated, {"job-index": index, "global": number})
                self._follow(key, job, replicated)
                number += 1
        self._complete(key)

    def _create(self, key: Key, job: Key, replicated: Object, numbers: dict[str, int]) -> None:
        owner = self._api.store.objects[key]["metadata"]
        labels = {
            f"{JOBSET}/jobset-name": owner["name"],
            f"{JOBSET}/replicatedjob-name": replicated["name"],
            f"{JOBSET}/job-index": str(numbers["job-index"]),
            f"{JOBSET}/job-global-index": str(numbers["global"]),
        }
        spec = copy.deepcopy(replicated["template"]["spec"])
        template = spec["template"].setdefault("metadata", {})
        for part in ("labels", "annotations"):
            template[part] = {**(template.get(part) or {}), **labels}
        reference = {
            "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": owner["name"],
            "uid": owner["uid"], "controller": True,
        }  # fmt: skip
        metadata = {"name": job[2], "labels": labels, "ownerReferences": [reference]}
        spec = {"completionMode": "Indexed", **spec, "suspend": True}
        body = {"metadata": metadata, "spec": spec}
        self._api.store.create("jobs", job[1], body)

    def _follow(self, key: Key, job: Key, replicated: Object) -> None:
        """Suspends a Job with its JobSet, and has it go on with what that has changed."""
        suspends = self._api.store.objects[key]["spec"]["suspend"]
        wanted = replicated["template"]["spec"]["template"]

        def change(found: Object) -> None:
            found["spec"]["suspend"] = suspends
            if suspends:
                return
            template = found["spec"]["template"]
            for part in ("labels", "annotations"):
                template["metadata"][part] |= wanted.get("metadata", {}).get(part) or {}
            for field in MERGED:
                if field in wanted["spec"]:
                    template["spec"][field] = copy.deepcopy(wanted["spec"][field])

        if self._api.store.objects[job]["spec"]["suspend"] != suspends:
            self._api.store.change(job, change)

    def _complete(self, key: Key) -> None:
        uid = self._api.store.objects[key]["metadata"]["uid"]
        jobs = [
            each
            for found, each in self._api.store.objects.items()
            if found[0] == "jobs"
            and any(owner["uid"] == uid for owner in each["metadata"].get("ownerReferences", ()))
        ]
        ends = [each.get("status", {}).get("conditions", [{}])[0].get("type") for each in jobs]
        if all(each == "Complete" for each in ends):
            condition = {"type": "Completed", "status": "True", "reason": "AllJobsCompleted"}
            self._api.store.change(
                key, lambda found: found.update(status={"conditions": [condition]})
            )
