"""Reports that are repeated, late or wrong, and tokens of others, against the API itself."""

from collections.abc import Iterator
from typing import Any

import msgspec

from headgate.client.executors import ExecutorClient, RunOutcome
from headgate.client.transport import ServerProblem
from tests.executors.bad_days.cases import HOST, Case, Seen, Site
from tests.executors.installation import POOL, Object
from tests.executors.pods import template_of

NODE = "reporter"
LABELS = {POOL: NODE, "headgate.dev/executor": NODE, "kubernetes.io/hostname": NODE}


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A report as its test has it."""

    workload: str
    uid: str
    attempt: int
    type: str
    pod_set: str = "main"
    index: int = 0
    run: int = 1
    exit_code: int | msgspec.UnsetType = msgspec.UNSET


class Reporter:
    """An executor of one node without any pods, which reports what a case says."""

    def __init__(self, site: Site) -> None:
        made = self._made = site.installation
        if NODE not in {each["metadata"]["name"] for each in made.client.items("/v1/executors")}:
            made.pool(NODE)
            self._token = made.executor(NODE)
        else:
            self._token = made.token(f"{NODE}-{made.client.head()}", NODE)
        connection = msgspec.structs.replace(made.connection, token=self._token)
        self.client = ExecutorClient(connection, NODE)
        self.client.claim(version="0", capabilities=(), boot_id="")
        node = {"name": NODE, "capacity": {"pods": "100"}, "labels": LABELS}
        (registered,) = self.client.register_nodes([node])
        assert registered.accepted, registered

    def assigned(self, name: str) -> Object:
        """Submits a workload; its assignment."""
        self._made.submit(name, NODE, template_of("true"))

        def look() -> Object | None:
            items = self.client.assignments().items
            return next((each for each in items if each["workload"].endswith(f"/{name}")), None)

        return self._made.eventually(look, f"{name} is assigned")

    def tell(self, item: Object, kind: str, **fields: Any) -> RunOutcome:
        """Sends one report of the first pod; what became of it."""
        named = {"workload": item["workload"], "uid": item["uid"], "attempt": item["attempt"]}
        (outcome,) = self.client.report([Report(**{**named, "type": kind, **fields})])
        return outcome


def _unchanged(site: Site, name: str, **wrong: Any) -> Iterator[Seen]:
    """A running workload stays as it was after a report that is refused."""
    reporter, made = Reporter(site), site.installation
    item = reporter.assigned(name)
    assert reporter.tell(item, "ready").accepted
    made.await_phase(name, "Running")
    before = made.workload(name)["metadata"]["resourceVersion"]
    outcome = reporter.tell(item, "finished", exit_code=1, **wrong)
    after = made.workload(name)["metadata"]["resourceVersion"]
    changed = "" if before == after else "the report has changed the workload"
    phase = made.phase(name)
    assert reporter.tell(item, "finished", exit_code=0).accepted
    end = made.await_end(name)
    told = changed or ("" if end == "Succeeded" else f"it ended as {end}")
    yield Seen(phase, outcome.code, wrong=told)
    reporter.client.close()


def of_the_wrong_attempt(site: Site) -> Iterator[Seen]:
    yield from _unchanged(site, "wrong-attempt", attempt=2)


def of_the_wrong_run(site: Site) -> Iterator[Seen]:
    yield from _unchanged(site, "wrong-run", run=2)


def of_an_unknown_pod(site: Site) -> Iterator[Seen]:
    yield from _unchanged(site, "unknown-pod", index=7)


def twice(site: Site) -> Iterator[Seen]:
    reporter, made = Reporter(site), site.installation
    item = reporter.assigned("told-twice")
    outcomes = [reporter.tell(item, "finished", exit_code=3) for _ in range(2)]
    end = made.await_end("told-twice")
    (pod,) = made.pods("told-twice")
    events = made.events("told-twice", "workload.pods_reported", "workload.finished")
    wrong = "" if len(events) == 2 else f"{len(events)} events instead of 2"
    wrong = wrong or next((each.code for each in outcomes[:1] if not each.accepted), "")
    yield Seen(end, str(pod["reason"]), wrong=wrong)
    reporter.client.close()


def late(site: Site) -> Iterator[Seen]:
    """The end of a first attempt is told in the second one, which it must not end."""
    reporter, made = Reporter(site), site.installation
    first = reporter.assigned("told-late")
    assert reporter.tell(first, "ready").accepted
    made.act("told-late", "requeue")
    made.await_phase("told-late", "Evicting")
    assert reporter.tell(first, "stopped").accepted

    def look() -> Object | None:
        return next((i for i in reporter.client.assignments().items if i["attempt"] == 2), None)

    second = made.eventually(look, "attempt 2 is assigned")
    assert reporter.tell(second, "ready").accepted
    made.await_phase("told-late", "Running")
    outcome = reporter.tell(first, "finished", exit_code=1)
    phase = made.phase("told-late")
    assert reporter.tell(second, "finished", exit_code=0).accepted
    made.await_phase("told-late", "Succeeded")
    yield Seen(phase, outcome.code)
    reporter.client.close()


def token_of_another(site: Site) -> Iterator[Seen]:
    made = site.installation
    made.pool("stranger")
    made.executor("stranger")
    secret = made.token("not-of-the-stranger", HOST)
    agent = made.agent("stranger", "stranger", secret).start()
    code = agent.process.wait(60) if agent.process else 0
    connection = msgspec.structs.replace(made.connection, token=secret)
    with ExecutorClient(connection, "stranger") as client:
        try:
            client.claim(version="0", capabilities=(), boot_id="")
            reason = "accepted"
        except ServerProblem as problem:
            reason = f"{problem.problem.status} {problem.problem.code}"
    told = "" if "is bound to Executor host" in agent.said() else f"the agent said {agent.said()!r}"
    state = "agent refused" if code else "agent ended"
    yield Seen(state, reason, agent.left_behind(), told)


CASES = (
    Case(
        [("a token of another executor", "agent refused", "403 ExecutorNotGranted")],
        token_of_another,
    ),
    Case([("a report twice", "Failed", "Error")], twice),
    Case([("a late report", "Running", "StaleAttempt")], late),
    Case([("a report of the wrong attempt", "Running", "StaleAttempt")], of_the_wrong_attempt),
    Case([("a report of the wrong run", "Running", "StaleRun")], of_the_wrong_run),
    Case([("a report of a pod that never was", "Running", "UnknownPod")], of_an_unknown_pod),
)
