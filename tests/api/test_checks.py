"""Controllers of admission checks have their say before workloads are admitted."""

from collections.abc import Callable

from tests.api.callers import Api, admission_check, open_queue, workload

HERE = "/v1/namespaces/team-a/workloads"


def test_a_check_must_agree_before_a_workload_is_admitted(
    admin: Api, callers: dict[str, Api], schedule: Callable[[], int]
) -> None:
    admin.post("/v1/admissionchecks", admission_check("budget"))
    strategy = {"admissionChecks": [{"name": "budget"}]}
    open_queue(admin, "checked", admissionChecksStrategy=strategy)
    uid = admin.post(HERE, workload("asks", queue="checked")).json()["metadata"]["uid"]
    found = admin.caught_up(f"{HERE}/asks", schedule()).json()["status"]
    assert found["phase"] == "QuotaReserved"
    assert found["admissionChecks"][0]["state"] == "Pending"

    executor = callers["executor"]
    path = f"{HERE}/asks/admissionchecks"
    told = executor.post(f"{path}/budget", {"uid": uid, "state": "Retry", "message": "no money"})
    assert told.json()["status"]["admissionChecks"][0]["message"] == "no money"
    again = admin.caught_up(f"{HERE}/asks", schedule()).json()["status"]
    assert again["admissionChecks"][0]["retryCount"] == 1
    assert executor.post(f"{path}/other", {"uid": uid, "state": "Ready"}).status_code == 409
    assert executor.post(f"{path}/budget", {"uid": uid, "state": "Ready"}).status_code == 200
    admitted = admin.caught_up(f"{HERE}/asks", schedule()).json()["status"]
    assert admitted["phase"] == "Starting"


def test_executors_are_told_what_checks_add_to_the_pods(
    admin: Api, callers: dict[str, Api], schedule: Callable[[], int]
) -> None:
    admin.post("/v1/admissionchecks", admission_check("machines"))
    strategy = {"admissionChecks": [{"name": "machines"}]}
    open_queue(admin, "adding", admissionChecksStrategy=strategy)
    uid = admin.post(HERE, workload("grows", queue="adding")).json()["metadata"]["uid"]
    schedule()
    executor, path = callers["executor"], f"{HERE}/grows/admissionchecks/machines"
    update = {
        "name": "main",
        "nodeSelector": {"pool": "new"},
        "tolerations": [{"key": "fresh", "operator": "Exists", "tolerationSeconds": 5}],
    }
    report = {"uid": uid, "state": "Ready", "podSetUpdates": [update]}
    wrong = executor.post(path, {**report, "podSetUpdates": [{**update, "name": "other"}]})
    assert wrong.json()["errors"][0]["pointer"] == "/podSetUpdates/0/name"
    told = executor.post(path, report)
    assert told.json()["status"]["admissionChecks"][0]["podSetUpdates"][0]["name"] == "main"
    admin.caught_up(f"{HERE}/grows", schedule())
    items = executor.get("/v1/assignments").json()["items"]
    (mine,) = [item for item in items if item["workload"] == "team-a/grows"]
    (added,) = mine["podSetUpdates"]
    assert added["nodeSelector"] == {"pool": "new"}
    assert added["tolerations"] == [{"key": "fresh", "operator": "Exists", "tolerationSeconds": 5}]


def test_the_controller_of_a_check_says_whether_it_serves_it(
    admin: Api, callers: dict[str, Api]
) -> None:
    admin.post("/v1/admissionchecks", admission_check("served"))
    told = callers["executor"].post("/v1/admissionchecks/served/report", {"active": False})
    assert told.status_code == 200, told.text
    assert told.json()["status"]["conditions"][0]["status"] == "False"
    body = told.json()
    body["metadata"]["labels"] = {"tier": "one"}
    changed = admin.put("/v1/admissionchecks/served", body, If_Match=told.headers["etag"])
    assert changed.json()["status"]["conditions"][0]["status"] == "False"
    assert (
        callers["viewer"].post("/v1/admissionchecks/served/report", {"active": True}).status_code
        == 403
    )
