"""`import slurm`: accounts, partitions and limits of Slurm as queues, flavors and quota.

It reads what `sacctmgr dump` and `scontrol show partition` write, and `slurm.conf`. Capacity is the
nominal quota of the root cohort, as accounts share all of it in Slurm; `GrpTRES` is a borrowing
limit on a nominal quota of 0. What has no equal is named, each setting with its place.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from headgate.cli.commands.apply import code_of_results, tell_results
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import DryRun, Reason, argument, client_of
from headgate.cli.output import as_yaml, say, show
from headgate.cli.slurm_files import (
    Amounts,
    Association,
    Slurm,
    amounts_of,
    cpus_of,
    hosts_of,
    read_slurm,
    resource_of,
)
from headgate.cli.units import counted
from headgate.executor.substrates.agent.inventory import EXECUTOR_LABEL
from headgate.executor.substrates.slurm.nodes import FEATURE_LABEL, gres_of

Object = dict[str, Any]

KUEUE = "kueue.x-k8s.io/v1beta2"
ROOT = "slurm"
UNSET = frozenset({"", "N/A", "NONE", "(NULL)", "UNLIMITED", "INFINITE", "ALL", "NO", "0", "-1"})
"""Values that set nothing."""
USUAL_OF_PARTITION = {
    "PreemptMode": "OFF", "PriorityJobFactor": "1", "PriorityTier": "1", "OverSubscribe": "NO",
    "State": "UP", "SelectTypeParameters": "NONE", "MinNodes": "0", "MaxNodes": "UNLIMITED",
}  # fmt: skip
READ_OF_PARTITION = frozenset(
    {
        "PartitionName", "Nodes", "AllowAccounts", "DenyAccounts", "TRES", "TotalCPUs",
        "TotalNodes", "Default",
    }
)  # fmt: skip
READ_OF_ASSOCIATION = frozenset({"GrpTRES", "Fairshare", "FairShare", "DefaultAccount"})
DESCRIPTIVE = frozenset({"Description", "Organization", "AdminLevel", "DefaultQOS", "WCKeys"})
"""What describes an account or user, and is not about when its jobs start."""
EQUALS = {
    "PriorityDecayHalfLife": "set admissionFairSharing.usageHalfLifeTime in the Configuration",
    "PriorityType": "priority is a class; fairness acts between queues (fairSharing)",
    "PreemptType": "set spec.preemption of the ClusterQueues",
    "PreemptMode": "set spec.preemption of the ClusterQueues",
    "PreemptExemptTime": "set spec.preemption.minRuntime of the ClusterQueues",
    "SchedulerType": "there is no backfill by time limits; queueingStrategy BestEffortFIFO is near",
    "TopologyPlugin": "write a Topology; the Slurm executor labels nodes by switches",
    "AccountingStorageEnforce": "quota is always enforced",
    "JobRequeue": "set backoffLimit of the workload",
    "Licenses": "no equal",
    "EnforcePartLimits": "no equal",
    "MaxJobCount": "no equal",
    "MaxArraySize": "no equal",
}
"""Settings of slurm.conf that are about when jobs start, and what serves in their place."""
WITHOUT_EQUAL = {
    "MaxTime": "set maximumExecutionTimeSeconds of each workload",
    "DefaultTime": "set maximumExecutionTimeSeconds of each workload",
    "MaxWallDurationPerJob": "set maximumExecutionTimeSeconds of each workload",
    "MaxWall": "set maximumExecutionTimeSeconds of each workload",
    "PriorityTier": "write a WorkloadPriorityClass for its users",
    "PriorityJobFactor": "write a WorkloadPriorityClass for its users",
    "Priority": "write a WorkloadPriorityClass for its users",
    "QOS": "write a WorkloadPriorityClass for each with the priority of sacctmgr show qos",
    "QoS": "write a WorkloadPriorityClass with the priority of sacctmgr show qos",
    "PreemptMode": "set spec.preemption of the ClusterQueues",
    "State": "use headgate stop for the ClusterQueues",
    "AllowQos": "use submission rules of the Configuration",
    "AllowGroups": "grant the role submitter in the namespaces of its accounts",
}
"""What serves in place of a setting of a partition or an association; no equal for others."""


class Translation:
    """The manifests for a cluster of Slurm; `notes` are what has no equal."""

    def __init__(self, slurm: Slurm) -> None:
        self.notes: list[str] = []
        self._slurm = slurm
        self._parents = {each.parent for each in slurm.accounts.values()}
        self._with_users = {each.parent for each in slurm.users} - {"root"}
        self._flavors = dict(self._flavors_of_partitions())

    def manifests(self) -> Iterator[Object]:
        """Every object, each after those that it refers to."""
        for name, (labels, _) in self._flavors.items():
            yield _object("ResourceFlavor", name, {"nodeLabels": labels})
        capacity = {name: amounts for name, (_, amounts) in self._flavors.items()}
        yield _object("Cohort", ROOT, {"resourceGroups": _groups(capacity)})
        for account in self._slurm.accounts.values():
            if account.name != "root":
                yield from self._account(account)
        for user in self._slurm.users:
            yield from self._user(user)
        self._note_settings()

    def _flavors_of_partitions(self) -> Iterator[tuple[str, tuple[dict[str, str], Amounts]]]:
        seen: Counter[str] = Counter()
        for name, fields in self._slurm.partitions.items():
            if name == "DEFAULT":
                self._note(
                    "partition DEFAULT", {k: v for k, v in fields.items() if k != "PartitionName"}
                )
                continue
            unusual = {
                key: value
                for key, value in fields.items()
                if key not in READ_OF_PARTITION
                and value.upper() not in UNSET
                and value != USUAL_OF_PARTITION.get(key)
            }
            self._note(f"partition {name}", unusual)
            own = {EXECUTOR_LABEL: _named(name)}
            hosts = self._hosts(fields)
            seen.update(hosts)
            grouped = self._by_features(name, hosts)
            for features, members in grouped.items():
                ending = (
                    "".join(f"-{_named(each)}" for each in features) if len(grouped) > 1 else ""
                )
                labels = {f"{FEATURE_LABEL}{each}": "true" for each in features if ending}
                yield (
                    f"{_named(name)}{ending}",
                    ({**own, **labels}, self._capacity(members, fields)),
                )
        for host, count in sorted(seen.items()):
            if count > 1:
                self.notes.append(
                    f"node {host} is in {counted(count, 'partition')}: the quota of each counts it"
                )

    def _hosts(self, fields: Mapping[str, str]) -> list[str]:
        told = fields.get("Nodes", "")
        return list(self._slurm.nodes) if told == "ALL" else hosts_of(told.replace("(null)", ""))

    def _by_features(
        self, partition: str, hosts: Sequence[str]
    ) -> dict[tuple[str, ...], list[str]]:
        """Hosts by their features; together where some have the features of others and more."""
        grouped: dict[tuple[str, ...], list[str]] = {}
        for host in hosts:
            fields = self._slurm.nodes.get(host, {})
            told = fields.get("Feature") or fields.get("Features") or ""
            features = tuple(sorted(each for each in told.split(",") if each and "=" not in each))
            grouped.setdefault(features, []).append(host)
        if all(
            not set(one) <= set(other) and not set(other) <= set(one)
            for one, other in combinations(grouped, 2)
        ):
            return grouped
        said = ", ".join(sorted({each for features in grouped for each in features}))
        self.notes.append(
            f"partition {partition}: features {said} are labels of nodes; choose by nodeSelector"
        )
        return {(): list(hosts)}

    def _capacity(self, hosts: Sequence[str], fields: Mapping[str, str]) -> Amounts:
        if not all(host in self._slurm.nodes for host in hosts) or not hosts:
            return amounts_of(fields.get("TRES", f"cpu={fields.get('TotalCPUs', 0)}"))[0]
        total: Counter[str] = Counter()
        for host in hosts:
            node = self._slurm.nodes[host]
            total["cpu"] += cpus_of(node)
            total["memory"] += int(node.get("RealMemory", 0)) - int(node.get("MemSpecLimit", 0))
            for gres, _, count in gres_of(node.get("Gres", "")):
                total[resource_of(gres)] += count
        return dict(total)

    def _account(self, account: Association) -> Iterator[Object]:
        name = account.name
        self._note_association(f"account {name}", account)
        parent = ROOT if account.parent == "root" else f"account-{_named(account.parent)}"
        weight = self._weight(f"account {name}", account)
        limits = self._limits(f"account {name}", account)
        if name in self._parents:
            spec = {"parentName": parent, **weight}
            if limits:
                spec["resourceGroups"] = _groups(self._nothing(), limits)
            parent = f"account-{_named(name)}"
            yield _object("Cohort", parent, spec)
            weight, limits = {}, {}
        if name not in self._parents or name in self._with_users:
            groups = _groups(self._nothing(self._partitions_of(name)), limits)
            spec = {
                "cohortName": parent,
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": _named(name)}},
                "queueingStrategy": "BestEffortFIFO",
                "resourceGroups": groups,
                **weight,
            }
            yield _object("ClusterQueue", _named(name), spec)
            yield _object("LocalQueue", "default", {"clusterQueue": _named(name)}, _named(name))

    def _user(self, user: Association) -> Iterator[Object]:
        """A LocalQueue for a user with a share of its own; others use that of the account."""
        place = f"user {user.name} of account {user.parent}"
        self._note_association(place, user)
        if tres := user.options.get("GrpTRES"):
            self.notes.append(f"{place}: GrpTRES={tres} has no equal; quota is of accounts")
        weight = self._weight(place, user)
        if user.parent in self._slurm.accounts and user.parent != "root" and weight:
            spec = {"clusterQueue": _named(user.parent), **weight}
            yield _object("LocalQueue", _named(user.name), spec, _named(user.parent))

    def _weight(self, place: str, each: Association) -> Object:
        told = each.options.get("Fairshare") or each.options.get("FairShare") or "1"
        if told.isdecimal():
            return {"fairSharing": {"weight": told}} if told != "1" else {}
        self.notes.append(f"{place}: Fairshare={told} has no equal; the weight is 1")
        return {}

    def _limits(self, place: str, account: Association) -> Amounts:
        limits, left = amounts_of(account.options.get("GrpTRES", ""))
        self.notes += [f"{place}: GrpTRES {each} has no equal" for each in left]
        unknown = sorted(
            set(limits) - {r for _, amounts in self._flavors.values() for r in amounts}
        )
        self.notes += [f"{place}: GrpTRES names {each}, which no partition has" for each in unknown]
        if limits and len(self._flavors) > 1:
            number = counted(len(self._flavors), "flavor")
            self.notes.append(f"{place}: GrpTRES limits each of {number}, and not their sum")
        return limits

    def _partitions_of(self, account: str) -> set[str]:
        """The partitions that an account or one above it may use."""
        line = [account]
        while (known := self._slurm.accounts.get(line[-1])) and known.parent not in line:
            line.append(known.parent)
        allowed = set()
        for name, fields in self._slurm.partitions.items():
            named = fields.get("AllowAccounts", "ALL")
            denied = fields.get("DenyAccounts", "").split(",")
            if (named == "ALL" or {*named.split(",")} & {*line}) and not {*denied} & {*line}:
                allowed.add(name)
        return allowed

    def _nothing(self, partitions: set[str] | None = None) -> dict[str, Amounts]:
        """A nominal quota of 0 in the flavors of the partitions: all is borrowed of the cohort."""
        labels = None if partitions is None else {_named(each) for each in partitions}
        return {
            name: dict.fromkeys(amounts, 0)
            for name, (wanted, amounts) in self._flavors.items()
            if labels is None or wanted[EXECUTOR_LABEL] in labels
        }

    def _note_association(self, place: str, each: Association) -> None:
        left = {
            key: value
            for key, value in each.options.items()
            if key not in READ_OF_ASSOCIATION | DESCRIPTIVE and value.upper() not in UNSET
        }
        self._note(place, left)

    def _note(self, place: str, fields: Mapping[str, str]) -> None:
        for key, value in fields.items():
            self.notes.append(f"{place}: {key}={value}: {WITHOUT_EQUAL.get(key, 'no equal')}")

    def _note_settings(self) -> None:
        others = 0
        for key, value in self._slurm.settings.items():
            if key in EQUALS or key.startswith(("PriorityWeight", "PriorityFlags")):
                if value.upper() not in UNSET:
                    said = EQUALS.get(key, "priority is a class; fairness acts between queues")
                    self.notes.append(f"slurm.conf: {key}={value}: {said}")
            else:
                others += 1
        if others:
            self.notes.append(
                f"slurm.conf: {counted(others, 'setting')} of daemons: not about queues"
            )


def _named(name: str) -> str:
    """The name as objects may have it: Slurm's may hold capitals and underscores."""
    return re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-") or "x"


def _object(kind: str, name: str, spec: Object, namespace: str = "") -> Object:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name, **place}, "spec": spec}


def _groups(quotas: Mapping[str, Amounts], limits: Mapping[str, int] | None = None) -> list[Object]:
    """One group of resources with the quota of every flavor; a flavor without a resource has 0."""
    covered = list(dict.fromkeys(chain.from_iterable(quotas.values())))
    flavors = [
        {
            "name": flavor,
            "resources": [_quota(each, amounts.get(each, 0), limits) for each in covered],
        }
        for flavor, amounts in quotas.items()
    ]
    return [{"coveredResources": covered, "flavors": flavors}] if covered else []


def _quota(resource: str, amount: int, limits: Mapping[str, int] | None) -> Object:
    limit = (limits or {}).get(resource)
    told = {"name": resource, "nominalQuota": _quantity(resource, amount)}
    return told if limit is None else {**told, "borrowingLimit": _quantity(resource, limit)}


def _quantity(resource: str, amount: int) -> str:
    return f"{amount}Mi" if resource == "memory" else str(amount)


Files = Annotated[
    list[Path],
    argument(
        "FILE", "sacctmgr dump, scontrol show partition, slurm.conf: any of them, in any order"
    ),
]
Applied = Annotated[bool, typer.Option("--apply", help="Apply the objects; else they are written")]


def import_slurm(
    ctx: typer.Context,
    *,
    files: Files,
    apply: Applied = False,
    dry_run: DryRun = False,
    reason: Reason = "taken over from Slurm",
) -> None:
    """Translate accounts, partitions and limits of Slurm into queues.

    Writes manifests, and says on stderr what has no equal.
    """
    missing = next((path for path in files if not path.is_file()), None)
    if missing is not None:
        raise CommandFailed(f"file not found: {missing}", code=ExitCode.USAGE)
    translation = Translation(read_slurm(path.read_text() for path in files))
    objects = list(translation.manifests())
    code = ExitCode.OK
    if apply or dry_run:
        documents = b"\n---\n".join(msgspec.json.encode(each) for each in objects)
        with client_of(ctx) as client:
            batch = client.apply(documents, dry_run=dry_run, reason=reason)
            tell_results(batch, dry_run=dry_run)
        code = code_of_results(batch)
    else:
        for each in objects:
            show(f"---\n{as_yaml(each).rstrip()}")
    for note in translation.notes:
        say(f"Not taken over: {note}")
    if code is not ExitCode.OK:
        raise typer.Exit(code)
