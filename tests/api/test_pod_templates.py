"""Pod templates are read back as submitted, and stand beside the log instead of in its events."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import psycopg
import pytest

from headgate.application.verify.verify import Verifier
from headgate.bootstrap import Platform
from headgate.settings import Settings
from tests.api.callers import Api, open_queue, workload

HERE = "/v1/namespaces/team-a/workloads"
TEMPLATE: dict[str, Any] = {
    "spec": {
        "terminationGracePeriodSeconds": 20,
        "restartPolicy": "Never",
        "volumes": [{"name": "data", "hostPath": {"path": "/srv/data"}}],
        "containers": [
            {
                "name": "train",
                "image": "registry.example.com/train:7",
                "command": ["python", "train.py"],
                "args": ["--epochs", "3"],
                "workingDir": "/srv/data",
                "env": [
                    {"name": "API_TOKEN", "value": "s3cr3t-of-team-a"},
                    {
                        "name": "DB",
                        "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}},
                    },
                ],
                "resources": {"requests": {"cpu": "1500m"}},
                "volumeMounts": [{"name": "data", "mountPath": "/srv/data"}],
            }
        ],
    }
}


def running(name: str, template: dict[str, Any] = TEMPLATE) -> dict[str, Any]:
    made = workload(name)
    made["spec"]["podSets"][0]["template"] = deepcopy(template)
    return made


def template_of(shown: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = shown["spec"]["podSets"][0]["template"]
    return found


@pytest.fixture(scope="module", autouse=True)
def _queue(admin: Api) -> None:
    open_queue(admin, "gpu", "main")


def test_a_template_is_read_as_it_was_submitted_wherever_a_workload_is_shown(
    admin: Api, callers: dict[str, Api], schedule: Callable[[], int]
) -> None:
    open_queue(admin, "shown")
    body = running("shown")
    body["spec"]["queueName"] = "shown"
    made = admin.post(HERE, body, Idempotency_Key="shown-1")
    again = admin.post(HERE, body, Idempotency_Key="shown-1")
    position = schedule()
    read = admin.caught_up(f"{HERE}/shown", position).json()
    listed = admin.get(HERE).json()["items"]
    assigned = callers["executor"].caught_up("/v1/assignments", position).json()["items"]

    assert made.status_code == 201, made.text
    assert again.headers["Idempotency-Replayed"] == "true"
    for shown in (made.json(), again.json(), read, *(i for i in listed if i == read)):
        assert json.dumps(template_of(shown)) == json.dumps(TEMPLATE)
    (mine,) = [each for each in assigned if each["workload"] == "team-a/shown"]
    assert mine["podSets"][0]["template"] == TEMPLATE
    dry = admin.post(f"{HERE}?dryRun=All", running("dry")).json()
    assert template_of(dry) == TEMPLATE


def test_no_table_but_one_holds_what_rules_do_not_read(admin: Api, settings: Settings) -> None:
    single = deepcopy(TEMPLATE)
    single["spec"]["containers"][0]["env"][0]["value"] = "s3cr3t-of-this-test"
    for name in ("one", "two"):
        admin.post(HERE, running(name, single), Idempotency_Key=f"keyed-{name}")
    with psycopg.connect(settings.database_url) as connection:
        tables = [
            name
            for (name,) in connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            )
        ]
        holding = {
            table: count
            for table in tables
            if (
                row := connection.execute(
                    f'SELECT count(*) FROM "{table}" AS t'
                    " WHERE position('s3cr3t-of-this-test' IN t::text) > 0"
                    " OR position(encode('s3cr3t-of-this-test', 'hex') IN t::text) > 0"
                ).fetchone()
            )
            and (count := row[0])
        }
    assert holding == {"written_object": 1}, "equal templates stand once, beside the log"


def test_another_order_of_keys_is_no_change_and_another_command_is_one(admin: Api) -> None:
    admin.post(HERE, running("same"))
    read = admin.get(f"{HERE}/same")
    sorted_keys = json.loads(json.dumps(read.json(), sort_keys=True))

    unchanged = admin.put(f"{HERE}/same", sorted_keys, If_Match="*")
    template_of(sorted_keys)["spec"]["containers"][0]["args"] = ["--epochs", "4"]
    changed = admin.put(f"{HERE}/same", sorted_keys, If_Match="*")

    assert unchanged.status_code == 200, unchanged.text
    assert unchanged.headers["ETag"] == read.headers["ETag"]
    assert json.dumps(template_of(unchanged.json())) == json.dumps(TEMPLATE)
    assert changed.headers["ETag"] != read.headers["ETag"]
    assert template_of(admin.get(f"{HERE}/same").json())["spec"]["containers"][0]["args"] == [
        "--epochs",
        "4",
    ]


def test_what_a_namespace_adds_is_shown_and_comes_back_without_a_change(admin: Api) -> None:
    bounds = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "sizes", "namespace": "team-b"},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"memory": "1Gi"}}]},
    }
    admin.post("/v1/namespaces/team-b/limitranges", bounds)
    path = "/v1/namespaces/team-b/workloads"
    body = running("filled")
    body["metadata"]["namespace"] = "team-b"
    admin.post(path, body)
    read = admin.get(f"{path}/filled")
    assert read.status_code == 200, read.text
    container = template_of(read.json())["spec"]["containers"][0]
    back = admin.put(f"{path}/filled", read.json(), If_Match="*")

    assert container["resources"]["requests"] == {"cpu": "1500m", "memory": "1Gi"}
    assert container["command"] == ["python", "train.py"]
    assert back.headers["ETag"] == read.headers["ETag"], back.text


def test_verify_finds_a_template_that_is_gone(
    admin: Api, platform: Platform, settings: Settings
) -> None:
    other = deepcopy(TEMPLATE)
    other["spec"]["containers"][0]["args"] = ["only here"]
    made = admin.post(HERE, running("gone", other)).json()
    digest = made["status"]["podTemplates"][0]["digest"]
    verifier = Verifier(platform.event_log, platform.read_models, platform.followers)
    clean = verifier.verify(lambda *_: None)
    with psycopg.connect(settings.database_url) as connection:
        connection.execute("ALTER TABLE written_object DISABLE TRIGGER append_only")
        connection.execute("DELETE FROM written_object WHERE digest = %s", (digest,))
        connection.execute("ALTER TABLE written_object ENABLE TRIGGER append_only")
    found = verifier.verify(lambda *_: None)
    shown = admin.get(f"{HERE}/gone").json()

    assert clean.findings == ()
    assert [each.rule for each in found.findings] == ["What was written is kept"]
    assert shown["status"]["podTemplates"] == [{"name": "main", "digest": digest, "erased": True}]
    assert template_of(shown)["spec"]["containers"] == [
        {"name": "train", "resources": {"requests": {"cpu": "1500m"}}}
    ]


def test_a_literal_secret_is_warned_of_where_it_stands(admin: Api) -> None:
    made = admin.post(HERE, running("warned")).json()
    (warning,) = made["warnings"]

    assert (warning["rule"], warning["severity"]) == ("LiteralSecret", "warning")
    assert warning["pointer"] == "/spec/podSets/0/template/spec/containers/0/env/0"
    assert "API_TOKEN" in warning["message"]
    assert "s3cr3t" not in json.dumps(warning)


IGNORED = {
    "affinity": {
        "nodeAffinity": {},
        "podAffinity": {},
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
            ],
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "rack", "labelSelector": {}}}
            ],
        },
    },
    "nodeName": "host-1",
    "topologySpreadConstraints": [
        {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"},
        {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"},
    ],
}


def test_fields_that_no_placement_considers_are_warned_of_where_they_stand(admin: Api) -> None:
    """What is preferred of pods around is told to be ignored (requirement 2724-42)."""
    template = {"spec": {**IGNORED, "containers": [{"name": "main", "image": "a"}]}}
    made = admin.post(HERE, running("spread", template)).json()
    warned = {warning["pointer"]: warning["message"] for warning in made["warnings"]}

    pods = "/spec/podSets/0/template/spec"
    assert warned == {
        f"{pods}/{field}": f"{field} is ignored when hosts are chosen."
        for field in (
            "affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution",
            "nodeName",
            "topologySpreadConstraints/1",
        )
    }
