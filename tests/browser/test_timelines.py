"""The timeline of a workload that was explained more often than a page is long."""

import json
from dataclasses import dataclass
from itertools import count

import pytest
from playwright.sync_api import Locator, expect

from headgate.adapters.postgres.connections import open_pool
from headgate.adapters.postgres.event_log import PostgresEventLog
from headgate.application.ports import Appended, AppendUnit, NewEvent
from headgate.domain.recorded_event import EventMetadata
from headgate.domain.values.message import Message
from headgate.domain.workloads.events import WorkloadExplained
from headgate.domain.workloads.explanation import Explanation
from tests.browser.cluster import NAMESPACE, workload
from tests.browser.conftest import client_of
from tests.browser.screen import Screen
from tests.hypothesis_profiles import examples, is_full_depth
from tests.processes.up import Up

pytestmark = pytest.mark.browser

FIRST_PAGE = 100
EXPLANATIONS = examples(250, quick=120)
PAST = EXPLANATIONS - 50
_numbers = count(1)


@dataclass(frozen=True)
class Explained:
    """An inactive workload, for which nothing is decided, and the position it was submitted at."""

    up: Up
    name: str
    submitted: int

    @property
    def key(self) -> str:
        """Its namespace and name."""
        return f"{NAMESPACE}/{self.name}"

    def explain(self, *, after_version: int, times: int) -> None:
        """Record so many reasons."""
        numbers = range(after_version, after_version + times)
        stream = f"workload/{self.key}"
        running = json.loads((self.up.data / "run.json").read_text())
        pool = open_pool(running["database_url"], most=1)
        log = PostgresEventLog(pool)
        unit = AppendUnit(
            at=log.now(),
            metadata=EventMetadata(actor="scheduler"),
            expected={stream: after_version},
            events=tuple(NewEvent(stream=stream, event=_reason(number)) for number in numbers),
        )
        (appended,) = log.append([unit])
        pool.close()
        assert isinstance(appended, Appended)


def _reason(number: int) -> WorkloadExplained:
    return WorkloadExplained(
        explanation=Explanation(
            dominant="Short", message=Message("AsRecorded", {"text": f"Reason {number}."})
        )
    )


@pytest.fixture
def explained(headgate: Up) -> Explained:
    """One of this test's own that was explained more often than a page is long."""
    name = f"explained-{next(_numbers)}"
    manifest = workload(name)
    manifest["spec"]["active"] = False
    with client_of(headgate) as client:
        client.submit_batch([manifest])
        made = client.read(f"/v1/namespaces/{NAMESPACE}/workloads/{name}")
    found = Explained(headgate, name, int(made["metadata"]["resourceVersion"]))
    found.explain(after_version=1, times=EXPLANATIONS)
    return found


def timeline(screen: Screen) -> Locator:
    """The card with what happened."""
    return screen.page.get_by_role("region", name="Timeline")


def test_the_latest_are_there_at_once_and_earlier_ones_come_by_key(
    screen: Screen, explained: Explained
) -> None:
    screen.open(f"/workloads/{explained.key}?tab=timeline", explained.key)
    card = timeline(screen)
    expect(card.get_by_text(f"{EXPLANATIONS + 1} events", exact=True)).to_be_visible()
    before = f"{EXPLANATIONS + 1 - FIRST_PAGE} events"
    expect(card.get_by_text(f"Before: {before}")).to_be_visible()
    card.get_by_role("button", name=f"{FIRST_PAGE - 1} earlier reasons").click()
    expect(card.get_by_text(f"Reason {EXPLANATIONS - 10}.")).to_be_visible()
    if is_full_depth():
        assert screen.violations() == []

    more = card.get_by_role("button", name=f"Show earlier ({before})")
    more.focus()
    screen.page.keyboard.press("Enter")

    expect(card.get_by_role("button", name=f"{EXPLANATIONS - 1} earlier reasons")).to_be_visible()
    # What was unfolded stays so while it grows, across the pages.
    expect(card.get_by_text("Reason 1.", exact=True)).to_be_visible()
    expect(card.get_by_text("Submitted", exact=True).last).to_be_visible()
    expect(card.get_by_role("button", name="Show earlier")).to_have_count(0)
    expect(card.get_by_role("list", name="Events, newest first")).to_be_focused()
    assert screen.violations() == []


def test_a_reason_leads_to_its_past_blocker(screen: Screen, explained: Explained) -> None:
    screen.open(f"/workloads/{explained.key}?tab=timeline", explained.key)
    card = timeline(screen)
    card.get_by_role("button", name=f"{FIRST_PAGE - 1} earlier reasons").click()
    line = card.get_by_role("listitem").filter(has_text=f"Reason {PAST}.")
    line.get_by_role("link", name="Reasons at that time").click()
    then = explained.submitted + PAST
    expect(screen.page.get_by_title(f"Event #{then}", exact=True).first).to_be_visible()
    expect(card.get_by_text(f"{PAST + 1} events", exact=True)).to_be_visible()
    events = card.get_by_role("list", name="Events, newest first").get_by_role("listitem")
    expect(events.first).to_contain_text(f"Reason {PAST}.")


def test_a_link_to_an_early_event_leads_there(screen: Screen, explained: Explained) -> None:
    screen.open(f"/workloads/{explained.key}?event={explained.submitted}", explained.key)
    line = screen.page.locator(f"#event-{explained.submitted}")
    expect(line).to_contain_text("Submitted")
    expect(line).to_be_in_viewport()


def test_new_reasons_come_on_top_while_earlier_pages_stay(
    screen: Screen, explained: Explained
) -> None:
    screen.open(f"/workloads/{explained.key}?tab=timeline", explained.key)
    card = timeline(screen)
    card.get_by_role("button", name="Show earlier").click()
    expect(card.get_by_role("button", name=f"{EXPLANATIONS - 1} earlier reasons")).to_be_visible()
    explained.explain(after_version=EXPLANATIONS + 1, times=2)
    expect(card.get_by_role("button", name=f"{EXPLANATIONS + 1} earlier reasons")).to_be_visible()
    expect(card.get_by_text(f"{EXPLANATIONS + 3} events", exact=True)).to_be_visible()
    expect(card.get_by_text(f"Reason {EXPLANATIONS + 2}.")).to_be_visible()
