"""How a Kubernetes API server is reached: by a kubeconfig, or as a pod of its cluster.

Tokens come from the file itself, from a file that is read again as it changes, or from a credential
plugin (client.authentication.k8s.io).
"""

import asyncio
import base64
import contextlib
import json
import os
import ssl
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec
import yaml

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds, wall_clock
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_SECONDS = 60.0
"""How long a token of a file is used: the kubelet writes a new one long before the old one ends."""
PLUGIN_SECONDS = 60
UNAUTHORIZED = 401


def _group_of(resource: str) -> tuple[str, str]:
    """Returns the API group and the name of a resource; a subresource has a slash of its own."""
    group, slash, name = resource.partition("/")
    return (group, name) if slash and group != "pods" else ("", resource)


RIGHTS = tuple(
    (group, name, verb)
    for resource, verbs in (
        ("nodes", "list watch"),
        ("pods", "create delete deletecollection get list patch watch"),
        ("pods/log", "get"),
        ("services", "create delete list"),
        ("configmaps", "create delete"),
        ("namespaces", "list watch"),
        ("batch/jobs", "list patch watch"),
        ("jobset.x-k8s.io/jobsets", "list patch watch"),
    )
    for group, name in (_group_of(resource),)
    for verb in verbs.split()
)
"""What the executor may do, by API group, resource and verb."""


class NoAccess(Exception):
    """The configuration of a cluster is missing or cannot be used; the message says why."""


class ClusterEntry(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A cluster of a kubeconfig."""

    server: str
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""


class PluginVariable(msgspec.Struct, frozen=True):
    """A variable of a credential plugin."""

    name: str
    value: str = ""


class Plugin(msgspec.Struct, frozen=True, rename="camel"):
    """A credential plugin of a kubeconfig."""

    command: str
    args: tuple[str, ...] | None = None
    env: tuple[PluginVariable, ...] | None = None
    api_version: str = "client.authentication.k8s.io/v1"


class UserEntry(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A user of a kubeconfig."""

    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    username: str = ""
    password: str = ""
    exec: Plugin | None = None


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """A server with the means to be let in; `origin` says where that was found."""

    url: str
    tls: ssl.SSLContext
    user: UserEntry
    origin: str
    server_name: str = ""

    def auth(self) -> httpx.Auth | None:
        """Returns what signs requests; None for a client certificate alone."""
        user = self.user
        if user.username:
            return httpx.BasicAuth(user.username, user.password)
        if user.token or user.token_file or user.exec:
            return BearerToken(user)
        return None


class BearerToken(httpx.Auth):
    """Signs requests with a token, and asks for a new one before it ends or once it is refused."""

    def __init__(self, user: UserEntry) -> None:
        self._user = user
        self._token, self._until = "", 0.0

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Sends a request, once more with a new token where the first was refused."""
        if elapsed_seconds() >= self._until:
            await self._renew()
        request.headers["Authorization"] = f"Bearer {self._token}"
        response = yield request
        if response.status_code == UNAUTHORIZED:
            await self._renew()
            request.headers["Authorization"] = f"Bearer {self._token}"
            yield request

    async def _renew(self) -> None:
        user = self._user
        if user.exec is not None:
            self._token, seconds = await asyncio.to_thread(_token_of_plugin, user.exec)
        else:
            self._token, seconds = user.token, TOKEN_SECONDS
            if user.token_file:
                self._token = _read_token(user.token_file) or self._token
        self._until = elapsed_seconds() + seconds


def find_access(kubeconfig: str = "", context: str = "") -> Access:
    """Returns the cluster of a kubeconfig, or the one that this process is a pod of.

    Without a file or a context it is the cluster of this pod, and outside of clusters that of
    `KUBECONFIG` or `~/.kube/config`. Raises `NoAccess`.
    """
    if not kubeconfig and not context and "KUBERNETES_SERVICE_HOST" in os.environ:
        return _of_this_pod(SERVICE_ACCOUNT, os.environ)
    named = kubeconfig or os.environ.get("KUBECONFIG", "")
    paths = [Path(each).expanduser() for each in named.split(os.pathsep) if each]
    return _of_files(paths or [Path.home() / ".kube" / "config"], context)


def _of_this_pod(directory: Path, environment: Mapping[str, str]) -> Access:
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment["KUBERNETES_SERVICE_PORT"]
    host = f"[{host}]" if ":" in host else host
    token = directory / "token"
    if not token.is_file():
        raise NoAccess(f"{token} is missing: the pod needs automountServiceAccountToken: true")
    return Access(
        url=f"https://{host}:{port}",
        tls=_trusting(file=str(directory / "ca.crt")),
        user=UserEntry(token_file=str(token)),
        origin="the service account of this pod",
    )


def _of_files(paths: list[Path], context: str) -> Access:
    """Merges files as kubectl does: of equal names the first counts."""
    entries: dict[str, dict[str, tuple[Path, Any]]] = {"clusters": {}, "contexts": {}, "users": {}}
    for path in paths:
        if not path.is_file():
            continue
        try:
            found = yaml.safe_load(path.read_text()) or {}
            context = context or str(found.get("current-context") or "")
            for kind, known in entries.items():
                for each in found.get(kind) or ():
                    known.setdefault(each["name"], (path, each[kind.removesuffix("s")]))
        except (yaml.YAMLError, KeyError, TypeError, AttributeError) as failure:
            raise NoAccess(f"{path} is no kubeconfig: {failure}") from failure
    if context not in entries["contexts"]:
        raise NoAccess(_no_context(context, paths))
    chosen = entries["contexts"][context][1] or {}
    try:
        base, cluster = _entry(entries["clusters"], chosen.get("cluster"), ClusterEntry)
        user_base, user = _entry(entries["users"], chosen.get("user"), UserEntry)
        tls = _tls_of(cluster, base, user, user_base)
    except (OSError, ssl.SSLError, ValueError) as failure:
        raise NoAccess(f"Context {context}: {failure}") from failure
    if user.token_file:
        token_file = str(user_base / Path(user.token_file).expanduser())
        user = msgspec.structs.replace(user, token_file=token_file)
    return Access(
        url=cluster.server.rstrip("/"),
        tls=tls,
        user=user,
        origin=f"context {context}",
        server_name=cluster.tls_server_name,
    )


def _no_context(context: str, paths: list[Path]) -> str:
    shown = ", ".join(str(path) for path in paths)
    if not any(path.is_file() for path in paths):
        return f"There is no kubeconfig at {shown}"
    return f"There is no context {context} in {shown}" if context else f"{shown} names no context"


def _entry(known: dict[str, tuple[Path, Any]], name: Any, kind: type[Any]) -> tuple[Path, Any]:  # noqa: ANN401 - what a file has
    """Returns an entry with the directory that its paths are relative to. Raises `ValueError`."""
    if not name and kind is UserEntry:
        return Path(), UserEntry()
    if name not in known:
        raise ValueError(f"there is no entry {name!r}")
    path, found = known[name]
    return path.resolve().parent, msgspec.convert(found or {}, kind)


def _tls_of(cluster: ClusterEntry, base: Path, user: UserEntry, user_base: Path) -> ssl.SSLContext:
    if cluster.server.startswith("http:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # unused, and made without reading files
    authority = cluster.certificate_authority
    data = base64.b64decode(cluster.certificate_authority_data).decode() or None
    file = str(base / authority) if authority and not data else None
    tls = _trusting(file=file, data=data)
    if cluster.insecure_skip_tls_verify:
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    certificate = _file_of(user.client_certificate_data, user.client_certificate, user_base)
    key = _file_of(user.client_key_data, user.client_key, user_base)
    with certificate as certificate_file, key as key_file:
        if certificate_file:
            tls.load_cert_chain(certificate_file, key_file or None)
    return tls


def _trusting(*, file: str | None = None, data: str | None = None) -> ssl.SSLContext:
    """Returns a context that trusts the authority of a cluster.

    Authorities of clusters often lack a key identifier, as those of EKS do: Python demands one
    since 3.13, kubectl does not.
    """
    tls = ssl.create_default_context(cafile=file, cadata=data)
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return tls


@contextlib.contextmanager
def _file_of(data: str, path: str, base: Path) -> Any:  # noqa: ANN401 - a context of a path
    """Yields a file with a certificate or key, as TLS contexts read files alone."""
    if not data:
        yield str(base / path) if path else ""
        return
    with tempfile.NamedTemporaryFile() as made:  # readable by this account alone
        made.write(base64.b64decode(data))
        made.flush()
        yield made.name


def _read_token(path: str) -> str:
    """Returns the token of a file; empty while it is being replaced, as the old one still holds."""
    with contextlib.suppress(OSError):
        return Path(path).read_text().strip()
    return ""


def _token_of_plugin(plugin: Plugin) -> tuple[str, float]:
    """Returns a token of a credential plugin, and for how many seconds. Raises `NoAccess`."""
    asked = {
        "apiVersion": plugin.api_version,
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    variables = {each.name: each.value for each in plugin.env or ()}
    try:
        done = subprocess.run(
            [plugin.command, *(plugin.args or ())],
            env={**os.environ, **variables, "KUBERNETES_EXEC_INFO": json.dumps(asked)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PLUGIN_SECONDS,
            check=True,
        )
        status = json.loads(done.stdout)["status"]
        token = status["token"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as failure:
        raise NoAccess(f"{plugin.command} gave no token: {failure}") from failure
    seconds = TOKEN_SECONDS
    if status.get("expirationTimestamp"):
        until = datetime.fromisoformat(status["expirationTimestamp"]).timestamp()
        seconds = max(1.0, until - wall_clock() / MICROSECONDS_PER_SECOND - TOKEN_SECONDS)
    return str(token), seconds
