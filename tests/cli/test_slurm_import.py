"""What Slurm says of accounts, partitions and nodes becomes queues, or is named."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from headgate.cli.commands.slurm_import import Translation
from headgate.cli.slurm_files import amounts_of, hosts_of, read_slurm
from tests.cli.invocation import Invoker

DUMP = """\
# To edit this file start with a cluster line for the new cluster
# Cluster - 'cluster_name':MaxNodesPerJob=50
# Any of the options after a ':' can be left out and they can be in any order.
Cluster - 'alps':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'science':Description='all of science':Organization='lab':Fairshare=30:GrpTRES=gres/gpu=12
Account - 'guests':Description='guests':Fairshare=1:GrpTRES=cpu=16,node=2:GrpJobs=4
Parent - 'science'
Account - 'physics':Description='physics':Organization='lab':Fairshare=20:GrpTRES='cpu=64,mem=256G'
Account - 'Life_Sciences':Description='life':Organization='lab':Fairshare=parent
Parent - 'physics'
User - 'ana':DefaultAccount='physics':Fairshare=5:MaxTRESPerJob=cpu=16:MaxWallDurationPerJob=1440
User - 'bo':DefaultAccount='physics':Fairshare=1:QOS='normal,high'
Parent - 'science'
User - 'head':DefaultAccount='science':Fairshare=1
Parent - 'guests'
User - 'eve':DefaultAccount='guests':Fairshare=1
"""
PARTITIONS = """\
PartitionName=cpu
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default=YES QoS=N/A
   DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO
   MaxNodes=UNLIMITED MaxTime=2-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=cpu-[01-02]
   PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO
   OverTimeLimit=NONE PreemptMode=OFF
   State=UP TotalCPUs=64 TotalNodes=2 SelectTypeParameters=NONE
   JobDefaults=(null)
   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED
   TRES=cpu=64,mem=256G,node=2,billing=64

PartitionName=gpu
   AllowGroups=ALL AllowAccounts=science AllowQos=ALL
   AllocNodes=ALL Default=NO QoS=N/A
   DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO
   MaxNodes=4 MaxTime=UNLIMITED MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=gpu-[1-3]
   PriorityJobFactor=1 PriorityTier=10 RootOnly=NO ReqResv=NO OverSubscribe=NO
   OverTimeLimit=NONE PreemptMode=OFF
   State=UP TotalCPUs=96 TotalNodes=3 SelectTypeParameters=NONE
   JobDefaults=(null)
   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED
   TRES=cpu=96,mem=768G,node=3,billing=96,gres/gpu=20,gres/gpu:a100=16,gres/gpu:h100=4
"""
CONFIGURATION = """\
# slurm.conf of the cluster
ClusterName=alps
SlurmctldHost=login(10.0.0.1)
SlurmctldPort=6817
SelectType=select/cons_tres   # counts devices
SchedulerType=sched/backfill
PriorityType=priority/multifactor
PriorityDecayHalfLife=7-0
PriorityWeightFairshare=10000
PreemptType=preempt/none
GresTypes=gpu
NodeName=cpu-[01-02] CPUs=32 RealMemory=131072
NodeName=gpu-[1-2] Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=262144 \\
    Feature=a100 Gres=gpu:a100:8(S:0-1)
NodeName=gpu-3 CPUs=32 RealMemory=262144 Feature=h100 Gres=gpu:h100:4
PartitionName=cpu Nodes=cpu-[01-02] Default=YES MaxTime=2-00:00:00 State=UP
PartitionName=gpu Nodes=gpu-[1-3] AllowAccounts=science MaxNodes=4 PriorityTier=10 State=UP
"""
WHOLE = (DUMP, PARTITIONS, CONFIGURATION)


def translated(*texts: str) -> tuple[dict[str, Any], list[str]]:
    """Specs by kind and name, and what has no equal."""
    translation = Translation(read_slurm(texts))
    found = {
        "/".join((one["kind"], *one["metadata"].values())): one["spec"]
        for one in translation.manifests()
    }
    return found, translation.notes


def quotas(spec: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Nominal quota by flavor and resource, with the borrowing limit after a slash."""
    return {
        (flavor["name"], each["name"]): "/".join(
            each[name] for name in ("nominalQuota", "borrowingLimit") if name in each
        )
        for group in spec.get("resourceGroups", ())
        for flavor in group["flavors"]
        for each in flavor["resources"]
    }


@pytest.mark.parametrize(
    ("expression", "hosts"),
    [
        ("login", ["login"]),
        ("gpu-[1-3]", ["gpu-1", "gpu-2", "gpu-3"]),
        ("a[08-10,12],b7", ["a08", "a09", "a10", "a12", "b7"]),
        ("rack[1-2]-node", ["rack1-node", "rack2-node"]),
    ],
)
def test_host_lists_are_expanded(expression: str, hosts: list[str]) -> None:
    assert hosts_of(expression) == hosts


def test_amounts_are_read_in_units_and_models_are_counted_once() -> None:
    tres = "cpu=8,mem=2G,gres/gpu=4,gres/gpu:a100=3,gres/gpu:h100=1,billing=9,license/x=2"
    assert amounts_of(tres) == (
        {"cpu": 8, "memory": 2048, "nvidia.com/gpu": 4},
        ["license/x=2"],
    )
    assert amounts_of("gres/gpu:a100=3")[0] == {"nvidia.com/gpu": 3}


def test_partitions_become_flavors_by_the_features_of_their_nodes() -> None:
    found, _ = translated(*WHOLE)
    labels = {name: spec["nodeLabels"] for name, spec in found.items() if "nodeLabels" in spec}
    assert labels == {
        "ResourceFlavor/cpu": {"headgate.dev/executor": "cpu"},
        "ResourceFlavor/gpu-a100": {
            "headgate.dev/executor": "gpu",
            "feature.slurm.headgate.dev/a100": "true",
        },
        "ResourceFlavor/gpu-h100": {
            "headgate.dev/executor": "gpu",
            "feature.slurm.headgate.dev/h100": "true",
        },
    }
    assert quotas(found["Cohort/slurm"]) == {
        ("cpu", "cpu"): "64",
        ("cpu", "memory"): "262144Mi",
        ("cpu", "nvidia.com/gpu"): "0",
        ("gpu-a100", "cpu"): "64",
        ("gpu-a100", "memory"): "524288Mi",
        ("gpu-a100", "nvidia.com/gpu"): "16",
        ("gpu-h100", "cpu"): "32",
        ("gpu-h100", "memory"): "262144Mi",
        ("gpu-h100", "nvidia.com/gpu"): "4",
    }


def test_without_slurm_conf_the_capacity_is_what_scontrol_says() -> None:
    found, _ = translated(PARTITIONS)
    assert quotas(found["Cohort/slurm"]) == {
        ("cpu", "cpu"): "64",
        ("cpu", "memory"): "262144Mi",
        ("cpu", "nvidia.com/gpu"): "0",
        ("gpu", "cpu"): "96",
        ("gpu", "memory"): "786432Mi",
        ("gpu", "nvidia.com/gpu"): "20",
    }


def test_accounts_become_cohorts_and_queues_with_weights_and_limits() -> None:
    found, _ = translated(*WHOLE)
    science, physics = found["Cohort/account-science"], found["ClusterQueue/physics"]
    assert science["parentName"] == "slurm"
    assert science["fairSharing"] == {"weight": "30"}
    assert quotas(science)["gpu-a100", "nvidia.com/gpu"] == "0/12"
    assert quotas(science)["gpu-a100", "cpu"] == "0"
    assert (physics["cohortName"], physics["fairSharing"]) == ("account-science", {"weight": "20"})
    assert quotas(physics)["cpu", "cpu"] == "0/64"
    assert quotas(physics)["cpu", "memory"] == "0Mi/262144Mi"
    assert found["ClusterQueue/science"]["cohortName"] == "account-science"
    assert found["ClusterQueue/life-sciences"]["cohortName"] == "account-science"
    assert found["LocalQueue/default/physics"] == {"clusterQueue": "physics"}
    assert found["LocalQueue/ana/physics"]["fairSharing"] == {"weight": "5"}
    assert "LocalQueue/bo/physics" not in found
    # A partition of other accounts is none of theirs.
    assert {flavor for flavor, _ in quotas(found["ClusterQueue/guests"])} == {"cpu"}


def test_everything_else_is_named_with_its_place() -> None:
    _, notes = translated(*WHOLE)
    text = "\n".join(notes)
    for said in (
        "account guests: GrpTRES node=2 has no equal",
        "account guests: GrpJobs=4: no equal",
        "account Life_Sciences: Fairshare=parent has no equal",
        "account physics: GrpTRES limits each of 3 flavors, and not their sum",
        "user ana of account physics: MaxTRESPerJob=cpu=16: no equal",
        "user ana of account physics: MaxWallDurationPerJob=1440: set maximumExecutionTimeSeconds",
        "user bo of account physics: QOS=normal,high: write a WorkloadPriorityClass",
        "partition cpu: MaxTime=2-00:00:00: set maximumExecutionTimeSeconds",
        "partition gpu: MaxNodes=4: no equal",
        "partition gpu: PriorityTier=10: write a WorkloadPriorityClass",
        "slurm.conf: PriorityDecayHalfLife=7-0: set admissionFairSharing.usageHalfLifeTime",
        "slurm.conf: SchedulerType=sched/backfill: there is no backfill",
        "slurm.conf: 5 settings of daemons",
    ):
        assert said in text, text
    assert len(notes) == len(set(notes))


def test_nodes_of_two_partitions_are_named() -> None:
    both = "PartitionName=a Nodes=n1\nPartitionName=b Nodes=n[1-2]\nNodeName=n[1-2] CPUs=4\n"
    _, notes = translated(both)
    assert notes == ["node n1 is in 2 partitions: the quota of each counts it"]


def test_features_of_which_some_nodes_have_more_stay_labels() -> None:
    conf = (
        "NodeName=n1 CPUs=4 Feature=fast\nNodeName=n2 CPUs=4 Feature=fast,large\n"
        "PartitionName=all Nodes=ALL\n"
    )
    found, notes = translated(conf)
    assert quotas(found["Cohort/slurm"]) == {("all", "cpu"): "8", ("all", "memory"): "0Mi"}
    assert notes == [
        "partition all: features fast, large are labels of nodes; choose by nodeSelector"
    ]


def test_what_is_translated_is_accepted_as_it_is_written(headgate: Invoker) -> None:
    names = ["dump", "partitions", "slurm.conf"]
    for name, text in zip(names, WHOLE, strict=True):
        Path(name).write_text(text)
    written = headgate("import", "slurm", *names)
    objects = list(yaml.safe_load_all(written.stdout))
    assert "Not taken over: account guests: GrpJobs=4: no equal" in written.stderr
    Path("queues.yaml").write_text(written.stdout)
    applied = headgate("apply", "-f", "queues.yaml").stdout.splitlines()
    assert len(applied) == len(objects)
    assert {line.rpartition(" ")[2] for line in applied} == {"created"}
    again = headgate("import", "slurm", *names, "--apply").stdout.splitlines()
    assert {line.rpartition(" ")[2] for line in again} == {"unchanged"}
    refused = headgate("import", "slurm", "dump", "nowhere", code=2)
    assert "file not found: nowhere" in refused.stderr
