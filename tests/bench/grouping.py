"""Submits per second at the log: what is left when nothing is parsed, decided or sent over HTTP."""

import asyncio
import time
from collections.abc import Iterator

from headgate.adapters.manifests.parse import Desired, parse_value
from headgate.api.app import application_services
from headgate.api.manifests import wanted_of
from headgate.application.access.identity import ADMIN
from headgate.application.application_services import ApplicationServices, DatabaseClock
from headgate.application.commands.decide import decide_commands, unit_of_results
from headgate.application.commands.submission_commands import submission
from headgate.application.cooperative import at_once
from headgate.application.live_state import LiveReader
from headgate.application.ports import Appended, AppendUnit, Loaded
from headgate.bootstrap import open_platform
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import EventMetadata
from headgate.settings import Settings
from tests.bench.submits import IN_FLIGHT
from tests.bench.wire import manifest

UNITS = 20_000
BENCH = ADMIN


async def measure_grouped_appends(database_url: str) -> float:
    """Units per second through one group commit, with as many in flight as over HTTP."""
    platform = open_platform(Settings(database_url=database_url, broker_url="memory://"))
    services = application_services(platform)
    reader, clock = services.reader, services.clock
    assert isinstance(reader, LiveReader), "appends are measured in the present"
    assert isinstance(clock, DatabaseClock), "by a clock that goes"
    await asyncio.to_thread(clock.read_database)
    await reader.start()
    units = [decided_submit(services, f"grouped-{number}") for number in range(UNITS)]
    await reader.stop()
    left = iter(units)
    began = time.monotonic()
    await asyncio.gather(*(append_all(services, left) for _ in range(IN_FLIGHT)))
    taken = time.monotonic() - began
    platform.close()
    return UNITS / taken


def decided_submit(services: ApplicationServices, name: str) -> AppendUnit:
    """The unit that records one submit."""
    desired = parse_value(manifest(name))
    assert isinstance(desired, Desired)
    change = submission(services, wanted_of(services, desired), BENCH)
    cluster_state = services.reader.cluster_state
    at, config_position = services.clock.now(), cluster_state.config_position
    unused = Loaded(stream=change.stream, version=0, position=0, state=Absent())
    results = list(decide_commands(cluster_state, [change], {change.stream: unused}, at))
    metadata = EventMetadata(actor="user:bench")
    return at_once(unit_of_results(cluster_state, results, at, metadata, config_position))


async def append_all(services: ApplicationServices, left: Iterator[AppendUnit]) -> None:
    """Append one after the other what is left, sharing it with others."""
    for unit in left:
        verdict = await services.commits.append(unit)
        assert isinstance(verdict, Appended), verdict
