"""The environment as one frozen value; nothing else reads environment variables."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

import msgspec
from msgspec import Meta


class InvalidSetting(Exception):
    """A variable of the environment has no valid value; the message names it and says why."""

    def __init__(self, name: str, why: str, description: str) -> None:
        super().__init__(f"{name} is not valid: {why}")
        self.description = description


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Where servers are and how processes behave; a field is the variable `HEADGATE_<NAME>`."""

    database_url: Annotated[
        str,
        Meta(
            description="PostgreSQL to use, such as `postgresql://user:password@host/database`;"
            " empty starts one below `directory`.",
            pattern=r"^$|^postgres(ql)?://|=",
        ),
    ] = ""
    broker_url: Annotated[
        str, Meta(description="Celery broker to use; empty starts a Redis below `directory`.")
    ] = ""
    database_timeout_seconds: Annotated[
        float,
        Meta(
            description="Seconds after which the API gives up a statement that the database has not"
            " answered; workers wait four times as long."
        ),
    ] = 15.0
    directory: Annotated[Path, Meta(description="Where embedded servers keep their data.")] = Path(
        ".headgate"
    )
    host: Annotated[str, Meta(description="Address that the API listens on.")] = "127.0.0.1"
    port: Annotated[int, Meta(description="Port that the API listens on.", ge=0, le=65_535)] = 8080
    plain_http: Annotated[
        bool,
        Meta(description="Whether the API speaks HTTP without TLS beyond this machine as well."),
    ] = False
    tls_certificate: Annotated[
        Path | None, Meta(description="Certificate of the API with its chain, in PEM.")
    ] = None
    tls_key: Annotated[
        Path | None, Meta(description="Private key of the certificate, in PEM (PKCS #8).")
    ] = None
    max_requests: Annotated[
        int,
        Meta(description="Requests and event streams that an API process serves at once.", ge=1),
    ] = 4_096
    request_limits: Annotated[
        str,
        Meta(
            description="Requests a second, burst and open streams of a token by its role, such as"
            " `viewer=50/100/20,admin=1000/2000/1000`."
        ),
    ] = ""
    idle_seconds: Annotated[
        float,
        Meta(description="Seconds after which the API closes an idle connection.", gt=0, le=60),
    ] = 20.0
    url: Annotated[str, Meta(description="Address of the API, for clients.")] = ""
    token: Annotated[str, Meta(description="Token that clients send.")] = ""
    cacert: Annotated[Path | None, Meta(description="Certificates that clients trust, in PEM.")] = (
        None
    )
    admin_token: Annotated[
        str, Meta(description="Token of the first administrator, created at the start.")
    ] = ""
    ui_directory: Annotated[Path, Meta(description="Directory of the built page.")] = Path(
        "frontend/dist"
    )
    log_level: Annotated[
        Literal["debug", "info", "warning", "error", "critical"],
        Meta(description="Least severity that processes log."),
    ] = "info"
    log_format: Annotated[
        Literal["text", "json"],
        Meta(description="How processes log: text, or a JSON object a line."),
    ] = "text"
    traces: Annotated[
        bool,
        Meta(
            description="Whether API and workers send traces by OTLP (extra `traces`); the `OTEL_`"
            " variables of OpenTelemetry say where to, and how many."
        ),
    ] = False
    sweep_seconds: Annotated[
        float, Meta(description="Seconds between two searches of a worker for due partitions.")
    ] = 0.5
    cycle_budget_milliseconds: Annotated[
        int, Meta(description="Longest planning of a worker before it appends, in milliseconds.")
    ] = 200
    pod_logs: Annotated[
        str,
        Meta(
            description="Where pod logs are kept: a directory that all processes share, or"
            " `s3://bucket/prefix`; empty is `pod-logs` below `directory`."
        ),
    ] = ""
    pod_logs_endpoint: Annotated[
        str, Meta(description="Address of an S3-compatible service other than AWS.")
    ] = ""
    pod_logs_gibibytes: Annotated[
        int, Meta(description="Size that all pod logs may take, in GiB; 0 is no limit.")
    ] = 0
    log_archive: Annotated[
        str,
        Meta(
            description="Where old partitions of the event log are archived: a directory that all"
            " processes share, or `s3://bucket/prefix`; empty keeps all events in the database."
        ),
    ] = ""
    log_archive_endpoint: Annotated[
        str, Meta(description="Address of an S3-compatible service other than AWS.")
    ] = ""
    log_archive_days: Annotated[
        int,
        Meta(
            description="Age in days from which a partition of the log is archived; 0 is none.",
            ge=0,
        ),
    ] = 90
    log_archive_gibibytes: Annotated[
        int,
        Meta(
            description="Size in GiB of the log in the database beyond which its oldest partitions"
            " are archived; 0 is none.",
            ge=0,
        ),
    ] = 100
    upload_mebibytes: Annotated[
        int,
        Meta(description="Size that one upload (`run --upload`) may have, compressed.", ge=1),
    ] = 100
    webhook_networks: Annotated[
        str,
        Meta(
            description="Networks that webhooks may reach although they are private or the host's"
            " own, such as `10.2.0.0/16,fd00::/8`; empty is none."
        ),
    ] = ""
    heartbeat_file: Annotated[
        Path | None, Meta(description="File that a worker touches at each turn.")
    ] = None


TOKENS_ANSWER_SECONDS = 3.0
WORKER_FACTOR = 4


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """Seconds that the database may take to answer a statement, by use; None is no limit."""

    reads_seconds: float | None = None
    writes_seconds: float | None = None
    tokens_seconds: float | None = None

    @classmethod
    def of_api(cls, seconds: float) -> Self:
        """Returns the limits of an API process; reading all tokens takes little."""
        return cls(seconds, seconds, min(seconds, TOKENS_ANSWER_SECONDS))

    @classmethod
    def of_worker(cls, seconds: float) -> Self:
        """Returns the limits of a worker, which writes large snapshots."""
        return cls(seconds * WORKER_FACTOR, seconds * WORKER_FACTOR, seconds)


REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = Path(__file__).resolve().parent


def found_page(ui_directory: Path) -> Path | None:
    """Returns the directory of the built page: as set, of this package, or of its repository."""
    return _with_index(ui_directory.resolve(), PACKAGE / "page", REPOSITORY / "frontend" / "dist")


def found_help() -> Path | None:
    """Returns the directory of the built documentation: of this package, or of its repository."""
    return _with_index(PACKAGE / "help", REPOSITORY / "docs" / "_build" / "html")


def _with_index(*directories: Path) -> Path | None:
    return next((path for path in directories if (path / "index.html").is_file()), None)


def from_environment(environment: dict[str, str] | None = None) -> Settings:
    """Settings from `HEADGATE_<NAME>` variables, with defaults for what is not set.

    Raises `InvalidSetting`.
    """
    values = dict(os.environ if environment is None else environment)
    named = {
        field.name: values[f"HEADGATE_{field.name.upper()}"]
        for field in msgspec.structs.fields(Settings)
        if f"HEADGATE_{field.name.upper()}" in values
    }
    if "log_level" in named:
        named["log_level"] = named["log_level"].lower()
    try:
        return msgspec.convert(named, Settings, strict=False, dec_hook=_path)
    except msgspec.ValidationError as failure:
        raise _invalid(str(failure)) from failure


def _invalid(told: str) -> InvalidSetting:
    """Returns what is wrong with which variable; its value may be a secret and is not told."""
    wrong, _, path = told.partition(" - at `$.")
    name = path.rstrip("`")
    (kind,) = [field.type for field in msgspec.structs.fields(Settings) if field.name == name]
    found = msgspec.inspect.type_info(kind)
    assert isinstance(found, msgspec.inspect.Metadata), "each setting is described"
    description = str((found.extra_json_schema or {}).get("description", ""))
    return InvalidSetting(f"HEADGATE_{name.upper()}", _rule_of(found.type, wrong), description)


def _rule_of(kind: msgspec.inspect.Type, wrong: str) -> str:
    """Returns what a value must be, from its type and the words of msgspec."""
    _, bound, limit = wrong.partition("=")
    match kind:
        case msgspec.inspect.LiteralType(values=values):
            return f"it must be one of {', '.join(map(str, values))}"
        case msgspec.inspect.BoolType():
            return "it must be true or false"
        case msgspec.inspect.IntType() | msgspec.inspect.FloatType() if bound:
            return f"it must be at {'most' if '<' in wrong else 'least'} {limit.strip()}"
        case msgspec.inspect.IntType() | msgspec.inspect.FloatType():
            return "it must be a number"
        case _:
            return "it has another form"


def _path(kind: type, value: object) -> object:
    if kind is Path:
        return Path(str(value))
    raise TypeError(f"no setting has the type {kind}")
