"""`headgate stuck`, and bulk actions on workloads."""

from pathlib import Path

from headgate.client.client import HeadgateClient
from tests.cli.invocation import Invoker


def submit(headgate: Invoker, *names: str) -> None:
    for name in names:
        headgate("submit", "--name", name, "--queue", "main", "--cpu", "1")


def test_stuck_lists_workloads_and_shows_one_in_full(headgate: Invoker) -> None:
    submit(headgate, "patient")
    headgate("deactivate", "patient", "--reason", "wrong data")
    listed = headgate("stuck", "--cause", "Requested").stdout
    assert "default/patient" in listed
    assert "Deactivated: wrong data" in listed
    shown = headgate("stuck", "patient").stdout
    assert "headgate activate default/patient" in shown
    assert "Predicted outcome:" in shown
    assert "is not inactive, on hold or retrying" in _after(headgate, "activate", "patient")


def _after(headgate: Invoker, verb: str, name: str) -> str:
    headgate(verb, name, "--reason", "x")
    return headgate("stuck", name, code=5).output


def test_a_dry_run_tells_the_phase_an_action_leads_to(headgate: Invoker) -> None:
    submit(headgate, "tried")
    told = headgate("deactivate", "tried", "--dry-run").stdout
    assert told == "workload/tried would be deactivated; new phase: Inactive (dry run)\n"
    assert headgate.json("get", "workload", "tried")["status"]["phase"] != "Inactive"


def test_a_bulk_action_is_shown_before_it_is_done_and_can_be_undone(
    headgate: Invoker,
) -> None:
    submit(headgate, "many-1", "many-2")
    asked = ("bulk", "hold", "--name", "many-", "--reason", "audit")
    assert "2 of 2 workloads would be changed" in headgate(*asked, "--dry-run").output
    assert "confirmation needs a terminal" in headgate(*asked, code=2).output
    done = headgate(*asked, "--yes").output
    batch = done.split("headgate batch ")[1].split()[0]
    shown = headgate("batch", batch).stdout
    assert shown.startswith("hold by user:")
    assert "audit" in shown
    assert "2 of 2 succeeded" in headgate("batch", batch, "--undo").output
    assert headgate.json("get", "workload", "many-1")["status"]["phase"] != "OnHold"
    again = headgate("batch", batch, "--undo", code=5)
    assert "Changed since the bulk action" in again.stdout
    assert "0 of 2 succeeded" in again.stderr


def test_undo_names_workloads_with_later_changes_and_leaves_them(headgate: Invoker) -> None:
    submit(headgate, "both-1", "both-2")
    done = headgate("bulk", "hold", "--name", "both-", "--reason", "audit", "--yes").output
    batch = done.split("headgate batch ")[1].split()[0]
    headgate("release", "both-1", "--reason", "seen")
    undone = headgate("batch", batch, "--undo")
    rows = {line.split()[0]: line.split()[1] for line in undone.stdout.splitlines()[1:]}
    assert rows == {"default/both-1": "skipped", "default/both-2": "done"}
    assert "1 of 2 succeeded" in undone.stderr


def test_a_bulk_action_on_everything_is_refused(headgate: Invoker) -> None:
    refused = headgate("bulk", "cancel", "-A", "--reason", "x", code=2).output
    assert "bulk needs a filter" in refused


def test_a_bulk_action_may_be_previewed_without_a_reason_but_not_done(headgate: Invoker) -> None:
    headgate("submit", "--queue", "main", "--cpu", "1", "--name", "quiet")
    assert "default/quiet" in headgate("bulk", "hold", "--name", "quiet", "--dry-run").stdout
    refused = headgate("bulk", "hold", "--name", "quiet", "--yes", code=2)
    assert "--reason" in refused.stderr


def test_stuck_and_bulk_are_filtered_by_the_time_workloads_became_stuck(headgate: Invoker) -> None:
    headgate("submit", "--queue", "main", "--cpu", "1", "--name", "recent")
    headgate("deactivate", "recent", "--reason", "spot is dry")
    listed = headgate("stuck", "--since", "1h", "--name", "recent", "--phase", "Inactive")
    assert "default/recent" in listed.stdout
    later = headgate("stuck", "--since", "2999-01-01T00:00:00Z")
    assert later.stderr.strip() == "No resources found."
    asked = ("bulk", "activate", "--cause", "Requested", "--since", "1h", "--name", "recent")
    assert "default/recent" in headgate(*asked, "--dry-run").stdout


def test_causes_are_acknowledged_snoozed_and_reopened(
    headgate: Invoker, client: HeadgateClient
) -> None:
    submit(headgate, "caused")
    headgate("deactivate", "caused", "--reason", "wrong data")
    version = headgate.json("get", "workload", "caused")["metadata"]["resourceVersion"]
    client.read("/v1/overview", {"minPosition": version})

    def row() -> list[str]:
        client.read("/v1/attention", {"minPosition": str(client.head())})
        lines = headgate("attention").stdout.splitlines()
        (found,) = [line.split() for line in lines if "WorkloadInactive" in line]
        return found

    assert "open" in row()
    told = headgate("acknowledge", "WorkloadInactive", "--reason", "INC-7")
    assert told.stdout.strip() == "WorkloadInactive acknowledged"
    assert "acknowledged" in row()
    told = headgate("acknowledge", "WorkloadInactive", "--reason", "INC-7", "--for", "2h")
    assert told.stdout.strip() == "WorkloadInactive snoozed"
    assert "snoozed" in row()
    assert headgate("reopen", "WorkloadInactive").stdout.strip() == "WorkloadInactive reopened"
    assert headgate("reopen", "WorkloadInactive").stdout.strip() == "WorkloadInactive unchanged"
    assert "open" in row()
    unknown = headgate("reopen", "NodeNotReady/nowhere", code=3)
    assert "No open cause NodeNotReady/nowhere" in unknown.stderr


def test_a_webhook_is_given_a_secret_and_tested_from_the_command_line(
    headgate: Invoker, client: HeadgateClient, tmp_path: Path
) -> None:
    manifest = tmp_path / "webhook.yaml"
    manifest.write_text(
        "{apiVersion: headgate.dev/v1, kind: Webhook, metadata: {name: pager},"
        " spec: {url: 'http://alerts.invalid/'}}"
    )
    headgate("apply", "-f", str(manifest))
    assert headgate("webhook", "secret", "pager").stdout.startswith("whsec_")
    assert "queued" in headgate("webhook", "test", "pager").stdout
    client.read("/v1/webhooks/pager/deliveries", {"minPosition": str(client.head())})
    row = headgate("webhook", "deliveries", "pager").stdout.splitlines()[1].split()
    assert row[1] == "test"
    assert "pager" in headgate("get", "webhooks").stdout
    headgate("delete", "webhook", "pager")


def test_alerts_are_listed_with_severity_and_cause(
    headgate: Invoker, client: HeadgateClient
) -> None:
    submit(headgate, "alerting")
    headgate("deactivate", "alerting", "--reason", "wrong data")
    # Alerts are of the state that the server follows the log with.
    version = headgate.json("get", "workload", "alerting")["metadata"]["resourceVersion"]
    client.read("/v1/overview", {"minPosition": version})
    found = headgate.json("alerts")["items"]
    (inactive,) = [each for each in found if each["title"] == "default/alerting is inactive"]
    (row,) = [line for line in headgate("alerts").stdout.splitlines() if "alerting" in line]
    assert row.split()[:2] == [inactive["severity"], inactive["kind"]]
    assert row.split()[:2] == ["warning", "WorkloadInactive"]
    assert row.endswith(inactive["detail"])
