"""The connection of a client: server, token and trust, requests with retries, and their failures.

Requests carry idempotency keys.
"""

import ipaddress
import socket
import ssl
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds, pause, unique_key


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """The address of an API and the token to show it; `source` says where they were found.

    `cacert` is a file of certificates that are trusted beside those of the system; empty for none.
    `is_supervised` is true for a server of a running `headgate up`, which starts it again.
    """

    url: str
    token: str
    source: str
    cacert: str = ""
    is_supervised: bool = False

    @property
    def is_loopback(self) -> bool:
        """Returns whether the address is one of this host alone."""
        try:
            host = urlsplit(self.url).hostname or ""
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False


class UnusableCertificates(Exception):
    """The file of trusted certificates is not there or holds none."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} holds no certificates that can be read")
        self.path = path


def trust_of(connection: Connection) -> ssl.SSLContext:
    """Returns what TLS connections trust; raises `UnusableCertificates`.

    Without TLS it is nothing: reading the system's certificates takes longer than most requests.
    """
    if not connection.url.startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusted = ssl.create_default_context()
    if connection.cacert:
        try:
            trusted.load_verify_locations(connection.cacert)
        except OSError as failure:
            raise UnusableCertificates(connection.cacert) from failure
    return trusted


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One error in a request, with its place and remedy."""

    pointer: str = ""
    rule: str = ""
    remedy: str = ""


class Problem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A problem in an answer of the server (RFC 9457)."""

    type: str = "about:blank"
    title: str = "The server refused the request"
    status: int = 500
    detail: str = ""
    remedy: str = ""
    errors: tuple[Fault, ...] = ()
    code: str = ""
    request_id: str = ""

    @property
    def slug(self) -> str:
        """The last part of the type, such as `not-found`."""
        return self.type.rsplit("/", 1)[-1]


class ServerProblem(Exception):
    """The server answered with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail or problem.title)
        self.problem = problem


class ServerUnreachable(Exception):
    """The server did not answer within the timeout, retries included, or its URL is not of HTTP."""

    def __init__(self, url: str, cause: str) -> None:
        super().__init__(f"can't reach {url}: {cause}")
        self.url = url


def problem_of(status: int, body: bytes, request_id: str) -> Problem:
    """Returns the problem in an answer, or one made of its status and text."""
    try:
        told: Any = msgspec.json.decode(body)
        found = msgspec.convert(told, Problem)
    except (msgspec.DecodeError, msgspec.ValidationError):
        text = body[:300].decode(errors="replace")
        return Problem(
            title=f"The server answered {status}", status=status, detail=text, request_id=request_id
        )
    return msgspec.structs.replace(found, status=status, request_id=found.request_id or request_id)


REFUSED_SECONDS = 0.5
"""How long a refused connection is tried again where nothing starts the server of this host."""
RETRIED_STATUSES = frozenset({429, 502, 503})
FIRST_PAUSE_SECONDS = 0.1
MAX_PAUSE_SECONDS = 2.0
JSON = "application/json"


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a request."""

    content: bytes
    content_type: str = JSON


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request; `accepted` holds failure statuses that are valid answers to it."""

    method: str
    path: str
    query: dict[str, str] = {}
    body: Body | None = None
    headers: dict[str, str] = {}
    accepted: frozenset[int] = frozenset()


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: status, body and log position (0 without one)."""

    status: int
    content: bytes
    position: int
    etag: str = ""

    def json(self) -> Any:  # noqa: ANN401 - the shapes are the API's, and callers convert what they need
        """Returns the decoded body."""
        return msgspec.json.decode(self.content) if self.content else None


class Transport:
    """Sends requests to one server; a POST carries an idempotency key and may be repeated.

    With `at` requests read a past state, and the server rejects changes. A caller that is no
    service (`is_command`) is told soon that no server runs on this host, unless one answered it
    before or is being supervised.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        patience_seconds: float = 20.0,
        is_command: bool = False,
        carrier: httpx.BaseTransport | None = None,
    ) -> None:
        self._connection = connection
        self._patience_seconds = patience_seconds
        self._is_command = is_command
        self._will_be_back = connection.is_supervised
        self.at = ""
        try:
            self.http = httpx.Client(
                base_url=connection.url.rstrip("/"),
                headers={"Authorization": f"Bearer {connection.token}"} if connection.token else {},
                timeout=httpx.Timeout(30.0, connect=5.0),
                transport=carrier,
                verify=trust_of(connection),
            )
        except httpx.InvalidURL as error:
            raise ServerUnreachable(connection.url, str(error)) from error

    def send(self, request: Request) -> Answer:
        """Returns the answer to a successful request.

        Raises `ServerProblem` for a failure status, `ServerUnreachable` at the timeout, and at once
        for a URL without `http:` or `https:` and where another thread closes this.
        """
        prepared = self._request(request)
        began_at = elapsed_seconds()
        wait_seconds = FIRST_PAUSE_SECONDS
        while True:
            answer, cause, patience_seconds = self._attempt(prepared)
            if answer is not None and answer.status_code not in RETRIED_STATUSES:
                return _checked(answer, request)
            wait_seconds = _longer(wait_seconds, answer)
            if elapsed_seconds() + wait_seconds > began_at + patience_seconds:
                if answer is not None:
                    return _checked(answer, request)
                raise ServerUnreachable(self._connection.url, cause)
            pause(wait_seconds)

    def close(self) -> None:
        """Closes all connections."""
        self.http.close()

    def _request(self, request: Request) -> httpx.Request:
        told = dict(request.headers)
        if request.method == "POST":
            told.setdefault("Idempotency-Key", unique_key())
        if request.body is not None:
            told["Content-Type"] = request.body.content_type
        asked = {name: value for name, value in request.query.items() if value}
        if self.at:
            asked.setdefault("at", self.at)
        content = request.body.content if request.body else None
        return self.http.build_request(
            request.method, request.path, params=asked or None, content=content, headers=told
        )

    def _attempt(self, request: httpx.Request) -> tuple[httpx.Response | None, str, float]:
        """Returns the answer, or the cause why there is none, and how long to try again."""
        try:
            answer = self.http.send(request)
        except httpx.UnsupportedProtocol as error:
            raise ServerUnreachable(self._connection.url, str(error)) from error
        except httpx.TransportError as error:
            patience_seconds = self._patience_seconds
            if self._is_hopeless(error):
                patience_seconds = REFUSED_SECONDS
            return None, str(error) or type(error).__name__, patience_seconds
        except RuntimeError as error:
            if not self.http.is_closed:
                raise
            raise ServerUnreachable(self._connection.url, "the client was closed") from error
        self._will_be_back = True
        return answer, "", self._patience_seconds

    def _is_hopeless(self, error: httpx.TransportError) -> bool:
        """Whether a command gives up soon: no server runs on this host, or its host is unknown.

        A server of this host that is supervised, or has answered, will be back.
        """
        is_refused = isinstance(error, httpx.ConnectError) and self._connection.is_loopback
        is_absent = is_refused and not self._will_be_back
        return self._is_command and (is_absent or _is_unknown_host(error))


def _is_unknown_host(error: BaseException | None) -> bool:
    """Whether the name of the server has no address, which no retry changes soon."""
    while error is not None:
        if isinstance(error, socket.gaierror):
            return error.errno == socket.EAI_NONAME
        error = error.__cause__ or error.__context__
    return False


def is_url(text: str) -> bool:
    """Returns whether a text is the address of a server: http or https, and a host."""
    try:
        found = httpx.URL(text)
    except httpx.InvalidURL:
        return False
    return found.scheme in {"http", "https"} and bool(found.host)


def _longer(wait_seconds: float, answer: httpx.Response | None) -> float:
    told = answer.headers.get("Retry-After", "") if answer is not None else ""
    if told.isdigit():
        return min(float(told), 10.0) or FIRST_PAUSE_SECONDS
    return min(wait_seconds * 2, MAX_PAUSE_SECONDS)


def _checked(answer: httpx.Response, request: Request) -> Answer:
    if answer.is_error and answer.status_code not in request.accepted:
        raise ServerProblem(
            problem_of(answer.status_code, answer.content, answer.headers.get("X-Request-Id", ""))
        )
    position = answer.headers.get("X-Log-Position", "")
    return Answer(
        status=answer.status_code,
        content=answer.content,
        position=int(position) if position.isdigit() else 0,
        etag=answer.headers.get("ETag", ""),
    )
