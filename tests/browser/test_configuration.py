"""Configuring in a real browser: what is wrong, what it would do, doing it, and taking it back."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from headgate.cli.commands.wait import goal_of, wait_for
from headgate.client.client import HeadgateClient
from tests.browser.cluster import GPU, NAMESPACE, QUEUE, workload
from tests.browser.conftest import client_of
from tests.browser.screen import Screen, written_in
from tests.processes.up import Up

pytestmark = pytest.mark.browser

HOLDERS = ("holder-1", "holder-2")
WAITING = "waits-for-quota"
HERE = f"/configuration/ClusterQueue/{QUEUE}"


@pytest.fixture(scope="module", autouse=True)
def work(headgate: Up) -> Iterator[int]:
    """Both queues' quota of eight GPUs is used up, so that one more has to wait; since when."""
    with client_of(headgate) as client:
        began = client.answer("/v1/queues").position
        client.submit_batch([workload(name, gpus=4) for name in HOLDERS])
        for name in HOLDERS:
            wait_for(client, f"{NAMESPACE}/{name}", goal_of("condition=Admitted"), 30)
        client.submit_batch([workload(WAITING)])
        yield began
        for name in (*HOLDERS, WAITING):
            path = f"/v1/namespaces/{NAMESPACE}/workloads/{name}"
            client.act(f"{path}/cancel", {"reason": "done"})


def test_an_admin_changes_a_quota_and_undoes_it(screen: Screen, client: HeadgateClient) -> None:
    """Line 8: an editor with line numbers, completion and lint at the line; diff, undo."""
    page = screen.page
    screen.open(HERE, "Configuration")
    editor = page.get_by_role("textbox", name="Manifests")
    expect(editor).to_contain_text("nominalQuota")
    before = written_in(editor)
    expect(page.locator(".cm-lineNumbers")).to_contain_text("10")
    editor.fill("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nspec:\n  coho")
    page.keyboard.press("Control+Space")
    page.get_by_role("option", name="cohortName").click()
    expect(editor).to_contain_text("cohortName: ")

    editor.fill(before.replace('nominalQuota: "4"', "nominalQuota: many"))
    expect(page.get_by_text("Error", exact=True)).to_be_visible()
    broken = page.get_by_role("listitem").filter(has_text="Error")
    broken.get_by_role("button", name="Line").click()
    assert "many" in page.evaluate("getSelection().toString()")
    apply = page.get_by_role("button", name="Preview changes")
    expect(apply).to_have_attribute("aria-disabled", "true")

    editor.fill(before.replace('nominalQuota: "4"', 'nominalQuota: "2"'))
    expect(page.get_by_text("1 would be changed")).to_be_visible()
    apply.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("would be affected")).to_be_visible()
    dialog.get_by_label("Reason").fill("ticket 4711")
    dialog.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("1 applied")).to_be_visible()
    expect(editor).to_contain_text('nominalQuota: "2"')

    page.get_by_role("tab", name="History").click()
    expect(page.get_by_text("ticket 4711")).to_be_visible()
    page.get_by_role("listitem").get_by_role("button", name="Roll back").last.click()
    dialog.get_by_label("Reason").fill("back")
    dialog.get_by_role("button", name="Roll back").click()
    expect(page.get_by_text("rolled back to")).to_be_visible()
    screen.open(HERE, "Configuration")
    expect(editor).to_contain_text('nominalQuota: "4"')
    _forgive_checks(screen)


@pytest.mark.nightly
def test_configuration_by_form_with_diff_and_affected_workloads(
    screen: Screen, client: HeadgateClient
) -> None:
    """A new flavor and a quota by form; what is wrong, changed and affected is said first."""
    page = screen.page
    screen.open("/configuration/ResourceFlavor", "Configuration")
    page.get_by_role("button", name="New ResourceFlavor").click()
    page.get_by_label("Name", exact=True).fill("h100")
    page.get_by_role("button", name="Add label").click()
    page.get_by_label("Key").fill("gpu")
    page.get_by_label("Value").fill("h100")
    page.get_by_role("button", name="Add toleration").click()
    toleration = page.get_by_role("group", name="toleration 1")
    toleration.get_by_label("Key").fill("gpu")
    toleration.get_by_label("Operator").select_option("Exists")
    assert screen.violations() == []
    _apply(screen, "new hosts")
    spec = client.read("/v1/resourceflavors/h100")["spec"]
    assert spec["nodeLabels"] == {"gpu": "h100"}
    assert [(one["key"], one["operator"]) for one in spec["tolerations"]] == [("gpu", "Exists")]
    page.get_by_role("tab", name="Used by").click()
    expect(page.get_by_text("ResourceFlavor h100 is not in use")).to_be_visible()
    screen.open(f"{HERE}?tab=uses", "Configuration")
    expect(page.get_by_role("region", name="LocalQueue")).to_be_visible()
    for holder in HOLDERS:
        expect(page.get_by_role("link", name=holder)).to_be_visible()
    assert screen.violations() == []

    screen.open(f"{HERE}?tab=form", "Configuration")
    quota = page.get_by_label(f"Nominal quota of {GPU} in a100")
    quota.fill("many")
    expect(page.get_by_text("Must be a quantity")).to_be_visible()
    expect(quota).to_have_attribute("aria-invalid", "true")
    assert screen.violations() == []
    quota.fill("8")
    page.get_by_role("button", name="Add admission check").click()
    check = page.get_by_role("group", name="admission check 1")
    expect(check.get_by_label("Only for flavors")).to_have_attribute("placeholder", "all")
    check.get_by_role("button", name="Remove admission check 1").click()
    page.get_by_label("Stop policy").select_option("HoldAndDrain")
    page.get_by_role("button", name="Preview changes").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".cm-deletedChunk").filter(has_text='nominalQuota: "4"')).to_be_visible()
    expect(dialog.get_by_text("2 workloads would be affected: 2 would be evicted.")).to_be_visible()
    expect(dialog.get_by_role("link", name=HOLDERS[0])).to_be_visible()
    assert screen.violations() == []
    dialog.get_by_role("button", name="Cancel").click()
    page.get_by_role("tab", name="YAML").click()
    expect(page.get_by_role("textbox", name="Manifests")).to_contain_text("HoldAndDrain")
    client.remove("/v1/resourceflavors/h100")
    _forgive_checks(screen)


def test_likely_mistakes_are_reported_at_their_line(screen: Screen, client: HeadgateClient) -> None:
    screen.open("/configuration", "Configuration")
    health = screen.page.get_by_role("group", name="Health of every ClusterQueue")
    row = health.get_by_role("row").filter(has_text=QUEUE)
    expect(row.get_by_text(re.compile(r"^(OK|\d+ (note|warning)s?)$"))).to_be_visible()
    expect(row).to_contain_text("admin")
    _choose_kinds(screen, client)
    screen.page.get_by_role("button", name="Paste YAML").click()
    manifest = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata:\n  name: lone\n"
    screen.page.get_by_role("textbox", name="Manifests").fill(
        f"{manifest}spec:\n  namespaceSelector: {{}}\n"
    )

    expect(screen.page.get_by_text("1 would be created")).to_be_visible()
    expect(screen.page.get_by_text("Warning", exact=True).first).to_be_visible()


def _choose_kinds(screen: Screen, client: HeadgateClient) -> None:
    """By key on a desk and in the menu on a phone; each kind with how many there are of it."""
    page = screen.page
    kinds = page.get_by_role("group", name="Kinds")
    counts = {one["kind"]: one["count"] for one in client.read("/v1/kinds")["items"]}
    queues = kinds.get_by_role("button", name=f"LocalQueue {counts['LocalQueue']}")
    queues.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/configuration/LocalQueue$"))
    expect(page.get_by_role("group", name="Health of every LocalQueue")).to_be_visible()
    expect(queues).to_be_focused()
    screen.resize(390, 844)
    kinds.get_by_role("button", name="Other kinds").click()
    page.get_by_role("menuitem", name=f"Node {counts['Node']}", exact=True).click()
    expect(page.get_by_role("group", name="Health of every Node")).to_be_visible()
    chosen = kinds.get_by_role("button", name=f"Node {counts['Node']}")
    expect(chosen).to_have_attribute("aria-pressed", "true")
    chips = [one.bounding_box() for one in kinds.get_by_role("button").all()]
    assert len({chip["y"] for chip in chips if chip}) == 1
    assert screen.violations() == []
    screen.resize(1440, 900)


def test_a_concurrent_change_is_not_overwritten(screen: Screen, client: HeadgateClient) -> None:
    page = screen.page
    client.apply(b"{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: both}}")
    screen.open("/configuration/Cohort/both", "Configuration")
    editor = page.get_by_role("textbox", name="Manifests")
    expect(editor).to_contain_text("both")
    editor.fill(f"{written_in(editor).rstrip()}\nspec:\n  fairSharing: {{weight: '2'}}\n")
    client.apply(
        b"{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, "
        b"metadata: {name: both, labels: {a: b}}}"
    )

    expect(page.get_by_text("The object changed on the server")).to_be_visible()
    page.get_by_role("button", name="Discard changes").click()
    expect(editor).to_contain_text("labels")
    _forgive_checks(screen)


def test_changes_merge_with_a_concurrent_change_of_other_fields(
    screen: Screen, client: HeadgateClient
) -> None:
    page = screen.page
    cohort = "apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: mixed%s}"
    client.apply(f"{{{cohort % ''}, spec: {{fairSharing: {{weight: '2'}}}}}}".encode())
    screen.open("/configuration/Cohort/mixed", "Configuration")
    editor = page.get_by_role("textbox", name="Manifests")
    expect(editor).to_contain_text("weight")
    editor.fill(re.sub("weight: .*", "weight: '3'", written_in(editor)))
    labelled = cohort % ", labels: {a: b}"
    client.apply(f"{{{labelled}, spec: {{fairSharing: {{weight: '2'}}}}}}".encode())

    page.get_by_role("button", name="Rebase my changes").click()
    expect(editor).to_contain_text("a: b")
    expect(editor).to_contain_text("weight: '3'")
    page.get_by_role("button", name="Preview changes").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("both are meant")
    dialog.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("1 applied")).to_be_visible()
    found = client.read("/v1/cohorts/mixed")
    assert found["metadata"]["labels"] == {"a": "b"}
    assert found["spec"]["fairSharing"]["weight"] == "3"
    _forgive_checks(screen)


def test_nothing_is_configured_in_the_past(screen: Screen, client: HeadgateClient) -> None:
    screen.open(f"{HERE}?at={client.head()}", "Configuration")
    editor = screen.page.get_by_role("textbox", name="Manifests")
    expect(editor).to_contain_text("nominalQuota")
    expect(editor).not_to_be_editable()
    expect(screen.page.get_by_role("button", name="Preview changes")).to_have_attribute(
        "aria-disabled", "true"
    )


def test_a_backtest_runs_and_shows_its_result(screen: Screen, work: int) -> None:
    page = screen.page
    screen.open("/backtests", "Backtests")
    page.get_by_label("Replayed time range").select_option("Whole log")
    page.get_by_role("button", name="Run backtest").click()

    expect(page.get_by_role("heading", level=1, name="Backtest", exact=True)).to_be_visible()
    expect(page.get_by_text("Unchanged", exact=True)).to_be_visible()
    expect(page.get_by_text("No differences in start time or placement")).to_be_visible()


def _forgive_checks(screen: Screen) -> None:
    """The browser notes every check that finds a broken rule, as its answer is a 422."""
    screen.complaints[:] = [one for one in screen.complaints if "422" not in one]


def _apply(screen: Screen, reason: str) -> None:
    screen.page.get_by_role("button", name="Preview changes").click()
    dialog = screen.page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill(reason)
    dialog.get_by_role("button", name="Apply").click()
    expect(screen.page.get_by_text("1 applied")).to_be_visible()
