"""Following the log over server-sent events, through every interruption and without a gap."""

import contextlib
from collections.abc import Iterator

import httpx
import msgspec

from headgate.adapters.system.stopwatch import pause
from headgate.client.problems import ServerProblem, problem_of
from headgate.client.shapes import Event, Quiet, StreamReset

HEARTBEAT_PATIENCE_SECONDS = 40.0
RECONNECT_SECONDS = 0.5

_EVENT = msgspec.json.Decoder(Event)


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One server-sent event as it stands on the wire."""

    id: str = ""
    event: str = ""
    data: str = ""


def frames_of(block: str) -> Frame:
    """The fields of one block of lines; comments are dropped (WHATWG server-sent events)."""
    fields: dict[str, list[str]] = {}
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        if name:
            fields.setdefault(name, []).append(value.removeprefix(" "))
    return Frame(
        id="".join(fields.get("id", [])),
        event="".join(fields.get("event", [])),
        data="\n".join(fields.get("data", [])),
    )


class EventStream:
    """The log from a position on; `position` is the last one seen, and where it resumes."""

    def __init__(
        self,
        http: httpx.Client,
        *,
        after: int,
        types: tuple[str, ...] = (),
        streams: tuple[str, ...] = (),
        quiet_seconds: float = HEARTBEAT_PATIENCE_SECONDS,
    ) -> None:
        self._http = http
        self._types = types
        self._streams = streams
        self._quiet_seconds = quiet_seconds
        self.position = after

    def follow(self) -> Iterator[Event | StreamReset | Quiet]:
        """Every event in order, for ever; `Quiet` whenever nothing came for `quiet_seconds`.

        Raises `ServerProblem` where asking again is no use (no such right, no such stream).
        """
        while True:
            with contextlib.suppress(httpx.TransportError):
                yield from self._connected()
            yield Quiet()
            pause(RECONNECT_SECONDS)

    def _connected(self) -> Iterator[Event | StreamReset | Quiet]:
        query = {
            "after": str(self.position),
            "types": ",".join(self._types),
            "streams": ",".join(self._streams),
        }
        timeout = httpx.Timeout(self._quiet_seconds, connect=5.0)
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(self.position)}
        asked = {name: value for name, value in query.items() if value}
        with self._http.stream(
            "GET", "/v1/stream", params=asked, headers=headers, timeout=timeout
        ) as answer:
            if (
                answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR
                or answer.status_code == httpx.codes.TOO_MANY_REQUESTS
            ):
                return
            if answer.status_code >= httpx.codes.BAD_REQUEST:
                raise ServerProblem(problem_of(answer.status_code, answer.read(), ""))
            yield from self._blocks(answer)

    def _blocks(self, answer: httpx.Response) -> Iterator[Event | StreamReset | Quiet]:
        rest = b""
        for chunk in answer.iter_bytes():
            rest = (rest + chunk).replace(b"\r\n", b"\n")
            *whole, rest = rest.split(b"\n\n")
            for block in whole:
                yield self._seen(frames_of(block.decode()))

    def _seen(self, frame: Frame) -> Event | StreamReset | Quiet:
        if frame.event == "reset":
            position = int(frame.id) if frame.id.isdigit() else self.position
            self.position = position
            return StreamReset(position=position)
        if not frame.data:
            if frame.id.isdigit():
                self.position = int(frame.id)
            return Quiet()
        event = _EVENT.decode(frame.data)
        self.position = event.position
        return event
