"""The Job controller of the double: it creates, counts and deletes the pods of Jobs."""

from typing import Any

from tests.kubernetes.api_double import TERMINAL, ApiDouble, Key, Object

INDEX = "batch.kubernetes.io/job-completion-index"


class JobController:
    """Follows Jobs and their pods as kube-controller-manager does."""

    def __init__(self, api: ApiDouble) -> None:
        self._api = api
        self._is_busy = False
        api.do(lambda: api.store.listeners.append(self._take))

    def create(
        self, name: str, namespace: str = "team-a", *, queue: str = "main", **spec: Any
    ) -> None:
        """A suspended Job as a user creates it, for a queue."""
        labels = {"kueue.x-k8s.io/queue-name": queue}
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
            return
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
            job["status"] = {"conditions": [condition]}

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
