"""Many documents in one request, each with its outcome."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.callers import Api, cluster_queue, flavor, local_queue, workload
from tests.hypothesis_profiles import examples

YAML = b"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: yamlish}
spec: {}
---
# a comment between documents
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: urgent}
value: 500
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: with-class, namespace: team-a}
spec:
  queueName: main
  priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: urgent}
  podSets:
  - name: main
    count: 1
    template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: a-job, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: main}}
spec:
  parallelism: 3
  completions: 3
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]
"""


def test_yaml_documents_are_created_together(admin: Api) -> None:
    answer = admin.send("/v1/apply", YAML, "application/yaml")
    assert answer.status_code == 200, answer.text
    results = answer.json()["results"]
    assert [(r["kind"], r["outcome"]) for r in results] == [
        ("ResourceFlavor", "created"),
        ("WorkloadPriorityClass", "created"),
        ("Workload", "created"),
        ("Workload", "created"),
    ]
    position = answer.json()["position"]
    assert {r["resourceVersion"] for r in results} == {str(position)}
    found = admin.get("/v1/namespaces/team-a/workloads/with-class").json()
    assert found["spec"]["priority"] == 500


def test_applying_the_same_again_changes_nothing(admin: Api) -> None:
    documents = YAML
    for name in (b"yamlish", b"urgent", b"with-class", b"a-job"):
        documents = documents.replace(name, name + b"-again")
    first = admin.send("/v1/apply", documents, "application/yaml")
    again = admin.send("/v1/apply", documents, "application/yaml")
    assert again.status_code == 200
    assert {r["outcome"] for r in again.json()["results"]} == {"unchanged"}
    assert again.json()["position"] >= first.json()["position"]


def test_good_objects_continue_beside_bad_ones(admin: Api) -> None:
    items = [flavor("fine"), flavor("Not Fine"), {"kind": "Nonsense"}, 7, cluster_queue("beside")]
    answer = admin.post("/v1/apply", {"apiVersion": "v1", "kind": "List", "items": items})
    assert answer.status_code == 207, answer.text
    outcomes = [result["outcome"] for result in answer.json()["results"]]
    assert outcomes == ["created", "rejected", "rejected", "rejected", "created"]
    problem = answer.json()["results"][1]["problem"]
    assert problem["errors"][0]["pointer"] == "/metadata/name"


def test_a_change_is_distinguished_from_a_creation(admin: Api) -> None:
    admin.post("/v1/apply", cluster_queue("turning"))
    answer = admin.post("/v1/apply", cluster_queue("turning", cpu="20"))
    assert answer.json()["results"][0]["outcome"] == "changed"
    found = admin.get("/v1/clusterqueues/turning")
    assert found.headers["etag"] == '"2"'


def test_dry_run_tells_the_outcome_and_appends_nothing(admin: Api) -> None:
    before = admin.get("/v1/system").json()["position"]
    answer = admin.post("/v1/apply?dryRun=All", flavor("only-tried"))
    assert answer.json()["results"][0]["outcome"] == "created"
    assert admin.get("/v1/resourceflavors/only-tried").status_code == 404
    refused = admin.post("/v1/apply?dryRun=All", flavor("Only Tried"))
    assert refused.status_code == 422
    assert admin.get("/v1/system").json()["position"] == before
    assert admin.post("/v1/apply?dryRun=Some", flavor("x")).status_code == 422


def test_one_refused_object_alone_is_reported_in_the_same_shape(admin: Api) -> None:
    answer = admin.post("/v1/apply", local_queue("Bad Name", "cq"))
    assert answer.status_code == 422
    assert answer.json()["results"][0]["outcome"] == "rejected"


def test_a_stale_resource_version_is_refused(admin: Api) -> None:
    admin.post("/v1/apply", cluster_queue("versioned"))
    body = admin.get("/v1/clusterqueues/versioned").json()
    body["spec"]["queueingStrategy"] = "StrictFIFO"
    assert admin.post("/v1/apply", body).json()["results"][0]["outcome"] == "changed"
    body["spec"]["queueingStrategy"] = "BestEffortFIFO"
    answer = admin.post("/v1/apply", body)
    assert answer.json()["results"][0]["problem"]["status"] == 412


def test_an_empty_body_is_refused(admin: Api) -> None:
    assert admin.send("/v1/apply", b"", "application/yaml").status_code == 422
    assert admin.send("/v1/apply", b"---\n---\n", "application/yaml").status_code == 422


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4)
    ),
    max_leaves=12,
)
SAMPLES = (flavor("f"), cluster_queue("c"), local_queue("l", "c"), workload("w"))


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A manifest with one value somewhere in it replaced by nonsense."""
    body = draw(st.sampled_from(SAMPLES))
    return _damaged(draw, body)


def _damaged(draw: st.DrawFn, value: Any) -> Any:
    if isinstance(value, dict) and value and draw(st.integers(0, 9)):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: _damaged(draw, value[key])}
    if isinstance(value, list) and value and draw(st.integers(0, 9)):
        index = draw(st.integers(0, len(value) - 1))
        return [*value[:index], _damaged(draw, value[index]), *value[index + 1 :]]
    return draw(JSON)


RELAXED = settings(
    deadline=None,
    max_examples=examples(600),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@RELAXED
@given(body=damaged() | JSON)
def test_nonsense_is_refused_and_never_a_bug(admin: Api, body: Any) -> None:
    for path in ("/v1/apply?dryRun=All", "/v1/namespaces/team-a/workloads?dryRun=All"):
        answer = admin.post(path, body)
        assert answer.status_code < 500, (path, body, answer.text)


@RELAXED
@given(body=damaged())
def test_nonsense_that_is_taken_can_be_shown(admin: Api, body: Any) -> None:
    answer = admin.post("/v1/apply", body)
    assert answer.status_code < 500, (body, answer.text)
    for result in answer.json().get("results", []):
        if result["outcome"] != "rejected":
            kind = f"{result['kind'].lower()}s"
            listed = admin.get(f"/v1/{kind}?limit=1000")
            assert listed.status_code == 200, (body, listed.text)


@RELAXED
@given(content=st.binary(max_size=200))
def test_any_bytes_are_refused_and_never_a_bug(admin: Api, content: bytes) -> None:
    for kind in ("application/yaml", "application/json"):
        answer = admin.send("/v1/apply?dryRun=All", content, kind)
        assert answer.status_code < 500, answer.text
