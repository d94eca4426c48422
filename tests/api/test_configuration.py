"""The Configuration over HTTP: one object, the five verbs, and apply."""

from tests.api.callers import Api, local_queue, workload

PATH = "/v1/configurations"
BODY = {
    "apiVersion": "headgate.dev/v1",
    "kind": "Configuration",
    "metadata": {"name": "default"},
    "spec": {"fairSharing": {}, "quotaRelease": "OnTerminating"},
}
KUEUES = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
resources:
  transformations:
  - {input: nvidia.com/mig, strategy: Replace, outputs: {example.com/units: 0.5}}
"""


def test_the_one_configuration_supports_all_verbs(admin: Api) -> None:
    admin.delete(f"{PATH}/default")  # what other tests of this module left
    made = admin.post(PATH, BODY)
    assert made.status_code == 201, made.text
    assert made.json()["spec"]["quotaRelease"] == "OnTerminating"
    assert admin.get(PATH).json()["items"][0]["metadata"]["name"] == "default"
    changed = {**BODY, "spec": {}}
    put = admin.put(f"{PATH}/default", changed, If_Match=made.headers["etag"])
    assert put.status_code == 200, put.text
    assert "fairSharing" not in put.json()["spec"]
    assert admin.delete(f"{PATH}/default", If_Match=put.headers["etag"]).status_code == 200
    assert admin.get(f"{PATH}/default").status_code == 404


def test_a_second_configuration_is_refused_with_the_name_there_may_be(admin: Api) -> None:
    other = admin.post(PATH, {**BODY, "metadata": {"name": "other"}})
    assert other.status_code == 422, other.text
    assert other.json()["errors"][0]["pointer"] == "/metadata/name"
    assert "default" in other.json()["detail"]


def test_kueues_own_file_can_be_applied(admin: Api) -> None:
    applied = admin.send("/v1/apply", KUEUES.encode(), "application/yaml")
    assert applied.status_code == 200, applied.text
    shown = admin.get(f"{PATH}/default").json()
    (transformation,) = shown["spec"]["resources"]["transformations"]
    assert transformation["outputs"] == {"example.com/units": "500m"}


def test_only_an_admin_changes_it_and_every_user_reads_it(callers: dict[str, Api]) -> None:
    callers["admin"].send("/v1/apply", KUEUES.encode(), "application/yaml")
    assert callers["viewer"].get(f"{PATH}/default").status_code == 200
    assert callers["submitter"].get(f"{PATH}/default").status_code == 200
    assert callers["submitter"].post(PATH, BODY).status_code == 403


def test_a_waiting_workload_shows_what_its_requests_count_for_quota(admin: Api) -> None:
    admin.delete(f"{PATH}/default")
    transformation = {"input": "cpu", "strategy": "Replace", "outputs": {"example.com/units": 2}}
    rules = {"resources": {"transformations": [transformation]}}
    made = admin.post(PATH, {**BODY, "spec": rules})
    submitted = admin.post("/v1/namespaces/team-a/workloads", workload("counts", queue="none"))
    position = int(submitted.json()["metadata"]["resourceVersion"])
    shown = admin.caught_up("/v1/namespaces/team-a/workloads/counts", position).json()
    assert made.status_code == 201
    (requests,) = shown["status"]["resourceRequests"]
    assert list(requests["resources"]) == ["example.com/units"]
    admin.delete(f"{PATH}/default")


def test_a_workload_without_a_queue_goes_to_the_default_one(admin: Api) -> None:
    admin.post("/v1/namespaces/team-a/localqueues", local_queue("default", "anything"))
    body = workload("lost", queue="x")
    del body["spec"]["queueName"]
    path = "/v1/namespaces/team-a/workloads"
    position = admin.get("/v1/namespaces/team-a/localqueues/default").json()["metadata"]
    admin.caught_up("/v1/overview", int(position["resourceVersion"]))
    made = admin.post(path, body)
    assert made.json()["spec"]["queueName"] == "default"
    again = admin.put(f"{path}/lost", body, If_Match=made.headers["etag"])
    assert again.json()["spec"]["queueName"] == "default"
