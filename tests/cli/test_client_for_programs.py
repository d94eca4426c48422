"""Programs submit, wait, follow and simulate by typed objects, with and without an event loop."""

import asyncio
from collections.abc import Iterator
from typing import Any, NoReturn, assert_type

import pytest

import headgate.client
from headgate.client import (
    AsyncHeadgate,
    Connection,
    Headgate,
    HeadgateClient,
    PodOutput,
    PodView,
    Problem,
    ServerProblem,
    ServerUnreachable,
    SessionLost,
    WaitTimeout,
    WorkloadView,
    manifest_of,
    workloads,
)
from headgate.client.pods import Frame, PodLogStream, SessionConnection
from tests.cli.conftest import connection

__all__ = ["connection"]


def test_the_package_gives_all_that_it_names_and_nothing_else() -> None:
    assert headgate.client.__all__ == [*headgate.client.PLACES]
    assert all(getattr(headgate.client, name) is not None for name in headgate.client.__all__)
    name = "Anything"
    with pytest.raises(AttributeError, match="no attribute 'Anything'"):
        getattr(headgate.client, name)


def test_a_submitted_workload_says_why_it_is_pending(connection: Connection) -> None:
    asked = manifest_of(["true"], queue="none", name="pending", requests={"cpu": 1}, priority=7)
    with Headgate(connection) as client:
        # Programs are checked with the types of the client: `Any` is refused here.
        found = assert_type(client.submit(asked), WorkloadView)
        assert (found.namespace, found.name, found.is_finished) == ("default", "pending", False)
        assert "LocalQueue none does not exist" in client.explain("default", "pending")["sentence"]
        assert found.manifest["spec"]["priority"] == 7
        assert "pending" in [each.name for each in client.list("default")]

        with pytest.raises(WaitTimeout) as late:
            client.wait("default", "pending", "Running", timeout_seconds=0.0)
        assert late.value.workload.phase == found.phase

        assert client.act("default", "pending", "cancel", reason="a test").is_finished
        assert client.wait("default", "pending", "Running").phase == "Cancelled"


def test_a_simulation_tells_what_would_become_of_each_workload(connection: Connection) -> None:
    with Headgate(connection) as client:
        result = client.simulate(manifest_of(["true"], queue="none", name="simulated"))
        (found,) = result.workloads
        assert (found.workload, found.code) == ("default/simulated", "QueueMissing")
        assert (result.starts, result.evictions) == (0, 0)
        with pytest.raises(ServerProblem, match="simulated"):
            client.get("default", "simulated")


def test_a_run_that_is_cancelled_by_others_has_a_code_of_its_own(connection: Connection) -> None:
    async def program() -> tuple[str, int, list[PodView]]:
        async with AsyncHeadgate(connection) as client:
            asked = manifest_of(["true"], queue="none", name="given-up")
            running = asyncio.create_task(client.run(asked, lambda _: None))
            async for event in client.stream(0, streams=("workload/default/given-up",)):
                if event.type == "workload.submitted":
                    await client.act("default", "given-up", "cancel", reason="a test")
                    break
            ended = await running
            pods = [each async for each in client.pods("default", "given-up")]
            return ended.workload.phase, ended.exit_code, pods

    assert asyncio.run(program()) == ("Cancelled", 125, [])


def test_an_interrupt_cancels_what_a_program_runs(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    with Headgate(connection) as client:
        monkeypatch.setattr(client.client, "follow", interrupted)
        with pytest.raises(KeyboardInterrupt):
            client.run(manifest_of(["true"], queue="none", name="interrupted"))
        assert client.get("default", "interrupted").phase == "Cancelled"


@pytest.mark.parametrize("when", ["while it is submitted", "while it runs"])
def test_a_cancelled_task_cancels_what_it_runs(connection: Connection, when: str) -> None:
    name = when.replace(" ", "-")

    async def program() -> str:
        async with AsyncHeadgate(connection) as client:
            running = asyncio.create_task(
                client.run(manifest_of(["true"], queue="none", name=name), lambda _: None)
            )
            await asyncio.sleep(0)
            if when == "while it runs":
                async for event in client.stream(0, streams=(f"workload/default/{name}",)):
                    if event.type == "workload.submitted":
                        break
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            found: str = (await client.get("default", name)).phase
            return found

    assert asyncio.run(program()) == "Cancelled"


def test_an_interrupt_of_a_run_that_has_ended_leaves_it_as_it_is(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_client: HeadgateClient, found: dict[str, Any]) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(workloads, "exit_code_of", interrupted)
    with Headgate(connection) as client:
        begun = client.submit(manifest_of(["true"], queue="none", name="over"))
        client.act("default", "over", "cancel", reason="a test")
        monkeypatch.setattr(client, "submit", lambda _: begun)
        with pytest.raises(KeyboardInterrupt):
            client.run(begun.manifest)
        status = client.get("default", "over").manifest["status"]
    assert "a test" in str(status["conditions"])


@pytest.mark.parametrize("failure", [ServerProblem(Problem(detail="no right")), ValueError("full")])
def test_a_run_raises_why_its_output_was_not_passed_on(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def refused(_stream: PodLogStream) -> Iterator[PodOutput]:
        raise failure

    monkeypatch.setattr(PodLogStream, "follow", refused)
    with Headgate(connection) as client:
        begun = client.submit(
            manifest_of(["true"], queue="none", name=f"silent-{type(failure).__name__}".lower())
        )
        client.act(begun.namespace, begun.name, "cancel", reason="a test")
        monkeypatch.setattr(client, "submit", lambda _: begun)
        with pytest.raises(type(failure), match=str(failure)):
            client.run(begun.manifest, lambda _: None)


def test_a_closed_session_is_lost_and_cannot_be_written_to(connection: Connection) -> None:
    remote = SessionConnection(connection, "/v1/namespaces/default/workloads/none/sessions/none")
    remote.close()
    with pytest.raises(SessionLost, match="closed"):
        next(remote.frames())
    with pytest.raises(ServerUnreachable, match="closed"):
        remote.send(Frame(type="endOfInput"))


def test_an_event_loop_goes_on_while_workloads_are_waited_for(connection: Connection) -> None:
    async def program() -> tuple[list[str], list[str]]:
        async with AsyncHeadgate(connection) as client:
            submitted = await client.submit(manifest_of(["true"], queue="none", name="awaited"))
            waiting = asyncio.create_task(client.wait("default", "awaited"))
            seen = []
            async for event in client.stream(submitted.position - 1):
                seen.append(event.type)
                if event.type == "workload.submitted":
                    await client.act("default", "awaited", "cancel", reason="a test")
                if event.type == "workload.finished":
                    break
            ended = await waiting
            return seen, [ended.phase, *[each.name async for each in client.list("default")]]

    seen, ended = asyncio.run(program())
    assert (seen[0], seen[-1]) == ("workload.submitted", "workload.finished")
    assert ended[0] == "Cancelled"
    assert "awaited" in ended
