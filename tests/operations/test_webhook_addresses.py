"""Webhooks reach no address of the host's own network, however it is written or resolved."""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.adapters.system.process_start import own_certificate
from headgate.adapters.webhooks import (
    HttpWebhookSender,
    InvalidNetworks,
    is_public,
    own_networks,
    read_networks,
)
from headgate.application.application_services import DeliveryResult
from tests.api.receiver import Receiver, receiving

LOOPBACK = read_networks("127.0.0.0/8")


def send(
    url: str, *addresses: str, allowed: str = "", tls: ssl.SSLContext | None = None
) -> DeliveryResult:
    """Send to a name that resolves to these addresses, or to what it really resolves to."""

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return addresses

    sender = HttpWebhookSender(read_networks(allowed), resolve if addresses else None, tls)
    return asyncio.run(sender.send(url, {"webhook-id": "msg_1"}, b"{}"))


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "100.100.100.200",
        "169.254.169.254",
        "168.63.129.16",
        "192.0.0.192",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
    ],
)
def test_an_address_of_no_public_network_is_refused(address: str) -> None:
    result = send("http://alerts.example.org/", address)
    assert result.failure is not None
    assert result.failure.code == "ReceiverAddressNotAllowed"


def test_one_such_address_among_public_ones_refuses_the_name() -> None:
    result = send("http://alerts.example.org/", "93.184.216.34", "10.0.0.1")
    assert result.failure is not None
    assert result.failure.code == "ReceiverAddressNotAllowed"


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "127.1", "0x7f000001", "2130706433", "[::1]", "0177.0.0.1"]
)
def test_no_spelling_of_this_machine_reaches_it(host: str) -> None:
    with receiving() as receiver:
        result = send(f"http://{host}:{receiver.port}/")
    assert result.failure is not None
    assert result.failure.code in ("ReceiverAddressNotAllowed", "ReceiverNameUnknown")
    assert receiver.requests == []


@given(st.ip_addresses(v=4, network="10.0.0.0/8"))
def test_an_address_that_a_gateway_translates_is_judged_by_what_it_stands_for(
    inner: ipaddress.IPv4Address,
) -> None:
    translated = ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) | int(inner))
    mapped = ipaddress.IPv6Address(f"::ffff:{inner}")
    assert not is_public(inner)
    assert not is_public(translated)
    assert not is_public(mapped)


def test_the_networks_of_the_host_are_refused_though_they_are_public() -> None:
    own = read_networks("93.184.216.0/24")
    assert is_public(ipaddress.ip_address("93.184.216.34"))
    assert not is_public(ipaddress.ip_address("93.184.216.34"), own)
    mine = [
        each.address
        for found in psutil.net_if_addrs().values()
        for each in found
        if each.family == socket.AF_INET
    ]
    networks = own_networks()
    assert all(any(ipaddress.ip_address(each) in net for net in networks) for each in mine)


def test_an_allowed_network_is_reached_and_the_name_is_what_the_receiver_is_asked_for() -> None:
    with receiving() as receiver:
        url = f"http://alerts.example.org:{receiver.port}/x"
        result = send(url, "127.0.0.1", allowed="127.0.0.0/8")
    assert (result.status_code, result.failure) == (204, None)
    (request,) = receiver.requests
    assert request.headers["host"] == f"alerts.example.org:{receiver.port}"
    assert request.headers["webhook-id"] == "msg_1"


def test_a_name_is_resolved_once_so_that_it_cannot_be_bound_again() -> None:
    asked = []

    async def rebinding(_host: str, _port: int) -> Sequence[str]:
        asked.append("")
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    with receiving() as receiver:
        sender = HttpWebhookSender(LOOPBACK, rebinding)
        url = f"http://alerts.example.org:{receiver.port}/"
        result = asyncio.run(sender.send(url, {}, b"{}"))
    assert (result.failure, len(asked), len(receiver.requests)) == (None, 1, 1)


def test_a_redirect_is_not_followed() -> None:
    with receiving(302) as receiver:
        result = send(receiver.url, allowed="127.0.0.0/8")
    assert result.status_code == 302
    assert result.failure is not None
    assert len(receiver.requests) == 1


def test_the_certificate_is_checked_by_the_name_and_not_by_the_address(tmp_path: Path) -> None:
    files = own_certificate(tmp_path, "alerts.example.org")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(files.certificate, files.key)
    trusting = ssl.create_default_context(cafile=str(files.certificate))
    with receiving(tls=server) as receiver:

        def post(host: str, tls: ssl.SSLContext | None) -> DeliveryResult:
            url = f"https://{host}:{receiver.port}/"
            return send(url, "127.0.0.1", allowed="127.0.0.0/8", tls=tls)

        assert post("alerts.example.org", trusting).failure is None
        for host, tls in (("other.example.org", trusting), ("alerts.example.org", None)):
            failure = post(host, tls).failure
            assert failure is not None
            assert failure.code == "ReceiverCertificateInvalid"
    assert len(receiver.requests) == 1


def test_what_does_not_answer_is_told_apart() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        silent = Receiver([])
        silent.port = closed.getsockname()[1]
        result = send(silent.url, allowed="127.0.0.0/8")
    assert result.failure is not None
    assert result.failure.code == "ReceiverUnreachable"
    unknown = send("http://name.invalid/")
    assert unknown.failure is not None
    assert unknown.failure.code == "ReceiverNameUnknown"


def test_a_setting_that_names_no_networks_is_told() -> None:
    with pytest.raises(InvalidNetworks, match="HEADGATE_WEBHOOK_NETWORKS"):
        read_networks("10.0.0.0/8,everything")
