"""An API process of simulated days: its fold lags, and what it decides is appended later."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from headgate.application.access.identity import ADMIN
from headgate.application.commands.decide import decide_commands, unit_of_results
from headgate.application.commands.requests import DesiredObject, StreamCommand
from headgate.application.commands.submission_commands import submission
from headgate.application.cooperative import at_once
from headgate.application.live_state import LiveState
from headgate.application.ports import AppendConflict, Appended, AppendUnit, EventLog, Ids, Loaded
from headgate.application.readiness import recover_from_rewind
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import EventMetadata
from headgate.domain.values.instants import Instant
from headgate.event_log.chain import PastLost


class Replica:
    """Decides submissions by the application's own steps, and holds back what they append.

    `accepted` is called with a command and the unit that the log has taken for it, and `about_to`
    before each append.
    """

    def __init__(
        self,
        log: EventLog,
        live: LiveState,
        ids: Ids,
        about_to: Callable[[], None],
        accepted: Callable[[StreamCommand, AppendUnit], None],
    ) -> None:
        self._log, self._live, self._ids = log, live, ids
        self._about_to, self._accepted = about_to, accepted
        self._held: list[tuple[StreamCommand, AppendUnit]] = []

    def catch_up(self) -> None:
        """Folds what the log has by now, all of it anew where the log has lost events."""
        while True:
            try:
                if self._live.lost is not None:
                    recover_from_rewind(self._live)
                self._live.catch_up_with_log()
            except PastLost:
                self._live.lose()
            else:
                return

    def submit(self, desired: DesiredObject) -> None:
        """Decides a submission on the fold as it is, which may be of long ago."""
        services: Any = SimpleNamespace(ids=self._ids)
        self._hold(submission(services, desired, ADMIN))

    def append_held(self) -> None:
        """Appends what was decided; what conflicts is decided again, as `execute` does it."""
        held, self._held = self._held, []
        for command, unit in held:
            self._about_to()
            (verdict,) = self._log.append([unit])
            if isinstance(verdict, Appended):
                self._accepted(command, unit)
                continue
            assert isinstance(verdict, AppendConflict), verdict
            self.catch_up()
            self._hold(command)

    def _hold(self, command: StreamCommand) -> None:
        unit = decided(self._live.cluster_state, command, self._log.now())
        if unit is not None:
            self._held.append((command, replace(unit, past=self._live.point)))


def decided(cluster_state: ClusterState, command: StreamCommand, at: Instant) -> AppendUnit | None:
    """What a command on a stream that was never used appends; None where it is rejected."""
    unused = Loaded(stream=command.stream, version=0, position=0, state=Absent())
    results = list(decide_commands(cluster_state, [command], {command.stream: unused}, at))
    if not results[0].events:
        return None
    metadata = EventMetadata(actor="user:replica")
    return at_once(
        unit_of_results(cluster_state, results, at, metadata, cluster_state.config_position)
    )
