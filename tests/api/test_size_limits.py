"""Sizes of objects and of namespaces, and lengths of texts: each refused with its limit."""

from collections.abc import Iterator
from typing import Any

import pytest
from httpx import Response
from litestar import Litestar

from headgate.adapters.manifests.documents import MAX_KEYS
from headgate.adapters.manifests.parse import MAX_OBJECT_BYTES
from headgate.api.openapi import document
from tests.api.callers import KUEUE, Api, cluster_queue, open_queue, workload

HERE = "/v1/namespaces/team-a/workloads"


def configuration(**spec: Any) -> dict[str, Any]:
    named = {"apiVersion": "headgate.dev/v1", "kind": "Configuration"}
    return {**named, "metadata": {"name": "default"}, "spec": spec}


def refused(answer: Any) -> tuple[str, str, str]:
    """The code, pointer and text of the only error of a 422."""
    assert answer.status_code == 422, answer.text[:500]
    (error,) = answer.json()["errors"]
    assert answer.json()["remedy"] or error["remedy"]
    return error["code"], error["pointer"], error["rule"]


def marked(name: str, **metadata: Any) -> dict[str, Any]:
    made = workload(name)
    made["metadata"] |= metadata
    return made


@pytest.fixture(scope="module", autouse=True)
def _queue(admin: Api) -> None:
    open_queue(admin, "main")


def test_seventy_thousand_labels_are_refused(admin: Api) -> None:
    labels = {f"l{number}": "" for number in range(70_000)}

    code, pointer, rule = refused(admin.post(HERE, marked("many", labels=labels)))

    assert (code, pointer) == ("TooMany", "/metadata/labels")
    assert "At most 1000 labels" in rule


def test_more_keys_than_a_mapping_may_have_are_refused_before_it_is_made(admin: Api) -> None:
    body = b"{" + b",".join(b'"k%d":0' % number for number in range(MAX_KEYS + 1)) + b"}"

    answer = admin.send("/v1/apply", body, "application/json")

    assert answer.json()["errors"][0]["rule"].endswith("at most 100000 allowed")


def test_of_a_list_far_beyond_its_limit_only_the_count_is_told(admin: Api) -> None:
    named = [{"name": f"r-{number}", "nominalQuota": "1"} for number in range(5_000)]
    groups = [
        {
            "coveredResources": [each["name"] for each in named],
            "flavors": [{"name": "default", "resources": named}],
        }
    ]
    levels = [{"nodeLabel": "BROKEN LABEL"}] * 5_000

    queue = admin.post("/v1/clusterqueues", cluster_queue("wide", resourceGroups=groups))
    topology = admin.post(
        "/v1/topologies",
        {
            "apiVersion": KUEUE,
            "kind": "Topology",
            "metadata": {"name": "deep"},
            "spec": {"levels": levels},
        },
    )

    for answer in (queue, topology):
        assert {error["code"] for error in answer.json()["errors"]} == {"TooMany"}


def test_annotations_have_the_bytes_that_kubernetes_allows(admin: Api) -> None:
    most = {"note": "ä" * (128 * 1024 - 2)}
    assert admin.post(HERE, marked("annotated", annotations=most)).status_code == 201

    more = {"note": "ä" * (128 * 1024 - 1)}
    code, pointer, _ = refused(admin.post(HERE, marked("annotated-more", annotations=more)))

    assert (code, pointer) == ("AnnotationsTooLong", "/metadata/annotations")


def test_an_object_larger_than_etcd_takes_is_refused_and_a_smaller_one_is_not(admin: Api) -> None:
    container = workload("x")["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
    large = marked("large")
    spec = large["spec"]["podSets"][0]["template"]["spec"]
    spec["containers"] = [container | {"command": ["x" * (MAX_OBJECT_BYTES - 2_000)]}]
    assert admin.post(HERE, large).status_code == 201

    spec["containers"] = [container | {"command": ["x" * MAX_OBJECT_BYTES]}]
    large["metadata"]["name"] = "larger"
    code, pointer, _ = refused(admin.post(HERE, large))

    assert (code, pointer) == ("ObjectTooLarge", "")


def test_an_object_that_grows_by_aliases_is_measured_as_it_is(admin: Api) -> None:
    lines = ["apiVersion: kueue.x-k8s.io/v1beta2", "kind: Workload", f"a: &a {'x' * 100_000}"]
    lines += ["metadata: {name: aliased, namespace: team-a}", "b: [" + "*a, " * 20 + "]"]

    answer = admin.send(HERE, "\n".join(lines).encode(), "application/yaml")

    assert refused(answer)[0] == "ObjectTooLarge"


def seen(admin: Api, answer: Response) -> None:
    """Waits until the API has folded what it answered: the limit counts what is folded."""
    admin.caught_up("/v1/queues", int(answer.headers["x-log-position"]))


@pytest.fixture
def few_objects(admin: Api) -> Iterator[int]:
    """A limit that leaves room for two more objects in team-a."""
    count = 1 + len(admin.get(f"{HERE}?limit=500").json()["items"])
    limits = {"objectsPerNamespace": count + 2}
    made = admin.post("/v1/configurations", configuration(limits=limits))
    assert made.status_code == 201, made.text
    yield count + 2
    found = admin.get("/v1/configurations/default")
    gone = admin.delete("/v1/configurations/default", If_Match=found.headers["etag"])
    assert gone.status_code == 200, gone.text


def test_a_full_namespace_takes_no_more_objects(admin: Api, few_objects: int) -> None:
    seen(admin, admin.post(HERE, workload("first")))
    objects = [workload(name) for name in ("second", "third", "fourth")]
    batch = admin.post("/v1/apply", {"apiVersion": "v1", "kind": "List", "items": objects})
    assert batch.status_code == 207
    seen(admin, batch)

    code, pointer, rule = refused(admin.post(HERE, workload("third")))

    assert (code, pointer) == ("NamespaceFull", "/metadata/namespace")
    assert f"at most {few_objects} allowed" in rule
    elsewhere = workload("third", namespace="team-b")
    assert admin.post("/v1/namespaces/team-b/workloads", elsewhere).status_code == 201


def test_changes_are_taken_in_a_full_namespace(admin: Api, few_objects: int) -> None:
    for number in range(few_objects):
        answer = admin.post(HERE, workload(f"fill-{number}"))
        if answer.status_code == 201:
            seen(admin, answer)
    assert admin.post(HERE, workload("one-more")).status_code == 422

    any_of_them = admin.get(HERE).json()["items"][0]["metadata"]["name"]
    answer = admin.post(f"{HERE}/{any_of_them}/hold", {"reason": "full"})

    assert answer.status_code == 200, answer.text


def test_a_long_query_parameter_is_refused_by_name(admin: Api) -> None:
    code, pointer, _ = refused(admin.get(f"/v1/workloads?queueName={'x' * 8_001}"))

    assert (code, pointer) == ("LengthInvalid", "/queueName")


def test_every_text_of_a_request_that_is_no_object_is_bounded(application: Litestar) -> None:
    found = document(application)
    unbounded: set[str] = set()
    bodies = [
        reference
        for item in found["paths"].values()
        for operation in item.values()
        for media in operation.get("requestBody", {}).get("content", {}).values()
        if (reference := media["schema"].get("$ref", "").rpartition("/")[2])
        and not reference.endswith("Object")
    ]
    seen = set(bodies)
    while bodies:
        name = bodies.pop()
        _unbounded_texts(name, found["components"]["schemas"][name], unbounded)
        for other in _schemas_of(found["components"]["schemas"][name]):
            if other not in seen and not other.endswith(("Object", "ObjectMeta", "Taint")):
                seen.add(other)
                bodies.append(other)

    assert len(seen) > 20
    assert sorted(unbounded) == []


def _schemas_of(schema: Any) -> set[str]:
    """The names of the schemas that a schema refers to."""
    if isinstance(schema, dict):
        named = {str(schema["$ref"]).rpartition("/")[2]} if "$ref" in schema else set()
        return named.union(*map(_schemas_of, schema.values()))
    return set().union(*map(_schemas_of, schema)) if isinstance(schema, list) else set()


def _unbounded_texts(place: str, schema: dict[str, Any], unbounded: set[str]) -> None:
    """Adds the place of each text without a limit.

    Members of lists, mappings and unions are bounded by their types, which the document leaves out.
    """
    if "maxLength" in schema:
        return
    if schema.get("type") == "string" and not {"enum", "const"} & set(schema):
        unbounded.add(place)
    for name, inner in schema.get("properties", {}).items():
        _unbounded_texts(f"{place}.{name}", inner, unbounded)
