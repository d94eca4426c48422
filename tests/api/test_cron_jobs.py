"""CronJobs make their Jobs at scheduled times, each once, however many processes look."""

from collections.abc import Callable
from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from headgate.api.cron_jobs import CronJobRunner
from headgate.application.commands.execute import catch_up
from headgate.bootstrap import Platform
from headgate.domain.kinds.job_templates import MICROSECONDS_PER_MINUTE
from tests.api.callers import Api, cluster_queue, flavor, local_queue

HERE = "/v1/namespaces/team-a"
POD = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
QUEUE = "kueue.x-k8s.io/queue-name"
STEP = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}


class Schedule:
    """An hour in which the CronJobs of this module are due, long after the tests have ended."""

    def __init__(self, client: TestClient[Litestar], platform: Platform) -> None:
        self.client, self.platform = client, platform
        hour = platform.event_log.now() // MICROSECONDS_PER_MINUTE // 60 + 2
        self.start, self.every_minute = hour * 60, f"* {hour % 24} * * *"

    def run(self, minute: int, *runners: CronJobRunner) -> list[str]:
        """The names of the Jobs that are made so many minutes after the hour has begun."""
        at = (self.start + minute) * MICROSECONDS_PER_MINUTE
        made = []
        self.client.blocking_portal.call(catch_up, self.client.app.state.services)
        for runner in runners or (self.runner(),):
            made += self.client.blocking_portal.call(runner.run_due, at)
        return made

    def runner(self) -> CronJobRunner:
        return CronJobRunner(self.client.app.state.services)

    def named(self, name: str, minute: int) -> str:
        return f"{name}-{self.start + minute}"


@pytest.fixture(scope="module")
def schedule_of(client: TestClient[Litestar], platform: Platform) -> Schedule:
    return Schedule(client, platform)


@pytest.fixture(scope="module", autouse=True)
def _queues(admin: Api) -> None:
    for path, body in (
        ("/v1/resourceflavors", flavor()),
        ("/v1/clusterqueues", cluster_queue("gpu")),
        (f"{HERE}/localqueues", local_queue("main", "gpu")),
    ):
        assert admin.post(path, body).status_code == 201


@pytest.fixture
def cron_job(admin: Api, schedule_of: Schedule) -> Callable[..., None]:
    """Creates a CronJob, in place of those of the tests before."""

    def create(name: str, labels: dict[str, str] | None = None, **spec: Any) -> None:
        for each in admin.get("/v1/cronjobs").json()["items"]:
            admin.delete(f"{HERE}/cronjobs/{each['metadata']['name']}")
        template = {"metadata": {"labels": labels or {QUEUE: "main"}}, "spec": job()}
        whole = {"schedule": schedule_of.every_minute, "jobTemplate": template, **spec}
        made = admin.post(
            f"{HERE}/cronjobs",
            {
                "apiVersion": "batch/v1",
                "kind": "CronJob",
                "metadata": {"name": name},
                "spec": whole,
            },
        )
        assert made.status_code == 201, made.text

    return create


def job() -> dict[str, Any]:
    return {"parallelism": 2, "completions": 2, "template": {"spec": POD}}


def jobs_of(admin: Api, platform: Platform, name: str) -> list[dict[str, Any]]:
    path = f"{HERE}/workloads?labelSelector=headgate.dev/cron-job%3D{name}"
    found: list[dict[str, Any]] = admin.caught_up(path, platform.event_log.head()).json()["items"]
    return sorted(found, key=lambda each: each["metadata"]["name"])


def test_a_scheduled_time_makes_one_job_from_however_many_processes(
    admin: Api, platform: Platform, schedule_of: Schedule, cron_job: Callable[..., None]
) -> None:
    cron_job("often")
    schedule_of.run(-1)
    schedule_of.run(0, schedule_of.runner(), schedule_of.runner())
    schedule_of.run(0)
    (made,) = jobs_of(admin, platform, "often")
    assert made["metadata"]["name"] == schedule_of.named("often", 0)
    assert made["metadata"]["labels"]["headgate.dev/kind"] == "Job"
    assert made["spec"]["queueName"] == "main"
    assert [(one["name"], one["count"]) for one in made["spec"]["podSets"]] == [("main", 2)]
    shown = admin.get(f"{HERE}/cronjobs/often").json()
    assert shown["status"]["lastScheduleTime"].endswith(":00:00Z")
    recorded = admin.get("/v1/events?type=cron_job.scheduled").json()["items"]
    assert len([each for each in recorded if each["stream"].endswith("/often")]) == 1


def test_of_missed_times_the_last_is_made_up_for_within_the_deadline(
    admin: Api, platform: Platform, schedule_of: Schedule, cron_job: Callable[..., None]
) -> None:
    cron_job("late")
    assert schedule_of.run(30) == [schedule_of.named("late", 30)]
    assert schedule_of.run(70) == [schedule_of.named("late", 59)]
    cron_job("strict", startingDeadlineSeconds=120)
    assert schedule_of.run(62) == []
    cron_job("lenient", startingDeadlineSeconds=120)
    assert schedule_of.run(61) == [schedule_of.named("lenient", 59)]
    assert len(jobs_of(admin, platform, "late")) == 2


def test_a_suspended_cron_job_makes_nothing_until_it_goes_on(
    admin: Api, schedule_of: Schedule, cron_job: Callable[..., None]
) -> None:
    cron_job("paused", suspend=True)
    assert schedule_of.run(3) == []
    path = f"{HERE}/cronjobs/paused"
    shown = admin.get(path)
    resumed = {**shown.json(), "spec": {**shown.json()["spec"], "suspend": False}}
    assert admin.put(path, resumed, If_Match=shown.headers["etag"]).status_code == 200
    assert schedule_of.run(5) == [schedule_of.named("paused", 5)]


def test_forbid_waits_for_earlier_jobs_and_replace_deletes_them(
    admin: Api, platform: Platform, schedule_of: Schedule, cron_job: Callable[..., None]
) -> None:
    cron_job("alone", concurrencyPolicy="Forbid")
    first = schedule_of.named("alone", 1)
    assert schedule_of.run(1) == [first]
    assert schedule_of.run(2) == []
    assert admin.delete(f"{HERE}/workloads/{first}").status_code == 200
    assert schedule_of.run(4) == [schedule_of.named("alone", 4)]
    cron_job("newest", concurrencyPolicy="Replace")
    schedule_of.run(1)
    assert schedule_of.run(2) == [schedule_of.named("newest", 2)]
    (left,) = jobs_of(admin, platform, "newest")
    assert left["metadata"]["name"] == schedule_of.named("newest", 2)


def test_a_refused_job_is_told_and_the_next_time_is_served(
    admin: Api, platform: Platform, schedule_of: Schedule, cron_job: Callable[..., None]
) -> None:
    cron_job("refused", {QUEUE: "main", "kueue.x-k8s.io/priority-class": "absent"})
    schedule_of.run(1)
    path = f"{HERE}/cronjobs/refused"
    shown = admin.caught_up(path, platform.event_log.head()).json()
    assert "absent" in shown["status"]["refusal"]
    assert jobs_of(admin, platform, "refused") == []


def test_ended_jobs_stay_up_to_the_limits(
    admin: Api, platform: Platform, schedule_of: Schedule, cron_job: Callable[..., None]
) -> None:
    cron_job("kept", successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0)
    names = [schedule_of.run(minute)[0] for minute in (1, 2, 3)]
    for name in names:
        assert admin.post(f"{HERE}/workloads/{name}/cancel", {"reason": "x"}).status_code == 200
    schedule_of.run(4)
    left = [each["metadata"]["name"] for each in jobs_of(admin, platform, "kept")]
    assert left == [schedule_of.named("kept", 4)]


def test_a_train_job_is_sized_by_the_runtime_of_its_namespace(admin: Api) -> None:
    """The runtime was applied before; one of the cluster with the same name is another."""
    for count, path, kind in (
        (4, f"{HERE}/trainingruntimes", "TrainingRuntime"),
        (2, "/v1/clustertrainingruntimes", "ClusterTrainingRuntime"),
    ):
        template = {"metadata": {"labels": STEP}, "spec": {"template": {"spec": POD}}}
        job = {"name": "node", "template": template}
        spec = {"mlPolicy": {"numNodes": count}, "template": {"spec": {"replicatedJobs": [job]}}}
        made = admin.post(path, a_trainer_object(kind, "torch", spec))
        assert made.status_code == 201, made.text
    for name, kind, count in (("own", "TrainingRuntime", 4), ("all", "ClusterTrainingRuntime", 2)):
        body = a_trainer_object("TrainJob", name, {"runtimeRef": {"name": "torch", "kind": kind}})
        applied = admin.post("/v1/apply", body)
        assert applied.status_code == 200, applied.text
        shown = admin.get(f"{HERE}/workloads/{name}").json()
        assert [each["count"] for each in shown["spec"]["podSets"]] == [count]


def a_trainer_object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "labels": {QUEUE: "main"}}
    if kind != "ClusterTrainingRuntime":
        metadata["namespace"] = "team-a"
    version = "trainer.kubeflow.org/v1alpha1"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
