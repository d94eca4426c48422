"""What must hold before a process serves, its log lines, and a digest of its rules.

A strong admin token, TLS, and enough descriptors; log lines never raise.
"""

import importlib.util
import logging
import os
import resource
import socket
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import structlog
from structlog.typing import EventDict, Processor

from headgate.settings import Settings

if TYPE_CHECKING:
    from cryptography import x509

MAX_DESCRIPTORS = 65_536
MIN_TOKEN_CHARACTERS = 24
MIN_DIFFERENT_CHARACTERS = 10
VALID_DAYS = 825
"""The longest that clients of Apple and others take for a certificate."""
RENEWED_DAYS = 30
"""A certificate of our own that ends sooner is made anew at the start."""
LOOPBACK_NAMES = ("localhost",)


class StartRefused(ValueError):
    """The API must not start with these settings; the message has the remedy."""


class Tls(NamedTuple):
    """The files of a certificate and its private key."""

    certificate: Path
    key: Path


def check_admin_token(secret: str) -> None:
    """Raises `StartRefused` for an admin token that could be guessed; empty means none is set."""
    if not secret:
        return
    if len(secret) < MIN_TOKEN_CHARACTERS or len(set(secret)) < MIN_DIFFERENT_CHARACTERS:
        raise StartRefused(
            "HEADGATE_ADMIN_TOKEN is too weak: it needs at least"
            f" {MIN_TOKEN_CHARACTERS} characters, {MIN_DIFFERENT_CHARACTERS} of them different."
            " Make one: openssl rand -base64 32"
        )


def tls_of(settings: Settings) -> Tls | None:
    """Returns the certificate that the API serves with; None for plain HTTP.

    A certificate that is given is used. Without one, an API that only this machine reaches speaks
    plain HTTP, as does one with `plain_http`; any other gets a certificate of its own below the
    directory, made at the first start. Raises `StartRefused`.
    """
    given = (settings.tls_certificate, settings.tls_key)
    if given != (None, None):
        if settings.tls_certificate is None or settings.tls_key is None:
            raise StartRefused("HEADGATE_TLS_CERTIFICATE and HEADGATE_TLS_KEY are set together.")
        for path in (settings.tls_certificate, settings.tls_key):
            if not os.access(path, os.R_OK):
                raise StartRefused(f"{path} cannot be read; it is the file of a TLS setting.")
        return Tls(settings.tls_certificate.resolve(), settings.tls_key.resolve())
    if settings.plain_http or is_loopback(settings.host):
        return None
    return own_certificate(settings.directory.resolve() / "tls", settings.host)


def is_loopback(host: str) -> bool:
    """Whether an address leads to this machine only."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host in LOOPBACK_NAMES


def own_certificate(directory: Path, host: str) -> Tls:
    """Returns a self-signed certificate of this machine; kept until it is about to end.

    Clients are given its file as `--cacert`. Raises `StartRefused` where it cannot be kept.
    """
    made = Tls(directory / "certificate.pem", directory / "key.pem")
    try:
        if _ends_at(made.certificate) < datetime.now(UTC) + timedelta(days=RENEWED_DAYS):
            directory.mkdir(parents=True, exist_ok=True)
            _make(made, host)
    except OSError as failure:
        raise StartRefused(
            f"No certificate can be kept in {directory} ({failure.strerror}). Set"
            " HEADGATE_TLS_CERTIFICATE and HEADGATE_TLS_KEY, or HEADGATE_PLAIN_HTTP=true behind a"
            " proxy that speaks TLS."
        ) from failure
    return made


def _ends_at(certificate: Path) -> datetime:
    from cryptography import x509  # noqa: PLC0415 - needed for certificates of our own alone

    try:
        return x509.load_pem_x509_certificate(certificate.read_bytes()).not_valid_after_utc
    except (FileNotFoundError, ValueError):
        return datetime.fromtimestamp(0, UTC)


def _make(files: Tls, host: str) -> None:
    from cryptography import x509  # noqa: PLC0415 - same
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - same
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - same
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID  # noqa: PLC0415 - same

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Headgate {socket.gethostname()}")])
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=False, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
        decipher_only=False,
    )  # fmt: skip
    now = datetime.now(UTC)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName(_names(host)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(identifier, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    _write(files.key, secret, mode=0o600)
    _write(files.certificate, certificate.public_bytes(serialization.Encoding.PEM), mode=0o644)


def _names(host: str) -> "list[x509.GeneralName]":
    from cryptography import x509  # noqa: PLC0415 - same

    found = {"localhost", socket.gethostname(), socket.getfqdn(), "127.0.0.1", "::1"}
    if host not in ("0.0.0.0", "::", ""):  # noqa: S104 - compared, not bound
        found.add(host)
    with suppress(OSError):
        found |= {str(each[4][0]) for each in socket.getaddrinfo(socket.gethostname(), None)}
    names: list[x509.GeneralName] = []
    for each in sorted(found):
        try:
            names.append(x509.IPAddress(ip_address(each.partition("%")[0])))
        except ValueError:
            names.append(x509.DNSName(each))
    return names


def _write(path: Path, content: bytes, mode: int) -> None:
    """Replaces a file at once; it is never there with other rights."""
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    fresh.replace(path)


def check_traces(*, is_on: bool) -> None:
    """Raises `StartRefused` where traces are on, and what sends them is not installed."""
    if is_on and importlib.util.find_spec("opentelemetry") is None:
        raise StartRefused("HEADGATE_TRACES needs the extra: pip install 'headgate[traces]'")


def raise_descriptor_limit() -> None:
    """Lets the process open as many files and connections as the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


QUIET = ("psycopg.pool", "httpx")
"""Libraries that repeat at every attempt what Headgate logs once."""

STANDARD_ERROR = 2
MAX_FIELD_CHARACTERS = 1_000
MAX_LINE_CHARACTERS = 16_000
MAX_TRACEBACK_CHARACTERS = 6_000
"""Limits of one field and of a line with its traceback: requests must not fill the disk."""


class LogLines:
    """Writes lines to standard error; a line that cannot be written is lost.

    On a full disk a write fails, and a thread that decides must not end because of that.
    """

    def msg(self, line: str) -> None:
        """Write one line, in one call so that lines of threads do not mix."""
        try:
            written = f"{line[:MAX_LINE_CHARACTERS]}\n".encode(errors="replace")
            os.write(STANDARD_ERROR, written)
        except OSError:
            return

    debug = info = warning = error = critical = exception = fatal = warn = log = msg


def _shortened(_logger: object, _method: str, line: EventDict) -> EventDict:
    for name, value in line.items():
        if isinstance(value, str) and len(value) > MAX_FIELD_CHARACTERS:
            line[name] = f"{value[:MAX_FIELD_CHARACTERS]}… ({len(value):,} characters)"
    return line


LogFormat = Literal["text", "json"]


def configure_log_lines(level: str, form: LogFormat = "text") -> None:
    """Write lines of at least this level to standard error: text without colors, or JSON objects.

    A JSON object has `event`, `level` and `timestamp`, the fields of the line such as `request`,
    `position` and `partition`, and the traceback as `exception`.
    """
    # The handlers of `logging` would print their own failures to the same full disk.
    logging.raiseExceptions = False
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            *_rendering(form),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=lambda *_: LogLines(),
    )
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)


def _rendering(form: LogFormat) -> list[Processor]:
    if form == "json":
        # The traceback may be longer than other fields.
        traceback = structlog.processors.format_exc_info
        return [_shortened, traceback, _shortened_traceback, _whole_object]
    plain = structlog.dev.plain_traceback
    return [_shortened, structlog.dev.ConsoleRenderer(colors=False, exception_formatter=plain)]


def _shortened_traceback(_logger: object, _method: str, line: EventDict) -> EventDict:
    if "exception" in line:
        line["exception"] = str(line["exception"])[-MAX_TRACEBACK_CHARACTERS:]
    return line


_as_json = structlog.processors.JSONRenderer()


def _whole_object(logger: object, method: str, line: EventDict) -> str | bytes:
    """An object within the limit of a line, as a part of one could not be parsed.

    Escaped characters and values that are no text count too, so that shorter fields may be needed.
    """
    rendered = _as_json(logger, method, line)
    most = MAX_TRACEBACK_CHARACTERS
    while len(rendered) > MAX_LINE_CHARACTERS and most > 0:
        most //= 2
        rendered = _as_json(logger, method, {name: _cut(line[name], most) for name in line})
    return rendered


def _cut(value: object, most: int) -> object:
    return value if isinstance(value, int | float | None) else str(value)[:most]
