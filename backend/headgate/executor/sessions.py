"""Sessions of an executor: what users asked for, begun in pods, and relayed until either side ends.

Each session has a thread for each direction and connections of its own; the agent opens no port.
"""

import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from headgate.client.executors import EPOCH_HEADER, ExecutorClient, WantedSession
from headgate.client.pods import Frame, SessionConnection, SessionLost, frame_with
from headgate.client.transport import Connection, ServerProblem, ServerUnreachable
from headgate.executor.substrate import (
    CannotStart,
    RunKey,
    SessionPlan,
    Substrate,
    SubstrateSession,
)

WAIT_SECONDS = 20
CANNOT_START = 126
FAILURES = (SessionLost, ServerProblem, ServerUnreachable)


class SessionServer:
    """Begins the sessions of an executor until the process stops."""

    def __init__(self, connection: Connection, executor: str, substrate: Substrate) -> None:
        self._connection = connection
        self._path = f"/v1/executors/{quote(executor, safe='')}/sessions"
        self._substrate = substrate

    def run(self, client: ExecutorClient, stopping: threading.Event) -> None:
        """Takes sessions as they are asked for, each into a thread."""
        while not stopping.is_set():
            for wanted in client.take_sessions(WAIT_SECONDS):
                threading.Thread(
                    target=self._serve,
                    args=(wanted, client.epoch),
                    name=f"session {wanted.session}",
                    daemon=True,
                ).start()

    def _serve(self, wanted: WantedSession, epoch: int) -> None:
        headers = {EPOCH_HEADER: str(epoch)}
        remote = SessionConnection(self._connection, f"{self._path}/{wanted.session}", headers)
        try:
            local = self._substrate.open_session(_key_of(wanted), _plan_of(wanted))
        except CannotStart as failure:
            reason = str(failure)
            _quietly(
                lambda: remote.send(Frame(type="exit", exit_code=CANNOT_START, message=reason))
            )
            remote.close()
            return
        output = threading.Thread(target=_pass_output, args=(local, remote), daemon=True)
        output.start()
        try:
            _quietly(lambda: _pass_input(remote, local))
        finally:
            local.close()
            output.join()
            remote.close()


def _pass_input(remote: SessionConnection, local: SubstrateSession) -> None:
    for frame in remote.frames():
        match frame.type:
            case "input":
                local.write(frame.payload)
            case "endOfInput":
                local.end_input()
            case "resize":
                local.resize(frame.columns, frame.rows)
            case _:
                continue


def _pass_output(local: SubstrateSession, remote: SessionConnection) -> None:
    while (found := local.read()) is not None:
        if found.type == "exit":
            frame = Frame(type="exit", exit_code=found.exit_code, message=found.message)
        else:
            frame = frame_with(found.type, found.content)
        if not _quietly(lambda each=frame: remote.send(each)):  # type: ignore[misc]
            local.close()
            return


def _quietly(act: Callable[[], Any]) -> bool:
    """Whether an act on a connection succeeded; a session ends with its connection."""
    try:
        act()
    except FAILURES:
        return False
    return True


def _key_of(wanted: WantedSession) -> RunKey:
    return RunKey(
        workload=wanted.workload,
        uid=wanted.uid,
        attempt=wanted.attempt,
        pod_set=wanted.pod_set,
        index=wanted.index,
        run=wanted.run,
    )


def _plan_of(wanted: WantedSession) -> SessionPlan:
    return SessionPlan(
        command=tuple(wanted.command),
        has_terminal=wanted.has_terminal,
        columns=wanted.columns,
        rows=wanted.rows,
        terminal=wanted.terminal,
    )
