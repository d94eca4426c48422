"""What webhooks are told of causes, how often, and how long acknowledgments hold."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.kinds.acknowledgment import (
    ACKNOWLEDGMENT,
    SEVERITIES,
    AcknowledgmentSpec,
    holds,
)
from headgate.domain.kinds.object_commands import Change, Create
from headgate.domain.kinds.webhook import (
    MAX_KEPT,
    RETRY_SECONDS,
    WEBHOOK,
    DeliveryEnded,
    DeliveryStarted,
    EndDelivery,
    NewNotification,
    NotificationQueued,
    QueueNotifications,
    StartDelivery,
    WebhookSpec,
)
from headgate.domain.values.message import message

SECOND = 1_000_000
START = 1_000 * SECOND
FAILED = message("ReceiverRefused", status=500)


class World:
    """A webhook on which commands are decided and folded, at instants that the test chooses."""

    def __init__(self, **spec: Any) -> None:
        self.state: Any = WEBHOOK.initial_state
        spec.setdefault("url", "https://alerts.example.org/")
        self.tell(Create(uid="u", name="pager", spec=WebhookSpec(**spec)), START)

    @property
    def spec(self) -> WebhookSpec:
        spec: WebhookSpec = self.state.spec
        return spec

    def tell(self, command: object, at: int = START) -> tuple[Any, ...]:
        events = WEBHOOK.decide(self.state, command, at)
        for event in events:
            self.state = WEBHOOK.evolve(self.state, event, at)
        return events

    def queue(self, change: Any, key: str = "A", at: int = START, **facts: Any) -> tuple[Any, ...]:
        facts.setdefault("severity", "warning")
        new = NewNotification(id=f"{change}-{key}-{at}", change=change, key=key, **facts)
        return self.tell(QueueNotifications(notifications=(new,)), at)


def test_a_cause_is_told_once_however_many_processes_see_it() -> None:
    world = World()
    assert [type(event) for event in world.queue("Opened", count=2)] == [NotificationQueued]
    assert world.queue("Opened", count=2) == ()
    assert world.queue("Changed", count=2) == ()


def test_a_cause_that_changed_or_is_reminded_of_is_told_again() -> None:
    world = World()
    world.queue("Opened", count=2)
    assert len(world.queue("Changed", count=3)) == 1
    assert len(world.queue("Changed", count=3, severity="critical")) == 1
    assert len(world.queue("Changed", count=3, severity="critical", is_reminder=True)) == 1


def test_only_what_was_told_is_resolved_and_may_open_again() -> None:
    world = World()
    assert world.queue("Resolved", count=2) == ()
    world.queue("Opened", count=2)
    assert len(world.queue("Resolved", count=2)) == 1
    assert world.spec.notified == {}
    assert len(world.queue("Opened", count=2)) == 1


def test_a_delivery_is_started_by_one_process_and_again_once_that_is_lost() -> None:
    world = World()
    world.queue("Test", key="")
    (told,) = world.spec.notifications
    assert world.tell(StartDelivery(id=told.id)) == (DeliveryStarted(id=told.id, number=1),)
    assert world.tell(StartDelivery(id=told.id)) == ()
    later = START + 60 * SECOND
    assert world.tell(StartDelivery(id=told.id), later) == (DeliveryStarted(id=told.id, number=2),)
    assert world.tell(EndDelivery(id=told.id, number=1), later) == (), "of the lost process"
    assert len(world.tell(EndDelivery(id=told.id, number=2, status_code=200), later)) == 1
    assert world.spec.notifications[0].is_delivered
    assert world.tell(StartDelivery(id=told.id), later) == ()


def test_failed_deliveries_are_retried_later_each_time_and_then_given_up() -> None:
    world = World()
    world.queue("Opened", count=1)
    (told,) = world.spec.notifications
    at, waits = START, []
    while world.spec.notifications[0].due_at is not None:
        at = world.spec.notifications[0].due_at
        (begun,) = world.tell(StartDelivery(id=told.id), at)
        (ended,) = world.tell(EndDelivery(id=told.id, number=begun.number, failure=FAILED), at)
        assert isinstance(ended, DeliveryEnded)
        waits += [] if ended.retry_at is None else [(ended.retry_at - at) // SECOND]
    assert tuple(waits) == RETRY_SECONDS
    assert list(waits) == sorted(waits)
    assert not world.spec.notifications[0].is_delivered
    assert "A" in world.spec.notified, "its end is told nevertheless"


def test_a_receiver_that_is_gone_is_not_asked_again() -> None:
    world = World()
    world.queue("Test", key="")
    (told,) = world.spec.notifications
    world.tell(StartDelivery(id=told.id))
    end = EndDelivery(id=told.id, number=1, status_code=410, failure=FAILED)
    (ended,) = world.tell(end)
    assert ended.retry_at is None


def test_the_state_keeps_the_newest_that_ended_and_all_that_wait() -> None:
    world = World()
    for index in range(MAX_KEPT + 5):
        (queued,) = world.queue("Test", key="", at=START + index)
        world.tell(StartDelivery(id=queued.id), START + index)
        world.tell(EndDelivery(id=queued.id, number=1, status_code=204), START + index)
    (waiting,) = world.queue("Opened", count=1, at=START + MAX_KEPT + 9)
    kept = [each.id for each in world.spec.notifications]
    assert len(kept) == MAX_KEPT + 1
    assert kept[-1] == waiting.id


def test_a_change_of_the_address_keeps_what_the_receiver_was_told() -> None:
    world = World()
    world.queue("Opened", count=1)
    changed = WebhookSpec(url="https://other.example.org/")
    world.tell(Change(spec=changed, keeps=("notified", "notifications")))
    assert list(world.spec.notified) == ["A"]
    assert world.spec.url == changed.url


def test_a_webhook_is_told_of_the_kinds_and_severities_that_it_names() -> None:
    spec = WebhookSpec(url="https://x.example/", min_severity="warning", kinds=("NodeNotReady",))
    assert spec.wants("NodeNotReady", "critical")
    assert not spec.wants("NodeNotReady", "info")
    assert not spec.wants("OrphanedPods", "critical")


def test_the_user_of_the_command_acknowledges_whatever_the_manifest_says() -> None:
    spec = AcknowledgmentSpec(cause="A", by="mallory")
    state: Any = ACKNOWLEDGMENT.initial_state
    (event,) = ACKNOWLEDGMENT.decide(
        state, Create(uid="u", name="cause-a", spec=spec, by="ana"), START
    )
    state = ACKNOWLEDGMENT.evolve(state, event, START)
    assert state.spec.by == "ana"
    (event,) = ACKNOWLEDGMENT.decide(state, Change(spec=spec, by="ben"), START)
    state = ACKNOWLEDGMENT.evolve(state, event, START)
    assert state.spec.by == "ben"


@given(
    severity=st.sampled_from(SEVERITIES),
    count=st.integers(0, 5),
    later=st.sampled_from(SEVERITIES),
    grown=st.integers(0, 9),
    wait=st.integers(0, 20),
)
def test_an_acknowledgment_holds_while_its_cause_is_no_worse(
    severity: Any, count: int, later: Any, grown: int, wait: int
) -> None:
    spec = AcknowledgmentSpec(cause="A", severity=severity, count=count)
    snooze = AcknowledgmentSpec(cause="A", severity=severity, count=count, until=START + 10)
    is_no_worse = grown <= count and SEVERITIES.index(later) <= SEVERITIES.index(severity)
    assert holds(spec, later, grown, START + wait) == is_no_worse
    assert holds(snooze, later, grown, START + wait) == (is_no_worse and wait < 10)
