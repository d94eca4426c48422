"""From a pod template to what a shim runs, or to the reason why this agent cannot run it.

Kubernetes' names and rules: one container's command, args, env and workingDir, `$(NAME)` in them,
resources, volumeMounts of hostPath and emptyDir, and the pod's deadlines. Nothing is silently left
out that would change what runs: a pod that needs a capability beyond these does not start.
"""

import grp
import os
import pwd
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import msgspec

from headgate.domain.values.capabilities import AGENT_CAPABILITIES, lacking_capabilities, upload_of
from headgate.domain.values.quantities import NotAQuantity, amount_of
from headgate.executor.substrate import CannotStart, Object, PodPlan
from headgate.executor.substrates.agent.inventory import GPU
from headgate.executor.substrates.agent.run_directory import (
    ROOT_ACCOUNT,
    Account,
    Image,
    Limits,
    Mount,
)

DEFAULT_GRACE_SECONDS = 30
CHECKPOINT_SIGNAL = "headgate.dev/checkpoint-signal"
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HONOURED = (*sorted(AGENT_CAPABILITIES), "exec", "fence", "retryPod", "softEviction")
"""What an agent declares: the fields of a template that it honours, and what else it can do."""

_REFERENCE = re.compile(r"\$(?:\$|\(([A-Za-z_][A-Za-z0-9_.-]*)\))")
_HOST_PATH_TYPES = {
    "BlockDevice": Path.is_block_device,
    "CharDevice": Path.is_char_device,
    "Directory": Path.is_dir,
    "File": Path.is_file,
    "Socket": Path.is_socket,
}
_LABEL = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class PodRules(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent allows pods, and the Unix accounts by owner of a workload.

    Without an account for its owner a pod runs as `default_account`, or as the agent's own.
    """

    accounts: dict[str, str] = {}
    default_account: str = ""
    allow_root: bool = False
    allowed_host_paths: tuple[str, ...] = ()
    secrets_directory: str = ""
    search_path: str = DEFAULT_PATH


class PodTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """What of a template concerns a process of this host; `work` stands for a directory to make."""

    command: tuple[str, ...]
    environment: dict[str, str]
    working_directory: str
    account: Account | None
    limits: Limits
    mounts: tuple[Mount, ...] = ()
    empty_directories: tuple[str, ...] = ()
    grace_seconds: int
    active_deadline_seconds: int | None
    gpus: int
    image_root: str = ""


def read_template(
    plan: PodPlan,
    rules: PodRules,
    volumes: Path,
    extra: dict[str, str],
    image: Image | None = None,
) -> PodTemplate:
    """Returns the pod of a plan; `extra` are variables of the host. Raises `CannotStart`.

    The upload that the pod begins in is read where its directory is prepared. A command is looked
    up where it will run: on the host now, or in the image at the start.
    """
    fetched = {"upload"} if image is None else {"upload", "image"}
    found = read_process(plan, rules, AGENT_CAPABILITIES | fetched, extra, image)
    spec = _mapping(plan.template.get("spec"), "spec")
    mounts, empty = _mounts(spec, _container(spec), rules, volumes, has_image=image is not None)
    first, *rest = found.command
    return msgspec.structs.replace(
        found,
        command=(first if image else _executable(first, found.environment), *rest),
        mounts=mounts,
        empty_directories=empty,
    )


def read_process(
    plan: PodPlan,
    rules: PodRules,
    honoured: frozenset[str],
    extra: dict[str, str],
    image: Image | None = None,
) -> PodTemplate:
    """Returns the pod of a plan without mounts, as any host may run it. Raises `CannotStart`.

    Of an image its entry point, arguments, variables and working directory hold where the template
    has none (Kubernetes: a command leaves the arguments of the image out), and not its user.
    """
    spec = _mapping(plan.template.get("spec"), "spec")
    container = _container(spec)
    account = account_of(plan.owner, rules)
    environment = {
        **_account_environment(account, rules),
        **({"PATH": DEFAULT_PATH, **image.environment} if image else {}),
        **plan.environment,
        **extra,
    }
    _add_environment(environment, container, plan, rules)
    words = _command(container, image)
    if not words:
        has = "the image has none" if image else "this executor runs no image"
        raise CannotStart(f"spec.containers[0].command is missing: {has}")
    lacking = lacking_capabilities(plan.template, honoured)
    if lacking:
        raise CannotStart(f"this executor does not honour {', '.join(lacking)} of a pod template")
    grace = spec.get("terminationGracePeriodSeconds")
    deadline = spec.get("activeDeadlineSeconds")
    return PodTemplate(
        command=tuple(_expanded(word, environment) for word in words),
        environment=environment,
        working_directory=_expanded(str(container.get("workingDir") or ""), environment)
        or _begins_in(plan, image),
        account=account,
        limits=_limits(container),
        grace_seconds=DEFAULT_GRACE_SECONDS if grace is None else int(grace),
        active_deadline_seconds=None if deadline is None else int(deadline),
        gpus=requested(plan.template, GPU),
        image_root=image.root if image else "",
    )


def _command(container: Object, image: Image | None) -> list[str]:
    command, arguments = _words(container, "command"), _words(container, "args")
    if image is None:
        return [*command, *arguments]
    if not command and not arguments:
        arguments = list(image.arguments)
    return [*(command or image.entrypoint), *arguments]


def _begins_in(plan: PodPlan, image: Image | None) -> str:
    """The working directory of an image; empty for one that the pod gets, perhaps an upload."""
    if image is None or upload_of(plan.template) or image.working_directory == "/":
        return ""
    return image.working_directory


def requested(template: Object, resource: str) -> int:
    """Returns what a pod requests, in the units of `quantities`; a limit alone is a request."""
    container = _container(_mapping(template.get("spec"), "spec"))
    return _amount(container, resource, "requests") or _amount(container, resource, "limits")


def checkpoint_signal(template: Object) -> int:
    """Returns the signal that asks the pod to save its work: SIGTERM unless annotated."""
    annotations = _mapping(template.get("metadata"), "metadata").get("annotations") or {}
    name = str(annotations.get(CHECKPOINT_SIGNAL, "SIGTERM")).upper()
    try:
        return signal.Signals[name if name.startswith("SIG") else f"SIG{name}"]
    except KeyError:
        return signal.SIGTERM


def account_of(owner: str, rules: PodRules) -> Account | None:
    """Returns the account of a pod; None for the agent's own. Raises `CannotStart`."""
    name = rules.accounts.get(owner) or rules.default_account
    if not name or os.geteuid() != ROOT_ACCOUNT:
        if os.geteuid() == ROOT_ACCOUNT and not rules.allow_root:
            raise CannotStart(
                "the pod would run as root: map its owner to an account (--account), or start the "
                "executor with --allow-root"
            )
        return None
    try:
        found = pwd.getpwnam(name)
    except KeyError as error:
        raise CannotStart(f"account {name} of {owner} does not exist on this host") from error
    if found.pw_uid == ROOT_ACCOUNT and not rules.allow_root:
        raise CannotStart(f"account {name} of {owner} is root, which --allow-root must permit")
    groups = tuple(sorted({group.gr_gid for group in grp.getgrall() if name in group.gr_mem}))
    return Account(
        name=name,
        user_id=found.pw_uid,
        group_id=found.pw_gid,
        groups=(found.pw_gid, *groups),
        home=found.pw_dir,
    )


def _container(spec: Object) -> Object:
    containers = spec.get("containers") or []
    if len(containers) != 1:
        raise CannotStart(f"spec.containers has {len(containers)} entries: this executor runs one")
    if spec.get("initContainers"):
        raise CannotStart("spec.initContainers: this executor runs none")
    return _mapping(containers[0], "spec.containers[0]")


def _mapping(value: Any, name: str) -> Object:  # noqa: ANN401 - what a template has
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise CannotStart(f"{name} is not a mapping")
    return value


def _words(container: Object, name: str) -> list[str]:
    return [str(word) for word in container.get(name) or []]


def _account_environment(account: Account | None, rules: PodRules) -> dict[str, str]:
    own = pwd.getpwuid(os.geteuid()) if account is None else None
    name = account.name if account else (own.pw_name if own else "")
    home = account.home if account else (own.pw_dir if own else "/")
    return {"PATH": rules.search_path, "HOME": home, "USER": name, "LOGNAME": name}


def _add_environment(
    environment: dict[str, str], container: Object, plan: PodPlan, rules: PodRules
) -> None:
    """Adds variables in order; each may refer to those before it (Kubernetes: EnvVar)."""
    for variable in container.get("env") or []:
        name = str(variable.get("name", ""))
        source = variable.get("valueFrom")
        if source is None:
            environment[name] = _expanded(str(variable.get("value") or ""), environment)
            continue
        value = _sourced(name, _mapping(source, f"env {name}"), plan, rules)
        if value is not None:
            environment[name] = value


def _sourced(name: str, source: Object, plan: PodPlan, rules: PodRules) -> str | None:
    if "fieldRef" in source:
        return _field(name, str(source["fieldRef"].get("fieldPath", "")), plan)
    if "secretKeyRef" in source:
        return _secret(name, source["secretKeyRef"], plan, rules)
    raise CannotStart(f"env {name}: this executor takes values of fieldRef and secretKeyRef only")


def _field(name: str, path: str, plan: PodPlan) -> str:
    metadata = _mapping(plan.template.get("metadata"), "metadata")
    labelled = _LABEL.fullmatch(path)
    if labelled:
        return str((metadata.get(labelled[1]) or {}).get(labelled[2], ""))
    fields = {
        "metadata.name": plan.key.name,
        "metadata.namespace": plan.key.workload.partition("/")[0],
        "metadata.uid": plan.key.uid,
        "spec.nodeName": plan.environment.get("HEADGATE_NODE", plan.node),
    }
    if path not in fields:
        raise CannotStart(f"env {name}: this executor has no field {path}")
    return fields[path]


def _secret(name: str, reference: Object, plan: PodPlan, rules: PodRules) -> str | None:
    """Returns a secret of the agent's own store: a file NAMESPACE/NAME/KEY."""
    namespace = plan.key.workload.partition("/")[0]
    parts = (namespace, str(reference.get("name", "")), str(reference.get("key", "")))
    is_name = all(part not in {"", ".", ".."} and "/" not in part for part in parts)
    if rules.secrets_directory and is_name:
        path = Path(rules.secrets_directory, *parts)
        if path.is_file():
            return path.read_text().removesuffix("\n")
    if reference.get("optional"):
        return None
    raise CannotStart(f"env {name}: this executor has no secret {'/'.join(parts)}")


def _expanded(text: str, environment: dict[str, str]) -> str:
    """Replaces `$(NAME)`; unknown names and `$$(NAME)` stay, as in Kubernetes."""

    def value(found: re.Match[str]) -> str:
        if found[1] is None:
            return "$"
        return environment.get(found[1], found[0])

    return _REFERENCE.sub(value, text)


def _executable(word: str, environment: dict[str, str]) -> str:
    """Returns the path of a command that is looked up, so that its absence is told clearly."""
    if "/" in word:
        return word
    found = shutil.which(word, path=environment.get("PATH", DEFAULT_PATH))
    if found is None:
        raise CannotStart(f"command {word} is not found on this host (PATH of the pod)")
    return found


def _amount(container: Object, resource: str, kind: str) -> int:
    amounts = _mapping(container.get("resources"), "resources").get(kind) or {}
    if resource not in amounts:
        return 0
    try:
        return amount_of(resource, str(amounts[resource]))
    except NotAQuantity as error:
        raise CannotStart(f"resources.{kind}.{resource}: {error}") from error


def _limits(container: Object) -> Limits:
    return Limits(
        cpu_milli=_amount(container, "cpu", "limits"),
        cpu_request_milli=_amount(container, "cpu", "requests"),
        memory_bytes=_amount(container, "memory", "limits"),
    )


def _mounts(
    spec: Object, container: Object, rules: PodRules, volumes: Path, *, has_image: bool
) -> tuple[tuple[Mount, ...], tuple[str, ...]]:
    """Returns the mounts that are needed, and the empty directories to create."""
    by_name = {str(each.get("name")): each for each in spec.get("volumes") or []}
    mounts, empty = [], []
    for mount in container.get("volumeMounts") or []:
        name, target = str(mount.get("name")), str(mount.get("mountPath"))
        volume = by_name.get(name)
        if volume is None:
            raise CannotStart(f"volumeMounts: there is no volume {name}")
        if "emptyDir" in volume:
            source = volumes / name
            empty.append(str(source))
        else:
            source = _host_path(name, volume, rules)
        source = _sub_path(source, str(mount.get("subPath") or ""))
        read_only = bool(mount.get("readOnly"))
        if has_image or str(source) != os.path.normpath(target) or read_only:
            if not has_image:
                _require_mountable(target)
            mounts.append(Mount(source=str(source), target=target, read_only=read_only))
    return tuple(mounts), tuple(empty)


def _sub_path(source: Path, inside: str) -> Path:
    """Returns a path inside a volume, which neither `..` nor a symbolic link leaves."""
    path = (source / inside).resolve()
    if inside and not path.is_relative_to(source.resolve()):
        raise CannotStart(f"subPath {inside} leaves its volume")
    return path


def _require_mountable(target: str) -> None:
    if os.geteuid() != ROOT_ACCOUNT:
        raise CannotStart(f"mountPath {target}: only an agent that runs as root can mount volumes")
    if not Path(target).is_dir():
        raise CannotStart(f"mountPath {target} is no directory of this host: create it")


def _host_path(name: str, volume: Object, rules: PodRules) -> Path:
    if "hostPath" not in volume:
        raise CannotStart(f"volume {name}: an agent mounts hostPath and emptyDir only")
    asked = Path(str(volume["hostPath"].get("path", "")))
    path = asked.resolve()
    allowed = [Path(each).resolve() for each in rules.allowed_host_paths]
    if not any(path.is_relative_to(each) for each in allowed):
        raise CannotStart(f"hostPath {asked} is not below a path of --allowed-host-path")
    if not path.exists():
        raise CannotStart(f"hostPath {asked} does not exist on this host")
    kind = str(volume["hostPath"].get("type") or "").removesuffix("OrCreate")
    if kind and not _HOST_PATH_TYPES.get(kind, Path.exists)(path):
        raise CannotStart(f"hostPath {asked} is no {kind}")
    return path
