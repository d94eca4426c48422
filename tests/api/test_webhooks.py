"""Causes are told to a real receiver, signed and once; acknowledged and snoozed ones are not."""

import re
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from litestar import Litestar
from litestar.testing import TestClient
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from headgate.adapters.memory.stores import MemoryCauseHistory
from headgate.application.alerts import (
    CHANGED_SECONDS,
    OPENED_SECONDS,
    RESOLVED_SECONDS,
    AlertWatch,
)
from headgate.application.application_services import CauseRecord
from headgate.application.commands.execute import catch_up
from headgate.application.queries import attention
from headgate.application.queries.causes import TITLES
from headgate.application.queries.detectors import ProblemKind
from headgate.bootstrap import Platform
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET, Api, cluster_queue, flavor
from tests.api.receiver import Received, Receiver, receiving

SECOND = 1_000_000
OURS = "headgate.dev/v1"


@pytest.fixture(scope="module")
def settings(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """As of other modules, but receivers on this machine may be told."""
    return Settings(
        database_url=database_url,
        broker_url="memory://",
        admin_token=ADMIN_SECRET,
        ui_directory=Path(tmp_path_factory.mktemp("ui")),
        pod_logs=str(tmp_path_factory.mktemp("pod-logs")),
        webhook_networks="127.0.0.0/8",
        url="https://headgate.example.org/",
    )


class Pager:
    """A webhook and its receiver; a watch of our own looks, at instants that the test chooses."""

    def __init__(self, admin: Api, receiver: Receiver, name: str, **spec: Any) -> None:
        self.admin, self.receiver, self.name = admin, receiver, name
        spec.setdefault("kinds", ["QueueInactive"])
        body = {"url": receiver.url, "minSeverity": "info", **spec}
        made = admin.post("/v1/webhooks", webhook(name, **body))
        assert made.status_code == 201, made.text
        shown = admin.post(f"/v1/webhooks/{name}/secret")
        assert shown.status_code == 201, shown.text
        self.secret = shown.json()["secret"]

    def verified(self, received: Received) -> dict[str, Any]:
        """The content, after a library of the receiver's side has checked the signature."""
        found: dict[str, Any] = Webhook(self.secret).verify(received.body, received.headers)
        return found

    def deliveries(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.admin.get(f"/v1/webhooks/{self.name}/deliveries").json()[
            "items"
        ]
        return found

    def until(self, state: str, count: int = 1) -> list[dict[str, Any]]:
        """Its deliveries, once so many are in a state."""
        for _ in range(600):
            found = [each for each in self.deliveries() if each["state"] == state]
            if len(found) >= count:
                return found
            time.sleep(0.1)
        raise AssertionError(f"{state} is not in {self.deliveries()}")


def webhook(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": OURS, "kind": "Webhook", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def pager(admin: Api, receiver: Receiver, request: pytest.FixtureRequest) -> Iterator[Pager]:
    name = f"pager-{abs(hash(request.node.name)) % 1_000_000}"
    yield Pager(admin, receiver, name)
    assert admin.delete(f"/v1/webhooks/{name}").status_code == 200


@pytest.fixture
def look(client: TestClient[Litestar], platform: Platform) -> Callable[[float], None]:
    """Look twice so many seconds from now; one watch for the test, as of one process."""
    watch = AlertWatch(client.app.state.services)

    def look_at(seconds: float) -> None:
        client.blocking_portal.call(catch_up, client.app.state.services)
        at = platform.event_log.now() + int(seconds * SECOND)
        client.blocking_portal.call(watch.look, at)
        client.blocking_portal.call(watch.look, at + OPENED_SECONDS * SECOND)

    return look_at


@pytest.fixture
def stopped(admin: Api, request: pytest.FixtureRequest) -> Iterator[Callable[[str], None]]:
    """Stop ClusterQueues, which is a cause, and let them admit again at the end."""
    names: list[str] = []

    def stop(name: str) -> None:
        admin.post("/v1/resourceflavors", flavor())
        admin.post("/v1/clusterqueues", cluster_queue(name))
        assert admin.post(f"/v1/clusterqueues/{name}/stop", {"reason": "r"}).status_code == 200
        names.append(name)

    yield stop
    admin.post("/v1/attention/reopen", {"causes": ["QueueInactive"]})
    for name in names:
        admin.delete(f"/v1/clusterqueues/{name}")


def cause(admin: Api) -> dict[str, Any]:
    """The cause of stopped queues, as of everything written so far."""
    head = admin.get("/v1/system").json()["position"]
    found = admin.caught_up("/v1/attention", head).json()["causes"]
    (one,) = [each for each in found if each["key"] == "QueueInactive"]
    one_cause: dict[str, Any] = one
    return one_cause


def acknowledge(admin: Api, **more: Any) -> None:
    body = {"causes": ["QueueInactive"], "reason": "INC-1", **more}
    answer = admin.post("/v1/attention/acknowledge", body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["causes"] == ["QueueInactive"]


def test_a_cause_is_told_signed_and_told_again_when_it_is_resolved(
    admin: Api, pager: Pager, look: Callable[[float], None], stopped: Callable[[str], None]
) -> None:
    stopped("told-1")
    look(0)
    look(0)
    opened = pager.receiver.wait_for("cause.opened")
    told = pager.verified(opened)
    assert told["data"]["key"] == "QueueInactive"
    assert told["data"]["title"] == "ClusterQueue told-1 is inactive"
    assert told["data"]["link"].startswith("https://headgate.example.org/attention?alert=")
    with pytest.raises(WebhookVerificationError):
        Webhook(pager.secret).verify(opened.body + b" ", opened.headers)
    assert admin.post("/v1/clusterqueues/told-1/resume", {"reason": "r"}).status_code == 200
    look(0)
    look(RESOLVED_SECONDS + 1)
    resolved = pager.verified(pager.receiver.wait_for("cause.resolved"))
    assert resolved["data"]["key"] == "QueueInactive"
    pager.until("Delivered", 2)
    assert [each.content["type"] for each in pager.receiver.requests] == [
        "cause.opened",
        "cause.resolved",
    ]


def test_an_acknowledged_cause_is_told_again_only_once_it_has_changed(
    admin: Api, pager: Pager, look: Callable[[float], None], stopped: Callable[[str], None]
) -> None:
    stopped("ack-1")
    look(0)
    pager.receiver.wait_for("cause.opened")
    acknowledge(admin)
    found = cause(admin)
    assert (found["state"], found["acknowledgment"]["reason"]) == ("Acknowledged", "INC-1")
    assert found["acknowledgment"]["by"] == "admin"
    look(CHANGED_SECONDS + 1)
    stopped("ack-2")
    assert cause(admin)["state"] == "Open", "it concerns more than when it was acknowledged"
    look(CHANGED_SECONDS + 1)
    changed = pager.verified(pager.receiver.wait_for("cause.changed"))
    assert changed["data"]["count"] == 2
    assert admin.get("/v1/acknowledgments").json()["items"] == []
    history = admin.get("/v1/events?type=acknowledgment.deleted").json()["items"]
    assert history[0]["actor"] == "system"


def test_a_snoozed_cause_is_told_again_at_the_end_of_the_snooze(
    admin: Api, pager: Pager, look: Callable[[float], None], stopped: Callable[[str], None]
) -> None:
    stopped("snooze-1")
    look(0)
    pager.receiver.wait_for("cause.opened")
    until = datetime.now(UTC) + timedelta(hours=1)
    acknowledge(admin, until=until.isoformat())
    assert cause(admin)["state"] == "Snoozed"
    look(3_000)
    assert len(pager.deliveries()) == 1
    look(3_700)
    pager.verified(pager.receiver.wait_for("cause.changed"))


def test_a_cause_is_reopened_by_its_user_and_the_log_names_both(
    admin: Api, stopped: Callable[[str], None]
) -> None:
    stopped("reopen-1")
    acknowledge(admin)
    answer = admin.post(
        "/v1/attention/reopen", {"causes": ["QueueInactive"], "reason": "by mistake"}
    )
    assert answer.json()["causes"] == ["QueueInactive"]
    assert cause(admin)["state"] == "Open"
    again = admin.post("/v1/attention/reopen", {"causes": ["QueueInactive"]})
    assert again.json()["causes"] == []
    (found,) = admin.get("/v1/events?type=acknowledgment.deleted&limit=1").json()["items"]
    assert (found["reason"], found["actor"]) == ("by mistake", "user:admin")


def test_what_is_no_open_cause_or_ends_in_the_past_is_refused(admin: Api) -> None:
    body = {"causes": ["NodeNotReady/nowhere"], "reason": "r"}
    for action in ("acknowledge", "reopen"):
        answer = admin.post(f"/v1/attention/{action}", body)
        assert answer.status_code == 404
        assert answer.json()["detail"] == "No open cause NodeNotReady/nowhere"
    past = {**body, "until": "2020-01-01T00:00:00Z"}
    assert admin.post("/v1/attention/acknowledge", past).status_code == 422


def test_a_delivery_that_fails_is_retried_with_the_same_id_and_stops_no_other(
    admin: Api, look: Callable[[float], None], stopped: Callable[[str], None]
) -> None:
    with receiving(500) as failing, receiving() as other, socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        first, second = Pager(admin, failing, "failing"), Pager(admin, other, "other")
        closed = Receiver([])
        closed.port = silent.getsockname()[1]
        third = Pager(admin, closed, "unreachable")
        stopped("retry-1")
        look(0)
        second.receiver.wait_for("cause.opened")
        (retrying,) = third.until("Retrying")
        assert retrying["failure"] == "No connection to the receiver"
        ids = [first.receiver.wait_for("cause.opened", n).headers["webhook-id"] for n in (1, 2)]
        assert ids[0] == ids[1]
        (delivered,) = first.until("Delivered")
        assert (delivered["deliveries"], delivered["statusCode"]) == (2, 204)
        for each in (first, second, third):
            assert admin.delete(f"/v1/webhooks/{each.name}").status_code == 200


def test_a_test_is_signed_with_the_secret_before_too_for_a_day(admin: Api, pager: Pager) -> None:
    before = pager.secret
    pager.secret = admin.post(f"/v1/webhooks/{pager.name}/secret").json()["secret"]
    assert admin.post(f"/v1/webhooks/{pager.name}/test").status_code == 202
    sent = pager.receiver.wait_for("test")
    for secret in (before, pager.secret):
        Webhook(secret).verify(sent.body, sent.headers)
    admin.post(f"/v1/webhooks/{pager.name}/secret")
    admin.post(f"/v1/webhooks/{pager.name}/test")
    sent = pager.receiver.wait_for("test", 2)
    with pytest.raises(WebhookVerificationError):
        Webhook(before).verify(sent.body, sent.headers)


def test_a_webhook_without_a_secret_is_told_nothing(admin: Api, receiver: Receiver) -> None:
    admin.post("/v1/webhooks", webhook("unsigned", url=receiver.url))
    assert admin.post("/v1/webhooks/unsigned/test").status_code == 202
    pager = Pager.__new__(Pager)
    pager.admin, pager.name = admin, "unsigned"
    (found,) = pager.until("Retrying")
    assert found["failure"] == "The webhook has no secret"
    assert receiver.requests == []
    secrets = admin.get("/v1/webhooks/unsigned/deliveries").json()
    assert secrets["hasSecret"] is False
    assert admin.delete("/v1/webhooks/unsigned").status_code == 200


@pytest.mark.parametrize("host", ["10.1.2.3", "[::1]", "0xa9fea9fe"])
def test_an_address_that_no_delivery_may_reach_is_refused_with_the_manifest(
    admin: Api, host: str
) -> None:
    body = webhook("private", url=f"http://{host}:8080/")
    refused = admin.post("/v1/webhooks", body)
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert (error["pointer"], error["code"]) == ("/spec/url", "WebhookAddressNotAllowed")
    assert host.strip("[]") in error["rule"]
    assert "HEADGATE_WEBHOOK_NETWORKS" in error["remedy"]
    assert admin.post("/v1/apply", body).status_code == 422
    assert admin.get("/v1/webhooks/private").status_code == 404


def test_a_webhook_is_not_led_to_such_an_address_later_either(admin: Api, pager: Pager) -> None:
    found = admin.get(f"/v1/webhooks/{pager.name}")
    before = found.json()
    led = {**before, "spec": {**before["spec"], "url": "http://192.168.1.1/"}}
    refused = admin.put(f"/v1/webhooks/{pager.name}", led, If_Match=found.headers["etag"])
    assert refused.status_code == 422
    assert admin.get(f"/v1/webhooks/{pager.name}").json()["spec"] == before["spec"]


def test_a_deleted_webhook_leaves_no_secret(
    admin: Api, receiver: Receiver, platform: Platform
) -> None:
    pager = Pager(admin, receiver, "gone")
    uid = admin.get("/v1/webhooks/gone").json()["metadata"]["uid"]
    admin.post("/v1/webhooks/gone/test")
    pager.receiver.wait_for("test")
    assert platform.webhook_secrets.valid(uid) == [pager.secret]
    assert admin.delete("/v1/webhooks/gone").status_code == 200
    for _ in range(600):
        if not platform.webhook_secrets.valid(uid):
            return
        time.sleep(0.1)
    raise AssertionError("the secret is still there")


def test_the_secret_stands_neither_in_the_log_nor_in_the_object(admin: Api, pager: Pager) -> None:
    events = admin.get(f"/v1/events?stream=webhook/{pager.name}").text
    shown = admin.get(f"/v1/webhooks/{pager.name}").text
    assert pager.secret not in events + shown
    assert pager.receiver.url in events


def test_a_cause_is_recorded_from_when_it_opened_to_when_it_closed(
    admin: Api,
    client: TestClient[Litestar],
    platform: Platform,
    stopped: Callable[[str], None],
) -> None:
    """By one process at a time, also without any webhook."""
    services = client.app.state.services
    history = MemoryCauseHistory(platform.event_log.now)
    recording = replace(services, alerts=replace(services.alerts, causes=history))
    watches = [AlertWatch(recording), AlertWatch(recording)]
    began = platform.event_log.now()

    def look(seconds: float) -> None:
        client.blocking_portal.call(catch_up, services)
        for watch in watches:
            client.blocking_portal.call(watch.look, began + int(seconds * SECOND))

    def keys(found: list[CauseRecord]) -> list[str]:
        return [each.key for each in found if each.key == "QueueInactive"]

    stopped("recorded-1")
    look(0)
    assert keys(history.open_causes()) == [], "it may be gone at the next look"
    look(OPENED_SECONDS)
    assert keys(history.open_causes()) == ["QueueInactive"]
    assert admin.post("/v1/clusterqueues/recorded-1/resume", {"reason": "r"}).status_code == 200
    look(10)
    assert keys(history.closed_causes(since=0, limit=9)) == []
    look(10 + RESOLVED_SECONDS)
    (closed,) = [
        each for each in history.closed_causes(since=0, limit=9) if each.key == "QueueInactive"
    ]
    assert closed.title == "ClusterQueue recorded-1 is inactive"
    assert closed.closed_at == began + 10 * SECOND
    assert keys(history.open_causes()) == []


def test_closed_causes_of_the_last_week_are_listed(
    admin: Api, callers: dict[str, Api], platform: Platform
) -> None:
    now = platform.event_log.now()
    columns = "'QueueInactive', 'warning', 'Inactive ClusterQueues', 'Object', 2, 7200, '/queues'"
    with platform.pool.connection() as connection:
        for days in (1, 8):
            connection.execute(
                f"INSERT INTO cause_record SELECT 'old-{days}', %s, %s, {columns}",
                (now - days * 86_400 * SECOND - SECOND, now - days * 86_400 * SECOND),
            )

    found = admin.get("/v1/attention/closed").json()

    listed = [each for each in found["causes"] if each["key"].startswith("old-")]
    assert [each["key"] for each in listed] == ["old-1"]
    assert (listed[0]["count"], listed[0]["gpuSeconds"]) == (2, 7200)
    assert listed[0]["openedAt"] < listed[0]["closedAt"]
    assert found["keptDays"] == 7
    withheld = callers["submitter"].get("/v1/attention/closed").json()
    assert (withheld["causes"], withheld["isWithheld"]) == ([], True)
    assert not found["isWithheld"]


def test_every_kind_of_alert_has_a_rule_that_says_when_it_is_raised(admin: Api) -> None:
    rules = {each["kind"]: each for each in admin.get("/v1/attention/rules").json()["rules"]}

    source = Path(attention.__file__).read_text()
    told = set(re.findall(r'_alert\(\s*"(\w+)"', source)) | set(get_args(ProblemKind))
    assert told <= rules.keys()
    assert set(TITLES) <= rules.keys()
    assert rules["EvictionStalled"]["severities"] == ["critical"]
    assert rules["EvictionStalled"]["condition"] == "An eviction takes longer than 5 min"
    assert all("{" not in each["condition"] + each["title"] for each in rules.values())
