"""The commands against a real server, from an empty installation to a finished workload."""

import json
import re
import threading
from collections.abc import Iterator

import pytest

from headgate.cli.commands.why import held_share
from headgate.cli.executor.behavior import Behavior
from headgate.cli.executor.command import SimulatedExecutor
from headgate.cli.executor.runs import SimulatedRuns
from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection
from tests.builders.documents import queue_documents
from tests.cli.invocation import Invoker
from tests.jobs.manifests import EXAMPLES

QUEUE = queue_documents("small", local="main", namespace="default", cpu=4)

NODE = """
apiVersion: v1
kind: Node
metadata: {name: host-1}
status: {allocatable: {cpu: 4}}
"""
KEPT = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: kept}
spec: {}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: keeper}
spec:
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: kept, resources: [{name: cpu, nominalQuota: 1}]}
"""


@pytest.fixture(scope="module", autouse=True)
def configured(client: HeadgateClient) -> None:
    outcomes = {result.outcome for result in client.apply(QUEUE.encode()).results}
    assert outcomes == {"created"}


@pytest.fixture(scope="module", autouse=True)
def patient(connection: Connection) -> Iterator[None]:
    """An executor that stops evicted workloads and runs all others without end."""
    endless = Behavior(start_delay=0, run_length=10**15, stop_delay=0)
    executor = SimulatedExecutor(connection, SimulatedRuns(lambda *_: endless))
    stopping = threading.Event()
    thread = threading.Thread(target=executor.run, args=(stopping.is_set,))
    thread.start()
    yield
    stopping.set()
    thread.join(timeout=180)
    executor.close()


def written(client: HeadgateClient, *streams: str) -> list[int]:
    """The positions of all that was ever written to some streams; others may move meanwhile."""
    found = [client.read("/v1/events", {"stream": stream})["items"] for stream in streams]
    return [event["position"] for events in found for event in events]


def submit(headgate: Invoker, name: str, cpu: str = "1", *more: str) -> None:
    headgate("submit", "--name", name, "--queue", "main", "--cpu", cpu, *more)


SOME_COHORT = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: some}
spec: {}
"""


def remove(headgate: Invoker, *names: str) -> None:
    for name in names:
        headgate("cancel", name)
        headgate("wait", name, "--for", "phase=Cancelled", "--timeout", "180s", code=6)
        headgate("delete", f"wl/{name}", "-y")


def test_applying_again_changes_nothing_and_says_so(headgate: Invoker) -> None:
    lines = headgate("apply", "-f", "-", given=QUEUE).stdout.splitlines()
    assert lines[-1] == "localqueue/default/main unchanged"


def test_a_dry_run_leaves_the_log_where_it_was(headgate: Invoker, client: HeadgateClient) -> None:
    streams = ("workload/default/dry", "clusterqueue/small")
    before = written(client, *streams)
    headgate("submit", "--name", "dry", "--queue", "main", "--cpu", "1", "--dry-run")
    headgate("stop", "cq/small", "--dry-run")
    assert written(client, *streams) == before != []


def test_a_wrong_manifest_is_refused_with_place_and_remedy(headgate: Invoker) -> None:
    result = headgate("submit", "--queue", "main", "--cpu", "many", "--name", "x", code=8)
    assert "/spec/podSets/0" in result.stderr
    assert "->" in result.stderr


def test_what_is_not_there_is_not_found(headgate: Invoker) -> None:
    result = headgate("why", "missing", code=3)
    assert "Request ID:" in result.stderr
    assert result.stdout == ""


def test_a_bad_token_is_forbidden(headgate: Invoker) -> None:
    headgate("get", "cq", "--token", "wrong", code=4)


def test_an_unknown_kind_is_wrong_usage(headgate: Invoker) -> None:
    assert "cq" in headgate("get", "things", code=2).stderr


def test_a_waiting_workload_says_what_it_waits_for(headgate: Invoker) -> None:
    submit(headgate, "first", "3", "--wait")
    submit(headgate, "second", "3")
    headgate("wait", "second", "--for", "condition=QuotaReserved=False", "--timeout", "180s")
    told = headgate("why", "second").stdout
    assert "3 CPU (" in told.splitlines()[0]
    assert "default/first" in told
    explanation = headgate.json("why", "second")
    assert explanation["blockers"][0]["shortBy"] == 2_000
    assert "reason unchanged for" in told
    assert f"evaluated 1 time, last in cycle {explanation['lastAttempt']['cycle']}" in told
    remove(headgate, "second", "first")


def test_waiting_ends_with_the_time_it_was_given(headgate: Invoker) -> None:
    submit(headgate, "large", "5")
    headgate("wait", "large", "--for", "phase=Running", "--timeout", "1s", code=124)
    remove(headgate, "large")


def test_an_executor_brings_workloads_to_their_end(
    headgate: Invoker, connection: Connection
) -> None:
    quick = Behavior(start_delay=0, run_length=0, stop_delay=0)
    submit(headgate, "quick")
    executor = SimulatedExecutor(connection, SimulatedRuns(lambda *_: quick))
    executor.run(lambda: executor.reported >= 2)
    executor.close()
    headgate("wait", "quick", "--for", "finished", "--timeout", "180s")
    assert headgate.json("get", "wl/quick")["status"]["phase"] == "Succeeded"
    titles = headgate("describe", "wl/quick").stdout
    assert "Timeline" in titles
    assert "Starts in the last day: " in headgate("describe", "cq/small").stdout
    headgate("wait", "quick", "--for", "condition=Held", "--timeout", "180s", code=6)


def test_the_share_of_estimates_that_held_is_told_with_the_aim() -> None:
    assert held_share({"predictions": 214, "held": 173}) == (
        "173 of 214 past estimates held, 81% (aim 80%)"
    )
    assert held_share({"predictions": 0, "held": 0}) == held_share(None) == ""


def test_lists_come_in_every_format(headgate: Invoker) -> None:
    assert headgate("get", "cq", "-o", "name").stdout == "clusterqueue/small\n"
    assert headgate("get", "cq", "--no-headers").stdout.startswith("small")
    assert headgate("list", "lq", "-A", "-o", "csv").stdout.splitlines()[0].startswith("namespace,")
    assert headgate.json("get", "cq")["kind"] == "ClusterQueueList"
    assert "kind: ClusterQueue" in headgate("get", "cq/small", "-o", "yaml").stdout


def test_a_hold_keeps_and_a_release_lets_go(headgate: Invoker) -> None:
    headgate("stop", "cq/small", "--reason", "upgrade")
    submit(headgate, "kept")
    headgate("hold", "kept", "--reason", "check", "--for", "10m")
    headgate("resume", "cq/small")
    assert "check" in headgate("why", "kept").stdout
    headgate("release", "kept")
    headgate("wait", "kept", "--for", "condition=Admitted", "--timeout", "180s")
    remove(headgate, "kept")


def test_a_queue_drain_preview_lists_the_evictions(headgate: Invoker) -> None:
    headgate("submit", "--name", "settled", "--queue", "main", "--cpu", "1", "--wait")
    for queue in ("cq/small", "lq/main"):
        told = headgate("drain", queue, "--dry-run").stdout
        assert "default/settled (1 pod) would be evicted" in told
        assert headgate.json("get", queue)["spec"].get("stopPolicy", "None") == "None"
    headgate("cancel", "settled", "--reason", "done")


def test_many_names_have_a_result_each(headgate: Invoker) -> None:
    submit(headgate, "one", "1", "--label", "set=x")
    result = headgate("cancel", "one", "missing", code=3)
    assert "workload/one cancelled" in result.stdout
    assert "workload/missing" in result.stderr
    headgate("delete", "wl/one")


def test_a_selector_or_names_but_not_both(headgate: Invoker) -> None:
    headgate("hold", "one", "-l", "a=b", code=2)


def test_events_and_watch_tell_the_same(headgate: Invoker, client: HeadgateClient) -> None:
    before = client.head()
    submit(headgate, "watched")
    lines = headgate(
        "watch", "wl/watched", "--after", str(before), "--count", "2", "-o", "ndjson"
    ).stdout.splitlines()
    watched = [json.loads(line)["position"] for line in lines]
    listed = headgate.json("events", "wl/watched")["items"]
    # Between them the scheduler may record what became of other workloads.
    assert [event["position"] for event in listed[:2]] == watched
    assert watched[0] > before
    remove(headgate, "watched")


def test_the_tree_and_the_tops_show_the_queue(headgate: Invoker) -> None:
    assert re.search(r"plain CPU: \d of 4 used", headgate("tree").stdout)
    assert "small" in headgate("top", "queues").stdout


def test_use_over_time_can_be_taken_into_a_spreadsheet(headgate: Invoker) -> None:
    lines = headgate("usage", "small", "--since", "1h", "--points", "3", "-o", "csv").stdout
    header, *rows = lines.splitlines()
    assert header.startswith("at,flavor,resource,used,nominal")
    assert rows[-1].split(",")[1:3] == ["plain", "cpu"]


def test_tokens_are_made_listed_and_revoked(headgate: Invoker) -> None:
    secret = headgate("token", "create", "reader", "--role", "viewer").stdout.strip()
    assert "reader" in headgate("whoami", "--token", secret).stdout
    assert "reader" in headgate("token", "list").stdout
    assert headgate("stop", "cq/small", "--token", secret, code=4).stdout == ""
    headgate("token", "revoke", "reader")
    headgate("whoami", "--token", secret, code=4)


def test_a_service_account_has_roles_and_tokens_that_can_be_revoked(headgate: Invoker) -> None:
    headgate("serviceaccount", "create", "ci", "--grant", "submitter:default,other", "--group", "x")
    secret = headgate("serviceaccount", "token", "ci", "--for", "1d").stdout.strip()

    assert "ci (submitter:default,other)" in headgate("whoami", "--token", secret).stdout
    assert headgate("can-i", "create", "wl", "-n", "other", "--token", secret).stdout == "yes\n"
    refused = headgate("can-i", "stop", "cq", "--token", secret, code=1)
    assert refused.stdout == "no\n"
    assert "queue-admin" in refused.stderr

    headgate("serviceaccount", "grant", "ci", "--grant", "queue-admin:small")
    assert "queue-admin:small" in headgate("serviceaccount", "list").stdout
    assert "serviceaccount/ci" in headgate("token", "list").stdout
    headgate("serviceaccount", "delete", "ci")
    headgate("whoami", "--token", secret, code=4)


def test_a_user_lists_the_workloads_that_the_user_submitted(headgate: Invoker) -> None:
    role = ("--role", "submitter", "-n", "default")
    secret = headgate("token", "create", "ana", *role).stdout.strip()
    headgate("submit", "--name", "of-ana", "--queue", "main", "--cpu", "1", "--token", secret)

    listed = headgate("get", "workloads", "--mine", "-o", "wide", "--token", secret).stdout
    assert "of-ana" in listed
    assert " ana " in listed
    assert "of-ana" not in headgate("get", "workloads", "--mine").stdout
    assert "of-ana" in headgate("get", "workloads", "--owner", "ana").stdout
    headgate("get", "workloads", "--owner", "ana", "--mine", code=2)
    headgate("cancel", "of-ana", "--token", secret)


def test_a_job_is_listed_shown_and_deleted_under_its_own_kind(
    headgate: Invoker, client: HeadgateClient
) -> None:
    jobs = [
        EXAMPLES[kind].manifest.replace("name: x", f"name: own-{kind.lower()}")
        for kind in ("Pod", "RayCluster")
    ]
    applied = client.apply("---\n".join(jobs).replace("lq", "main").encode())
    assert {result.outcome for result in applied.results} == {"created"}

    listed = headgate("get", "rayclusters").stdout
    assert "own-raycluster" in listed
    assert "own-pod" not in listed
    assert "own-pod" in headgate("get", "pod/own-pod").stdout
    assert "was submitted as Pod" in headgate("get", "raycluster/own-pod", code=3).stderr
    headgate("delete", "raycluster/own-pod", code=3)
    headgate("delete", "raycluster/own-raycluster")
    headgate("delete", "pod", "own-pod")
    assert "own-" not in headgate("get", "rayclusters").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("wait", "anything", "--timeout", "soon"),
        ("hold", "anything", "--for", "a while"),
        ("stop", "cq/small", "--for", "5 parsecs"),
        ("submit", "--queue", "main", "--cpu", "1", "--wait", "--timeout", "-3"),
        ("token", "create", "brief", "--role", "viewer", "--for", "x"),
    ],
)
def test_what_is_no_length_of_time_is_wrong_usage(
    headgate: Invoker, words: tuple[str, ...]
) -> None:
    assert "30s" in headgate(*words, code=2).output


def test_a_file_and_flags_together_are_wrong_usage(headgate: Invoker) -> None:
    answer = headgate("submit", "-f", "-", "--queue", "main", given="", code=2)
    assert "not both" in answer.output


def test_a_dry_run_on_what_is_not_there_says_so(headgate: Invoker) -> None:
    assert "Workload not found" in headgate("hold", "nothing", "--dry-run", code=3).output


def test_a_node_may_be_named_as_lists_name_it(headgate: Invoker) -> None:
    headgate("apply", "-f", "-", given=NODE)
    (listed,) = headgate("get", "nodes", "-o", "name").stdout.split()
    assert headgate("cordon", listed, "--reason", "disk").stdout == f"{listed} cordoned\n"
    assert headgate("uncordon", listed).stdout == f"{listed} uncordoned\n"
    headgate("delete", listed)


def test_a_change_says_why_and_is_tried_before(headgate: Invoker, client: HeadgateClient) -> None:
    streams = ("resourceflavor/kept", "clusterqueue/keeper")
    before = written(client, *streams)
    tried = headgate("apply", "-f", "-", "--dry-run=admission", given=KEPT)
    assert "No other workloads affected." in tried.stdout
    assert written(client, *streams) == before
    headgate("apply", "-f", "-", "--reason", "a new team", given=SOME_COHORT)
    gone = headgate("delete", "cq/small", "rf/plain", "--dry-run=admission")
    assert "nothing applied" in gone.stderr
    headgate("delete", "co/some", "--reason", "they left")
    told = headgate("history", "co", "some").stdout
    assert "a new team" in told
    assert "they left" in told


def test_deleting_what_is_in_use_says_that_it_stays_meanwhile(headgate: Invoker) -> None:
    headgate("apply", "-f", "-", given=KEPT)
    used = headgate("delete", "rf/kept").stdout
    assert used == "resourceflavor/kept in use; deleted once nothing references it\n"
    assert headgate("delete", "cq/keeper").stdout == "clusterqueue/keeper deleted\n"
    headgate("watch", "--type", "resource_flavor.deleted", "--after", "1", "--count", "1")


def test_preemptions_refuse_invalid_options_and_say_when_there_are_none(
    headgate: Invoker,
) -> None:
    asked_for_a_chain = headgate("preemptions", "--chain", code=2)
    assert "preemptions ROUND --chain" in asked_for_a_chain.stderr
    no_time = headgate("preemptions", "--since", "banana", code=2)
    assert "banana is not a duration" in no_time.stderr
    empty = headgate("preemptions", "--cohort", "missing", "--since", "2h")
    assert (empty.stdout, empty.stderr.strip()) == ("", "No resources found.")
    assert headgate("preemptions", "-o", "name").stdout == ""
    assert headgate("evictions", "--handler", "missing").stderr.strip() == "No resources found."


def test_submitting_under_a_taken_name_changes_nothing(headgate: Invoker) -> None:
    submit(headgate, "taken", "4")
    again = headgate("submit", "--name", "taken", "--queue", "main", "--cpu", "1", code=5)
    assert "--replace" in again.stderr
    tried = headgate(
        "submit", "--name", "taken", "--queue", "main", "--cpu", "1", "--dry-run", code=5
    )
    assert "--replace" in tried.stderr
    pod_set = headgate.json("get", "wl/taken")["spec"]["podSets"][0]
    container = pod_set["template"]["spec"]["containers"][0]
    assert container["resources"]["requests"]["cpu"] == "4"
    remove(headgate, "taken")


def cpu_of(headgate: Invoker, name: str) -> str:
    pod_set = headgate.json("get", f"wl/{name}")["spec"]["podSets"][0]
    return str(pod_set["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def test_a_taken_name_is_replaced_on_demand_once_its_pods_stopped(headgate: Invoker) -> None:
    asked = ("submit", "--name", "again", "--queue", "main", "--replace", "--cpu")
    assert "workload/default/again created" in headgate(*asked, "1").stdout
    first = headgate.json("get", "wl/again")["metadata"]["uid"]
    tried = headgate(*asked, "2", "--dry-run").stdout
    assert tried == "workload/again would be replaced (dry run)\n"
    headgate(*asked, "nonsense", code=8)
    assert (headgate.json("get", "wl/again")["metadata"]["uid"], cpu_of(headgate, "again")) == (
        first, "1",
    )  # fmt: skip

    done = headgate(*asked, "2")

    assert "workload/again deleted" in done.stderr
    assert "workload/default/again created" in done.stdout
    assert cpu_of(headgate, "again") == "2"
    remove(headgate, "again")


def test_a_dry_run_of_the_client_asks_no_server(headgate: Invoker) -> None:
    nowhere = ("--server", "http://127.0.0.1:9", "--dry-run=client")
    applied = headgate("apply", "-f", "-", *nowhere, given=KEPT)
    assert applied.stdout.splitlines() == [
        "resourceflavor/kept read (client dry run)", "clusterqueue/keeper read (client dry run)",
    ]  # fmt: skip
    shown = headgate.json("submit", "--name", "unsent", "--queue", "main", "--cpu", "2", *nowhere)
    assert (shown["metadata"]["name"], shown["spec"]["queueName"]) == ("unsent", "main")
    deleted = headgate("delete", "cq/small", *nowhere).stdout
    assert deleted == "clusterqueue/small would be deleted (client dry run)\n"
    headgate("apply", "-f", "-", *nowhere, code=8, given="kind: [")
    headgate("apply", "-f", "-", *nowhere, code=8, given="kind: Cohort")


@pytest.mark.parametrize("mode", ["--dry-run", "--dry-run=server", "--dry-run=All"])
def test_a_dry_run_of_the_server_validates_and_changes_nothing(
    headgate: Invoker, mode: str
) -> None:
    assert (
        "cohort/some created (dry run)"
        in headgate("apply", "-f", "-", mode, given=SOME_COHORT).stdout
    )
    headgate("get", "cohort/some", code=3)


def test_a_dry_run_knows_the_modes_of_kubectl(headgate: Invoker) -> None:
    said = headgate("apply", "-f", "-", "--dry-run=maybe", code=2, given=SOME_COHORT).stderr
    for mode in ("none", "client", "server", "admission"):
        assert mode in said
    assert headgate("stop", "cq/small", "--dry-run=server").stdout.endswith("(dry run)\n")


def test_submitting_to_a_queue_that_is_not_there_is_said_at_once(headgate: Invoker) -> None:
    asked = ("submit", "--name", "lost", "--queue", "mian", "--cpu", "1")
    for words in ((*asked, "--dry-run"), asked):
        said = headgate(*words).stderr
        assert "Warning: workload/default/lost at /spec/queueName: LocalQueue mian does not" in said
        assert "Did you mean main?" in said
    remove(headgate, "lost")


@pytest.mark.parametrize(
    ("words", "code", "remedy"),
    [
        (("get", "cq", "--token", "wrong"), 4, "--token or HEADGATE_TOKEN"),
        (("get", "cq", "--server", "nonsense"), 1, "http://127.0.0.1:8080"),
        (("get", "cq", "--server", "http://127.0.0.1:9"), 1, "Check --server or HEADGATE_URL"),
        (("describe", "wl"), 2, "wl NAME"),
        (("actvate", "x"), 2, "Did you mean 'activate'"),
        (("get", "wrkloads"), 2, "Did you mean workloads?"),
        (("get", "cq", "smal"), 3, "Did you mean small?"),
        (("get", "lq/main", "-n", "elsewhere"), 3, "namespace default"),
        (("--at", "99999999", "get", "wl"), 8, "Use an earlier position."),
    ],
)
def test_a_mistake_is_answered_with_its_remedy(
    headgate: Invoker, words: tuple[str, ...], code: int, remedy: str
) -> None:
    said = headgate(*words, code=code).stderr
    assert said.count(remedy) == 1


def test_an_empty_list_says_where_it_looked(headgate: Invoker) -> None:
    said = headgate("get", "wl", "-n", "elsewhere").stderr
    assert said == "No workloads found in namespace elsewhere. Use -A for all namespaces.\n"
