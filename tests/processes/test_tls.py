"""TLS: plain HTTP for this machine alone, a certificate of our own beyond it, strong tokens."""

import os
import socket
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from headgate.adapters.system.process_start import (
    StartRefused,
    check_admin_token,
    is_loopback,
    own_certificate,
    tls_of,
)
from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection, ServerUnreachable, UnusableCertificates, trust_of
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET
from tests.processes.programs import wait_until
from tests.processes.up import HEADGATE, environment


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@contextmanager
def _serve(**settings: str) -> Iterator["subprocess.Popen[bytes]"]:
    given = {f"HEADGATE_{name.upper()}": value for name, value in settings.items()}
    command = [sys.executable, "-m", "headgate.api.serve"]
    process = subprocess.Popen(
        command, env={**environment(), **given}, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)
        assert process.stderr is not None
        process.stderr.close()


@pytest.fixture(scope="module")
def url(database_url: str, directory: Path) -> Iterator[str]:
    """An API that listens on all addresses, with a certificate that it has made."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    with _serve(
        database_url=database_url,
        broker_url="memory://",
        admin_token=ADMIN_SECRET,
        host="0.0.0.0",
        port=str(port),
        directory=str(directory),
    ) as process:
        address = f"https://127.0.0.1:{port}"

        def answers() -> bool:
            assert process.poll() is None
            try:
                return httpx.get(f"{address}/readyz", verify=False).status_code == 200
            except httpx.TransportError:
                time.sleep(0.05)
                return False

        wait_until(answers, "it is ready", 90)
        yield address


def _connection(url: str, cacert: str = "") -> Connection:
    return Connection(url=url, token=ADMIN_SECRET, source="test", cacert=cacert)


def test_an_api_beyond_this_machine_speaks_tls_alone(url: str, directory: Path) -> None:
    certificate = directory / "tls" / "certificate.pem"
    trusted = ssl.create_default_context(cafile=str(certificate))
    answer = httpx.get(f"{url}/healthz", verify=trusted)
    assert answer.status_code == 200
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    with pytest.raises(httpx.TransportError):
        httpx.get(url.replace("https:", "http:") + "/healthz")


def test_a_client_takes_the_certificate_that_it_is_given_and_no_other(
    url: str, directory: Path
) -> None:
    certificate = str(directory / "tls" / "certificate.pem")
    with HeadgateClient(_connection(url, certificate)) as client:
        assert client.read("/v1/whoami")["name"] == "admin"
    with (
        HeadgateClient(_connection(url), patience_seconds=0.1) as client,
        pytest.raises(ServerUnreachable, match=r"(?i)certificate"),
    ):
        client.read("/v1/whoami")
    with pytest.raises(UnusableCertificates):
        trust_of(_connection(url, str(directory / "none.pem")))


def test_the_command_line_is_given_a_certificate(url: str, directory: Path) -> None:
    certificate = str(directory / "tls" / "certificate.pem")
    command = [HEADGATE, "--server", url, "--token", ADMIN_SECRET]
    usual = environment() | {"HOME": str(directory), "NO_COLOR": "1"}
    trusted = [*command, "--cacert", certificate, "whoami"]
    done = subprocess.run(trusted, env=usual, capture_output=True, text=True, check=False)
    assert (done.returncode, "admin" in done.stdout) == (0, True), done.stderr
    missing = [*command, "--cacert", "/no/such/file", "whoami"]
    done = subprocess.run(missing, env=usual, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "--cacert" in done.stderr


def test_an_api_with_a_weak_admin_token_does_not_start() -> None:
    with _serve(database_url="postgresql://none", admin_token="a" * 64) as process:
        assert process.wait(60) == 1
        assert process.stderr is not None
        assert b"HEADGATE_ADMIN_TOKEN is too weak" in process.stderr.read()


def test_a_token_of_enough_characters_is_taken() -> None:
    check_admin_token("")
    check_admin_token("kd83hf-0sjw72hs9djw82hs7")
    for weak in ("admin", "0123456789abcdef", "kd83hf-0sjw72hs9djw82hs"):
        with pytest.raises(StartRefused):
            check_admin_token(weak)


def test_loopback_and_a_setting_lead_to_plain_http(tmp_path: Path) -> None:
    for host in ("127.0.0.1", "127.3.2.1", "::1", "localhost"):
        assert is_loopback(host)
        assert tls_of(Settings(host=host, directory=tmp_path)) is None
    assert tls_of(Settings(host="0.0.0.0", plain_http=True, directory=tmp_path)) is None
    assert not (tmp_path / "tls").exists()
    assert tls_of(Settings(host="0.0.0.0", directory=tmp_path)) is not None


def test_a_certificate_of_our_own_is_kept_and_its_key_is_for_its_owner(tmp_path: Path) -> None:
    made = own_certificate(tmp_path, "headgate.example.com")
    content = made.certificate.read_bytes()
    assert stat.S_IMODE(made.key.stat().st_mode) == 0o600
    assert own_certificate(tmp_path, "headgate.example.com") == made
    assert made.certificate.read_bytes() == content


def test_a_certificate_that_is_given_is_used_and_must_be_there(tmp_path: Path) -> None:
    made = own_certificate(tmp_path / "given", "127.0.0.1")
    given = Settings(directory=tmp_path, tls_certificate=made.certificate, tls_key=made.key)
    assert tls_of(given) == made
    with pytest.raises(StartRefused, match="set together"):
        tls_of(Settings(tls_certificate=made.certificate))
    with pytest.raises(StartRefused, match="cannot be read"):
        tls_of(Settings(tls_certificate=made.certificate, tls_key=tmp_path / "none"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another place that cannot be written")
def test_a_certificate_that_cannot_be_kept_names_the_settings() -> None:
    with pytest.raises(StartRefused, match="HEADGATE_PLAIN_HTTP"):
        own_certificate(Path("/proc/no-such-place"), "0.0.0.0")


def test_a_process_takes_as_many_descriptors_as_the_system_allows_it() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 512)); "
        "from headgate.adapters.system.process_start import raise_descriptor_limit; "
        "raise_descriptor_limit(); print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "(512, 512)\n"
