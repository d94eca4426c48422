"""Uploads through the API: sent by digest, named by workloads, read by their executors."""

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from httpx import Response

from headgate.bootstrap import Platform
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET, Api, open_queue, workload

HERE = "/v1/namespaces/team-a/workloads"
MAX_BYTES = 1_048_576
UPLOAD = "headgate.dev/upload"


@pytest.fixture(scope="module")
def settings(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """An installation that takes uploads of at most a mebibyte."""
    return Settings(
        database_url=database_url,
        broker_url="memory://",
        admin_token=ADMIN_SECRET,
        ui_directory=Path(tmp_path_factory.mktemp("ui")),
        pod_logs=str(tmp_path_factory.mktemp("pod-logs")),
        upload_mebibytes=1,
    )


@pytest.fixture(scope="module", autouse=True)
def _queue(admin: Api) -> None:
    open_queue(admin, "uploads", "main", cpu="1000")


def address(content: bytes, namespace: str = "team-a") -> str:
    return f"/v1/namespaces/{namespace}/uploads/{sha256(content).hexdigest()}"


def send(caller: Api, path: str, content: bytes) -> Response:
    headers = {**caller.headers, "Content-Type": "application/octet-stream"}
    found = caller.client.put(path, content=content, headers=headers)
    assert isinstance(found, Response)
    return found


def naming(name: str, digest: str) -> dict[str, Any]:
    body = workload(name)
    body["spec"]["podSets"][0]["template"]["metadata"] = {"annotations": {UPLOAD: digest}}
    return body


def test_an_upload_is_sent_once_and_then_known(callers: dict[str, Api]) -> None:
    content = b"sent once"
    caller = callers["submitter"]
    before = caller.get(address(content)).json()
    sent = send(caller, address(content), content)
    after = caller.get(address(content)).json()

    assert (before["present"], before["maxBytes"]) == (False, MAX_BYTES)
    assert (sent.status_code, after["present"]) == (200, True)
    assert not caller.get(address(b"never sent")).json()["present"]


def test_content_of_another_digest_is_refused_and_not_kept(admin: Api) -> None:
    refused = send(admin, address(b"named"), b"sent")
    assert refused.status_code == 422
    assert refused.json()["code"] == "UploadDigestDiffers"
    assert not admin.get(address(b"named")).json()["present"]


def test_an_upload_above_the_limit_is_refused(admin: Api) -> None:
    largest = b"x" * MAX_BYTES
    refused = send(admin, address(largest + b"x"), largest + b"x")
    assert refused.status_code == 413
    assert refused.json()["code"] == "UploadTooLarge"
    assert ".headgateignore" in refused.json()["remedy"]
    assert send(admin, address(largest), largest).status_code == 200


def test_only_submitters_of_the_namespace_send(callers: dict[str, Api]) -> None:
    content = b"of another team"
    elsewhere = send(callers["submitter"], address(content, "team-b"), content)
    viewer = send(callers["viewer"], address(content), content)
    assert (elsewhere.status_code, viewer.status_code) == (403, 403)
    assert not callers["admin"].get(address(content, "team-b")).json()["present"]


def test_a_workload_that_names_an_unknown_upload_is_refused(admin: Api) -> None:
    digest = sha256(b"unknown").hexdigest()
    one = admin.post(HERE, naming("unknown", digest))
    both = admin.post(
        "/v1/workloads:batch", {"items": [naming("unknown", digest), workload("without")]}
    )
    applied = admin.send(
        "/v1/apply", msgspec.json.encode(naming("unknown", "../x")), "application/json"
    )

    assert one.status_code == 422
    (error,) = one.json()["errors"]
    assert error["pointer"].endswith("/annotations/headgate.dev~1upload")
    assert "--upload" in one.json()["remedy"]
    assert both.status_code == 207
    assert [each["outcome"] for each in both.json()["results"]] == ["rejected", "created"]
    assert both.json()["results"][0]["problem"]["code"] == "UploadUnknown"
    assert applied.status_code == 422
    assert admin.get(f"{HERE}/unknown").status_code == 404


def test_uploads_of_unfinished_workloads_stay_after_retention(
    admin: Api, platform: Platform
) -> None:
    named, unnamed = b"named by a workload", b"named by none"
    for content in (named, unnamed):
        assert send(admin, address(content), content).status_code == 200
    made = admin.post(HERE, naming("keeper", sha256(named).hexdigest()))
    assert made.status_code == 201, made.text
    (root,) = Path(platform.settings.pod_logs).glob(".uploads/team-a")
    for path in root.iterdir():
        os.utime(path, (1, 1))

    assert platform.remove_old_uploads() >= 1
    assert admin.get(address(named)).json()["present"]
    assert not admin.get(address(unnamed)).json()["present"]


def test_an_executor_without_pods_of_the_workload_reads_no_upload(admin: Api) -> None:
    content = b"not for every executor"
    digest = sha256(content).hexdigest()
    send(admin, address(content), content)
    assert admin.post(HERE, naming("guarded", digest)).status_code == 201
    body = {"name": "stranger", "role": "executor", "executor": "stranger"}
    stranger = Api(admin.client, admin.post("/v1/tokens", body).json()["secret"])

    read = stranger.get(f"/v1/executors/stranger/uploads/{digest}?workload=team-a/guarded")
    other = stranger.get(f"/v1/executors/other/uploads/{digest}?workload=team-a/guarded")
    user = admin.get(f"/v1/executors/stranger/uploads/{digest}?workload=team-a/none")
    assert read.status_code == 404
    assert read.json()["code"] == "UploadUnknown"
    assert other.status_code == 403
    assert user.status_code == 404
