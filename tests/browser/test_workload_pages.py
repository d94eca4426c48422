"""What submitters do on the page: find workloads, learn why they wait, submit, and act."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection
from tests.browser.cluster import HOSTNAME, NAMESPACE, Object, workload
from tests.browser.conftest import new_context
from tests.browser.screen import Screen, written_in
from tests.browser.test_live import finish
from tests.hypothesis_profiles import is_full_depth
from tests.processes.up import Up

pytestmark = pytest.mark.browser


def test_workload_grid(screen: Screen, client: HeadgateClient) -> None:
    """Line 4: filtered by tokens, grouped with sums, ordered, exported, and shared by address."""
    client.submit_batch(
        [
            workload("grid-few", gpus=5),
            workload("grid-many", gpus=99),
            workload("grid-most", gpus=120),
        ]
    )
    page = screen.page
    screen.open("/workloads?filter=grid-", "Workloads")
    field = page.get_by_role("combobox", name="Filter workloads")
    field.fill("own")
    page.get_by_role("option", name="owner:").click()
    page.get_by_role("option", name="owner:me").click()
    field.fill("gpu:>8")
    field.press("Enter")
    expect(page.get_by_role("button", name="Remove gpu:>8")).to_be_visible()
    expect(page.get_by_text("2 workloads, 219 GPU")).to_be_visible()
    expect(screen.row("grid-few")).to_have_count(0)
    page.get_by_role("columnheader", name="GPU").get_by_role("button").click()
    expect(page.get_by_role("columnheader", name="GPU")).to_have_attribute(
        "aria-sort", "descending"
    )
    expect(page.get_by_role("row").nth(1)).to_contain_text("grid-most")
    for column in ("Owner", "GPU", "Wait", "Run time", "Reason"):
        expect(page.get_by_role("columnheader", name=column, exact=True)).to_be_visible()
    requeues = page.get_by_role("columnheader", name="Requeues")
    expect(requeues).to_have_count(0)
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("menuitemcheckbox", name="Requeues").click()
    expect(requeues).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Group").click()
    page.get_by_role("menuitemcheckbox", name="LocalQueue").click()
    head = screen.row("team-a/main").first
    expect(head).to_contain_text("2 workloads")
    expect(head).to_contain_text("219 GPU")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Export as CSV").click()
    lines = Path(saving.value.path()).read_text().splitlines()
    assert [line.split(",")[1] for line in lines] == ["name", "grid-most", "grid-many"]
    page.reload()
    expect(head).to_contain_text("219 GPU")
    expect(page.get_by_role("button", name="Remove owner:me")).to_be_visible()
    expect(requeues).to_be_visible()
    views = page.get_by_role("navigation", name="Views")
    for view in ("Mine", "Stuck", "Unschedulable", "Failed today", "Largest"):
        expect(views.get_by_role("link", name=view)).to_be_visible()
    views.get_by_role("link", name="Unschedulable").click()
    expect(page).to_have_url(re.compile(r"filter=phase%3AUnschedulable"))
    expect(screen.row("grid-most")).to_contain_text("Unschedulable")
    assert screen.violations() == []


def test_all_that_match_are_acted_on_as_one_set(screen: Screen, client: HeadgateClient) -> None:
    """Line 4: the set is the server's, later arrivals are none of it, and undo brings it back."""
    client.submit_batch([workload(f"set-{number:03}", gpus=99) for number in range(104)])
    page = screen.page
    screen.open("/workloads?filter=set-&group=queue", "Workloads")
    head = screen.row("team-a/main").first
    expect(head).to_contain_text("104 unschedulable")
    expect(head.get_by_role("checkbox")).to_have_count(0)
    screen.open("/workloads?filter=set-", "Workloads")
    screen.row("set-103").get_by_role("checkbox").check()
    bar = page.get_by_role("group", name="Actions on the selection")
    bar.get_by_role("button", name="Select all 104 matching").click()
    expect(bar).to_contain_text("104 selected, 10,296 GPU")
    client.submit_batch([workload("set-later", gpus=99)])
    screen.row("set-102").get_by_role("checkbox").uncheck()
    bar.get_by_role("button", name="Hold", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("103 of 103 will be changed; the first 100 are listed")
    dialog.get_by_label("Reason").fill("a pause")
    dialog.get_by_role("button", name="Hold", exact=True).click()
    expect(page.get_by_text("Hold: 103 of 103 done")).to_be_visible()
    held = client.read("/v1/workload-rows/groups", {"filter": "set-", "by": "phase"})["items"]
    assert {one["value"]: one["count"] for one in held} == {"OnHold": 103, "Pending": 2}
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Hold undone: 103 of 103")).to_be_visible()
    assert screen.violations() == []


def test_a_row_that_no_longer_matches_stays_in_sight(
    screen: Screen, client: HeadgateClient
) -> None:
    """Line 4: nothing moves by itself; a list that is read anew is without it."""
    client.submit_batch([workload(f"gone-{number}", gpus=99) for number in range(3)])
    screen.open("/workloads?filter=gone-+-phase:OnHold", "Workloads")
    expect(screen.row("gone-2")).to_be_visible()
    client.act(f"/v1/namespaces/{NAMESPACE}/workloads/gone-1/hold", {"reason": "a pause"})
    expect(screen.row("gone-1")).to_contain_text("no longer matches")
    places = screen.page.get_by_role("row").filter(has_text="gone-")
    for place, number in enumerate((2, 1, 0)):
        expect(places.nth(place)).to_contain_text(f"gone-{number}")
    assert screen.violations() == []
    screen.page.reload()
    expect(screen.row("gone-2")).to_be_visible()
    expect(screen.row("gone-1")).to_have_count(0)
    # An order of the largest stands while the pointer is in the list.
    screen.open("/workloads?filter=gone-&sort=-gpu", "Workloads")
    screen.row("gone-2").hover()
    screen.page.mouse.move(600, 130)
    client.submit_batch([workload("gone-most", gpus=120)])
    expect(screen.page.get_by_text("order from")).to_be_visible()
    expect(places.last).to_contain_text("gone-most")
    assert screen.violations() == []
    screen.page.get_by_role("button", name="Refresh", exact=True).click()
    expect(places.first).to_contain_text("gone-most")
    expect(screen.page.get_by_text("order from")).to_have_count(0)


def test_columns_are_moved_by_pointer_and_by_keys(screen: Screen, client: HeadgateClient) -> None:
    """Line 4: the address keeps the order of the columns."""
    client.submit_batch([workload("moved", gpus=99)])
    page = screen.page
    screen.open("/workloads?filter=moved&columns=phase,name,owner,gpu,executors", "Workloads")
    heads = page.get_by_role("columnheader")
    heads.filter(has_text="GPU").drag_to(heads.filter(has_text="Owner"))
    expect(page).to_have_url(re.compile("columns=phase,name,gpu,owner,executors"))
    page.get_by_role("columnheader", name="Executor").focus()
    page.keyboard.press("Shift+ArrowLeft")
    expect(page).to_have_url(re.compile("columns=phase,name,gpu,executors,owner"))
    expect(page.get_by_role("columnheader", name="Executor")).to_be_focused()
    expect(page.get_by_text("Executor: column 4 of 5")).to_be_attached()
    assert screen.violations() == []


@pytest.mark.nightly
def test_workload_grid_views_are_saved_and_shared(
    screen: Screen, browser: Browser, headgate: Up, client: HeadgateClient
) -> None:
    """Line 4: a user saves what the grid shows and shares it; another user sees it."""
    page = screen.page
    screen.open("/workloads?filter=gpu:>8&sort=-gpu&columns=phase,name,gpu", "Workloads")
    views = page.get_by_role("navigation", name="Views")
    page.get_by_role("button", name="Save view").click()
    dialog = page.get_by_role("dialog", name="Save view")
    dialog.get_by_label("Name").fill("Large gangs")
    assert screen.violations() == []
    dialog.get_by_role("button", name="Save view").click()
    saved = views.get_by_role("link", name="Large gangs")
    expect(saved).to_have_attribute("aria-current", "true")
    views.get_by_role("link", name="All").click()
    expect(saved).not_to_have_attribute("aria-current", "true")
    saved.click()
    expect(page.get_by_role("button", name="Saved view")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Reason")).to_have_count(0)

    made = client.act("/v1/tokens", {"name": "onlooker", "role": "viewer"})
    other = new_context(browser)
    theirs = Screen(other.new_page(), headgate.url, made["secret"])
    theirs.open("/workloads", "Workloads")
    seen = theirs.page.get_by_role("navigation", name="Views").get_by_role("link")
    expect(seen).to_have_count(6)
    page.get_by_role("button", name="Saved view").click()
    page.get_by_role("menuitemcheckbox", name="Share with all users").click()
    expect(views.get_by_role("img", name="Shared with all users")).to_be_visible()
    theirs.open("/workloads", "Workloads")
    expect(seen).to_have_count(7)
    seen.last.click()
    expect(theirs.page.get_by_role("button", name="Save view")).to_be_visible()
    assert theirs.violations() == []
    other.close()

    page.get_by_role("button", name="Saved view").click()
    page.get_by_role("menuitem", name="Delete view").click()
    expect(saved).to_have_count(0)
    client.remove("/v1/tokens/onlooker")


def gang(name: str, pods: int, gpus: int = 2) -> Object:
    """A workload of several pods that may run anywhere."""
    made = workload(name, gpus=gpus)
    made["spec"]["podSets"][0]["count"] = pods
    del made["spec"]["podSets"][0]["topologyRequest"]
    return made


def test_verdict_and_remedies(screen: Screen, client: HeadgateClient) -> None:
    """Line 3: red with the edit that helps, its simulated result, and the edit applied."""
    client.submit_batch([gang("verdict", 20)])
    page = screen.page
    screen.open(f"/workloads/{NAMESPACE}/verdict", f"{NAMESPACE}/verdict")
    expect(page.get_by_role("heading", level=2, name="Unschedulable")).to_be_visible()
    expect(page.get_by_role("img", name="of 40 GPU available")).to_be_visible()
    card = page.get_by_role("listitem").filter(has_text="4 pods instead of 20")
    expect(card.get_by_text("Starts now")).to_be_visible()
    card.get_by_role("button", name="Diff").click()
    expect(page.get_by_role("dialog")).to_contain_text("- spec.podSets.0.count: 20")
    expect(page.get_by_role("dialog")).to_contain_text("+ spec.podSets.0.count: 4")
    page.keyboard.press("Escape")
    assert screen.violations() == []
    card.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Starting", exact=True).first).to_be_visible()
    found = client.read(f"/v1/namespaces/{NAMESPACE}/workloads/verdict")
    assert found["spec"]["podSets"][0]["count"] == 4
    finish(client, "verdict")


def test_submit_page(
    screen: Screen, tab: BrowserContext, headgate: Up, client: HeadgateClient
) -> None:
    """Line 5: a template, a live forecast, an edit it offers, the manifest both ways, submit."""
    page = screen.page
    screen.open("/submit?template=gang", "Submit")
    forecast = page.get_by_role("region", name="Forecast")
    page.get_by_label("LocalQueue").select_option(f"{NAMESPACE}/main")
    for label, value in (("CPU per pod", "1"), ("Memory per pod", ""), ("GPUs per pod", "2")):
        page.get_by_label(label).fill(value)
    page.get_by_label("Pods", exact=True).fill("20")
    manifest = page.get_by_role("textbox", name="Manifest", exact=True)
    expect(manifest).to_contain_text("count: 20")
    expect(forecast.get_by_role("status")).to_contain_text("Unschedulable")
    forecast.get_by_role("button", name="4 pods instead of 20").click()
    expect(page.get_by_label("Pods", exact=True)).to_have_value("4")
    expect(forecast.get_by_role("status")).to_contain_text("Starts now")
    manifest.fill(written_in(manifest).replace("gang-1", "typed-1"))
    expect(page.get_by_label("Name")).to_have_value("typed-1")
    assert screen.violations() == []
    page.get_by_label("Pods", exact=True).fill("20")
    expect(forecast.get_by_role("status")).to_contain_text("Unschedulable")
    page.keyboard.press("Control+Enter")
    expect(forecast.get_by_role("alert")).to_contain_text("can never start")
    forecast.get_by_role("button", name="Submit anyway").click()
    expect(page.get_by_role("heading", level=1, name=f"{NAMESPACE}/typed-1")).to_be_visible()
    # A remedy that is simulated after the end of its workload is refused, which the console tells.
    expect(page.get_by_role("listitem").filter(has_text="4 pods instead of 20")).to_be_visible()
    expect(page.get_by_text("Simulating…")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("link", name="Resubmit with changes").click()
    expect(page.get_by_label("Name")).to_have_value("typed-2")

    scope = {"name": "sub", "role": "submitter", "namespaces": [NAMESPACE]}
    secret = client.act("/v1/tokens", scope)["secret"]
    theirs = Screen(tab.new_page(), headgate.url, secret)
    theirs.go("/")
    pages = theirs.page.get_by_role("navigation", name="Pages")
    expect(pages.get_by_role("link", name="My work")).to_be_visible()
    expect(pages.get_by_role("link", name="Configuration")).to_be_hidden()
    client.remove("/v1/tokens/sub")


def test_submit_form(screen: Screen) -> None:
    """Line 5: room, cost, counts by arrow keys, and problems at the field and at its line."""
    page = screen.page
    screen.open("/submit?template=gang", "Submit")
    forecast = page.get_by_role("region", name="Forecast")
    page.get_by_label("LocalQueue").select_option(f"{NAMESPACE}/main")
    expect(page.get_by_role("status", name="Free in the queue")).to_contain_text("of 4 GPU free")
    gpus = page.get_by_role("spinbutton", name="GPUs per pod")
    gpus.fill("3")
    gpus.press("ArrowDown")
    expect(gpus).to_have_value("2")
    page.get_by_label("CPU per pod").fill("1")
    page.get_by_label("Memory per pod").fill("")
    page.get_by_label("Pods", exact=True).press("ArrowUp")
    page.get_by_label("Maximum run time").fill("12 h")
    page.get_by_label("Retries of failed pods").fill("3")
    page.get_by_label("same host").check()
    expect(forecast.get_by_text("10 GPU, 120 GPU-h at most")).to_be_visible()
    expect(forecast.get_by_text("Largest gang in a host")).to_be_visible()
    manifest = page.get_by_role("textbox", name="Manifest", exact=True)
    for written in ("count: 5", "maximumExecutionTimeSeconds: 43200", "limit: 3", HOSTNAME):
        expect(manifest).to_contain_text(written)

    page.get_by_label("Retries of failed pods").fill("many")
    field = page.get_by_label("Retries of failed pods")
    expect(field).to_have_attribute("aria-invalid", "true")
    problems = page.get_by_role("list", name="Problems of the manifest")
    line = written_in(manifest).split("\n").index("    limit: many") + 1
    problems.get_by_role("button", name=f"Line {line}").click()
    expect(manifest).to_be_focused()
    expect(page.locator(".cm-lintRange-error")).to_have_text("    limit: many")
    assert screen.violations() == []
    page.keyboard.press("Alt+m")
    expect(manifest).to_have_count(0)
    page.keyboard.press("Alt+m")
    expect(manifest).to_be_focused()
    screen.open("/submit?template=manifest", "Submit")
    manifest.fill("kind: Workload\nmetadata: {name: pasted}\nspec: [")
    expect(problems.get_by_role("button", name="Line 3")).to_be_visible()
    manifest.fill("kind: Workload\nmetadata: {name: pasted}")
    expect(page.get_by_label("Name")).to_have_value("pasted")
    # The console tells that invalid manifests were refused.
    screen.complaints[:] = [one for one in screen.complaints if "422" not in one]


def test_submit_on_a_phone(screen: Screen) -> None:
    """Line 5: the forecast is a strip of two lines above the button, and opens as a sheet."""
    page = screen.page
    page.set_viewport_size({"width": 390, "height": 844})
    screen.open("/submit?template=cpu", "Submit")
    page.get_by_label("LocalQueue").select_option(f"{NAMESPACE}/main")
    page.get_by_label("Memory per pod").fill("")
    strip = page.get_by_role("region", name="Forecast")
    expect(strip).to_contain_text("Starts now")
    expect(strip).to_be_in_viewport(ratio=1)
    assert screen.violations() == []
    strip.get_by_role("button", name="Starts now").click()
    sheet = page.get_by_role("dialog", name="Forecast")
    expect(sheet.get_by_text("4 CPU, no run time limit")).to_be_visible()
    expect(sheet.get_by_text("headgate submit --name cpu-1")).to_be_visible()
    assert screen.violations() == []
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)


def test_workload_actions(screen: Screen, headgate: Up, client: HeadgateClient) -> None:
    """Line 6: actions where they apply; no reason for one's own work, one for others'."""
    scope = {"name": "sub", "role": "submitter", "namespaces": [NAMESPACE]}
    secret = client.act("/v1/tokens", scope)["secret"]
    with HeadgateClient(Connection(url=headgate.url, token=secret, source="test")) as other:
        other.submit_batch([workload("act-theirs", gpus=99)])
    client.submit_batch([workload("act-own", gpus=99)])
    page = screen.page
    for name, asks in (("act-own", False), ("act-theirs", True)):
        screen.open(f"/workloads/{NAMESPACE}/{name}", f"{NAMESPACE}/{name}")
        actions = page.get_by_role("group", name="Actions")
        expect(actions.get_by_role("button", name="Hold", exact=True)).to_be_visible()
        expect(actions.get_by_role("button", name="Requeue")).to_have_count(0)
        actions.get_by_role("button", name="Hold", exact=True).click()
        dialog = page.get_by_role("dialog")
        confirm = dialog.get_by_role("button", name="Hold", exact=True)
        if asks:
            expect(confirm).to_have_attribute("aria-disabled", "true")
            dialog.get_by_label("Reason").fill("driver upgrade")
        confirm.click()
        said = "On hold by admin: driver upgrade" if asks else "On hold by admin"
        expect(page.get_by_role("heading", level=2, name=said)).to_be_visible()
        expect(actions.get_by_role("button", name="Release")).to_be_visible()
    page.get_by_role("button", name="Other actions").click()
    expect(page.get_by_role("menuitem", name="Requeue: not admitted")).to_be_visible()
    page.keyboard.press("Escape")
    for verb in ("release", "deactivate"):
        path = f"/v1/namespaces/{NAMESPACE}/workloads/act-theirs/{verb}"
        client.act(path, {"reason": "never starts"})
    offered = page.get_by_role("group", name="Actions")
    expect(offered.get_by_role("button", name="Activate")).to_be_visible()
    expect(offered.get_by_role("button", name="Hold", exact=True)).to_have_count(0)
    if is_full_depth():
        assert screen.violations() == []
    client.remove("/v1/tokens/sub")
