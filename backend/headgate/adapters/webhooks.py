"""Sends notifications to webhooks, and never to an address of the host's own network.

The name of the receiver is resolved once for each delivery; every address that it has is checked,
and the connection goes to the checked one, so that a name that is bound again leads nowhere else
(server-side request forgery, DNS rebinding). Redirects are not followed, and no proxy is used.
"""

import asyncio
import ipaddress
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cached_property
from urllib.parse import urlsplit

import certifi
import httpx
import psutil

from headgate.application.application_services import DeliveryResult
from headgate.domain.values.message import Message, message

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 15.0
"""From the first look at the name to the status of the answer; its body is not read."""
METADATA_ADDRESSES = frozenset(map(ipaddress.ip_address, ("168.63.129.16", "fd00:ec2::254")))
"""Addresses of clouds for what only their hosts may read; all others of them are link-local."""
PROTOCOL_ADDRESSES = ipaddress.ip_network("192.0.0.0/24")
"""Assigned to protocols (RFC 6890); older releases of Python count most of them as global."""
TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""IPv6 addresses that a gateway (NAT64) translates: the last 32 bits are an IPv4 address."""


class InvalidNetworks(Exception):
    """The setting of allowed networks cannot be read."""


def read_networks(text: str) -> tuple[Network, ...]:
    """Returns networks such as `10.2.0.0/16, ::1/128`; raises `InvalidNetworks`."""
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as failure:
        raise InvalidNetworks(f"HEADGATE_WEBHOOK_NETWORKS: {failure}") from failure


class HttpWebhookSender:
    """Fills the port `WebhookSender`; `allowed` are networks that may be reached nevertheless."""

    def __init__(
        self,
        allowed: Sequence[Network] = (),
        resolve: Resolve | None = None,
        certificates: ssl.SSLContext | None = None,
    ) -> None:
        self._allowed = tuple(allowed)
        self._resolve = resolve or _resolved
        self._certificates = certificates

    def forbidden_address(self, url: str) -> str:
        """The host of a URL where it is an address that no delivery may reach, else empty.

        What a name leads to is checked at each delivery.
        """
        host = (urlsplit(url).hostname or "").rstrip(".")
        address = _written_address(host)
        if address is None or self._is_allowed(address) or is_public(address, own_networks()):
            return ""
        return host

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> DeliveryResult:
        """Posts a body; a failure is part of the result."""
        began = time.monotonic()
        status, failure = None, None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                status, failure = await self._posted(httpx.URL(url), headers, body)
        except (TimeoutError, httpx.TimeoutException):
            failure = message("ReceiverTimedOut", seconds=int(ANSWER_SECONDS))
        except httpx.ConnectError as caught:
            failure = message(_code_of(caught))
        except (httpx.InvalidURL, UnicodeError):
            failure = message("ReceiverNameUnknown", host=urlsplit(url).hostname or "")
        except (httpx.HTTPError, OSError):
            failure = message("ReceiverDidNotAnswer")
        milliseconds = int((time.monotonic() - began) * 1_000)
        return DeliveryResult(status_code=status, failure=failure, milliseconds=milliseconds)

    async def _posted(
        self, url: httpx.URL, headers: Mapping[str, str], body: bytes
    ) -> tuple[int | None, Message | None]:
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            addresses = [ipaddress.ip_address(each) for each in await self._resolve(url.host, port)]
        except (OSError, UnicodeError, ValueError):
            return None, message("ReceiverNameUnknown", host=url.host)
        own = () if all(map(self._is_allowed, addresses)) else own_networks()
        for address in addresses:
            if not self._is_allowed(address) and not is_public(address, own):
                return None, message(
                    "ReceiverAddressNotAllowed", host=url.host, address=str(address)
                )
        # The certificate is that of the name, whatever the address it was resolved to.
        pinned = url.copy_with(host=str(addresses[0]))
        host = url.netloc.decode("ascii")
        timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
        async with httpx.AsyncClient(verify=self._tls, trust_env=False, timeout=timeout) as client:
            request = client.build_request(
                "POST",
                pinned,
                content=body,
                headers={**headers, "Host": host},
                extensions={"sni_hostname": url.host},
            )
            answer = await client.send(request, stream=True)
            await answer.aclose()
        is_success = answer.is_success
        return answer.status_code, (
            None if is_success else message("ReceiverRefused", status=answer.status_code)
        )

    def _is_allowed(self, address: Address) -> bool:
        return any(address in network for network in self._allowed)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        if self._certificates is not None:
            return self._certificates
        context = ssl.create_default_context(cafile=certifi.where())
        context.load_default_certs()
        return context


def _written_address(host: str) -> Address | None:
    """The address that a host is written as, in any spelling; None of a name."""
    if host == "localhost" or host.endswith(".localhost"):
        return ipaddress.IPv4Address("127.0.0.1")
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def is_public(address: Address, own: Sequence[Network] = ()) -> bool:
    """Whether an address is one of the internet, and of none of the host's `own` networks.

    Loopback, link-local, private, shared, reserved, multicast and metadata addresses are not, nor
    are IPv6 addresses that stand for one of these.
    """
    return all(
        each.is_global
        and not each.is_multicast
        and not each.is_reserved
        and each not in METADATA_ADDRESSES
        and each not in PROTOCOL_ADDRESSES
        and not any(each in network for network in own)
        for each in _meant(address)
    )


def _meant(address: Address) -> Iterator[Address]:
    """The address, and the IPv4 addresses that an IPv6 address leads to."""
    if isinstance(address, ipaddress.IPv4Address):
        yield address
        return
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in TRANSLATED:
        inner.append(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    embedded = [each for each in inner if each is not None]
    # What stands for an IPv4 address is judged by that alone, as the prefix says nothing.
    yield from embedded or [address]


def own_networks() -> list[Network]:
    """The networks that the interfaces of this host stand in."""
    found: list[Network] = []
    for addresses in psutil.net_if_addrs().values():
        for each in addresses:
            if each.family in (socket.AF_INET, socket.AF_INET6):
                host = each.address.partition("%")[0]
                mask = str(each.netmask or "").partition("/")[0]
                found.append(_network(host, mask))
    return found


def _network(host: str, mask: str) -> Network:
    address = ipaddress.ip_address(host)
    if isinstance(address, ipaddress.IPv4Address):
        return ipaddress.IPv4Network(f"{host}/{mask or 32}", strict=False)
    length = int(ipaddress.IPv6Address(mask)).bit_count() if mask else 128
    return ipaddress.IPv6Network(f"{host}/{length}", strict=False)


async def _resolved(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(each[4][0]).partition("%")[0] for each in found]


def _code_of(failure: httpx.ConnectError) -> str:
    """Whether it was the certificate that kept the connection from being made."""
    cause: BaseException | None = failure
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return "ReceiverCertificateInvalid"
        cause = cause.__cause__ or cause.__context__
    return "ReceiverUnreachable"
