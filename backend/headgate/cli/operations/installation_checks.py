"""What `doctor` asks the database and the broker of an installation."""

from headgate.adapters.system.stopwatch import wall_clock
from headgate.application.ports import PartitionRow, Unavailable
from headgate.bootstrap import (
    WORKER_PREFIX,
    Platform,
    broker_failure,
    celery_application,
    open_platform,
)
from headgate.cli.operations.findings import Finding, fail, ok, warn
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.settings import Settings

OLDEST_SERVER = 15
SECONDS_CLOCKS_MAY_DIFFER = 2.0
EVENTS_A_FOLLOWER_MAY_LAG = 10_000


def installation_findings(settings: Settings) -> list[Finding]:
    """Everything that the servers named in `settings` have to say."""
    return [*_database_findings(settings), broker(settings)]


def _database_findings(settings: Settings) -> list[Finding]:
    if not settings.database_url:
        return [warn("database", "none runs here", "Start one with all the rest: headgate up")]
    platform = open_platform(settings, "headgate-doctor")
    try:
        found = [server(platform.inspection.server_version()), schema(platform)]
        if found[-1].level == "fail":
            return found
        return [*found, log(platform), clock(platform), *workers(platform), *followers(platform)]
    except Unavailable as outage:
        first = str(outage).splitlines()[0]
        return [fail("database", first, "Is the server up, and may this user connect?")]
    finally:
        platform.close()


def server(version: str) -> Finding:
    """Whether this Postgres will do."""
    if int(version.split(".", maxsplit=1)[0]) < OLDEST_SERVER:
        return fail("database", f"Postgres {version}", f"Use Postgres {OLDEST_SERVER} or later.")
    return ok("database", f"Postgres {version}")


def schema(platform: Platform) -> Finding:
    """Whether the database has the schema this program needs."""
    level, needed = platform.inspection.schema_level()
    if level == needed:
        return ok("schema", f"revision {level}")
    return fail("schema", f"at {level or 'nothing'}, not {needed}", "Run `headgate migrate`.")


def log(platform: Platform) -> Finding:
    """Whether facts are safe from change."""
    head = platform.event_log.head()
    if platform.inspection.log_is_protected():
        return ok("log", f"{head} events, append-only")
    return fail(
        "log",
        "the trigger that refuses changes to facts is off or gone",
        "Find out who took it away; CREATE TRIGGER append_only as in migrations/sql.",
    )


def clock(platform: Platform) -> Finding:
    """Whether this machine's clock agrees with the database's, which decides."""
    apart = abs(platform.event_log.now() - wall_clock()) / MICROSECONDS_PER_SECOND
    text = f"{apart:.3f} s apart from the database's"
    if apart > SECONDS_CLOCKS_MAY_DIFFER:
        return warn("clock", text, "Keep both in step with NTP; the database's clock decides.")
    return ok("clock", text)


def workers(platform: Platform) -> list[Finding]:
    """Whether somebody decides, and whether anything is set aside or waits for too long."""
    alive = platform.inspection.sessions(WORKER_PREFIX)
    rows = platform.partitions.rows()
    halted = [row for row in rows if row.failures]
    found = [
        ok("workers", f"{len(alive)} connected")
        if alive
        else fail("workers", "none is connected", "Start one: headgate up, or the worker service.")
    ]
    found += [_halted(row) for row in halted]
    return found if halted else [*found, ok("partitions", f"{len(rows)}, none set aside")]


def followers(platform: Platform) -> list[Finding]:
    """Whether the read models that follow the log are fresh."""
    head = platform.event_log.head()
    lags = {name: head - at for name, at in sorted(platform.followers.positions().items())}
    late = {name: lag for name, lag in lags.items() if lag > EVENTS_A_FOLLOWER_MAY_LAG}
    if not late:
        return [
            ok("followers", f"{len(lags)}, at most {max(lags.values(), default=0)} events behind")
        ]
    remedy = (
        "Look at the log of the worker that serves `upkeep`; POST /v1/readmodels/{name}/rebuild."
    )
    return [
        warn("followers", f"{name} is {lag} events behind", remedy) for name, lag in late.items()
    ]


def broker(settings: Settings) -> Finding:
    """Whether nudges get through; nothing depends on it but time."""
    if not settings.broker_url:
        return warn("broker", "none", "Workers look by themselves; decisions come later.")
    if failure := broker_failure(celery_application(settings)):
        return warn("broker", failure, "Workers look by themselves meanwhile; start the broker.")
    return ok("broker", "answers")


def _halted(row: PartitionRow) -> Finding:
    text = f"{row.key} is set aside at position {row.halted_position}: {row.failure}"
    return fail("partitions", text, "It is tried again by itself; the worker's log has the trace.")
