"""Capabilities: the fields of pod templates that executors honour, by name.

What a pod needs (`required_capabilities`) and what an executor declares when it claims its name
are of this vocabulary, so that the server and the executors ask one function what a pod needs.
"""

from typing import Any, TypeAlias

AnyTemplate: TypeAlias = dict[str, Any]

JOB = "headgate.dev/job"
"""The annotation of a pod template of which a Job of Kubernetes creates the pods.

Its value begins with the name of the executor that follows this Job.
"""

NEED_OF_JOB = "job."
"""What begins the need of such a pod, before the name of the executor."""

UPLOAD = "headgate.dev/upload"
"""The annotation of a pod template that names the upload in which its pods begin, by digest."""

AGENT_CAPABILITIES = frozenset(
    {
        "activeDeadlineSeconds",
        "args",
        "command",
        "env",
        "env.fieldRef",
        "env.secretKeyRef",
        "terminationGracePeriodSeconds",
        "volumes.emptyDir",
        "volumes.hostPath",
        "workingDir",
    }
)
"""What an agent honours of a template; a pod that needs more is refused at its start."""

SLURM_CAPABILITIES = AGENT_CAPABILITIES - {"volumes.emptyDir", "volumes.hostPath"}
"""What the Slurm executor honours: nodes have the file systems that their cluster mounts."""

KUBERNETES_CAPABILITIES = frozenset(
    {
        "activeDeadlineSeconds",
        "args",
        "automountServiceAccountToken",
        "command",
        "containers.several",
        "dnsConfig",
        "env",
        "env.configMapKeyRef",
        "env.fieldRef",
        "env.fileKeyRef",
        "env.resourceFieldRef",
        "env.secretKeyRef",
        "envFrom",
        "hostAliases",
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostUsers",
        "hostname",
        "hostnameOverride",
        "image",
        "imagePullSecrets",
        "initContainers",
        "lifecycle",
        "livenessProbe",
        "os",
        "readinessGates",
        "readinessProbe",
        "resizePolicy",
        "resourceClaims",
        "restartPolicyRules",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "startupProbe",
        "stdin",
        "stdinOnce",
        "subdomain",
        "terminationGracePeriodSeconds",
        "topologySpreadConstraints",
        "tty",
        "volumeDevices",
        "volumeMounts.bindMountOptions",
        "volumeMounts.mountPropagation",
        "volumeMounts.recursiveReadOnly",
        "volumeMounts.subPathExpr",
        "volumes.awsElasticBlockStore",
        "volumes.azureDisk",
        "volumes.azureFile",
        "volumes.cephfs",
        "volumes.cinder",
        "volumes.configMap",
        "volumes.csi",
        "volumes.downwardAPI",
        "volumes.emptyDir",
        "volumes.emptyDir.mode",
        "volumes.ephemeral",
        "volumes.fc",
        "volumes.flexVolume",
        "volumes.flocker",
        "volumes.gcePersistentDisk",
        "volumes.glusterfs",
        "volumes.hostPath",
        "volumes.image",
        "volumes.iscsi",
        "volumes.nfs",
        "volumes.persistentVolumeClaim",
        "volumes.photonPersistentDisk",
        "volumes.portworxVolume",
        "volumes.projected",
        "volumes.quobyte",
        "volumes.rbd",
        "volumes.scaleIO",
        "volumes.secret",
        "volumes.storageos",
        "volumes.vsphereVolume",
        "workingDir",
    }
)
"""What the Kubernetes executor honours: whole templates, but for node and explicit priority."""

RAY_CAPABILITIES = SLURM_CAPABILITIES
"""What the Ray executor honours; what an image or a volume gives comes with the Ray cluster."""

CONTROLLER = "controller."
"""Before the kind of a job that only its own controller runs, as the one capability needed."""

POD_FIELDS_FREE = frozenset(
    {
        "affinity",
        "containers",
        "dnsPolicy",
        "enableServiceLinks",
        "initContainers",
        "nodeSelector",
        "overhead",
        "preemptionPolicy",
        "priorityClassName",
        "resources",
        "restartPolicy",
        "runtimeClassName",
        "schedulerName",
        "schedulingGates",
        "tolerations",
        "volumes",
    }
)
"""Fields of a pod that the server honours, or that Kubernetes adds to every pod."""
CONTAINER_FIELDS_FREE = frozenset(
    {
        "imagePullPolicy",
        "name",
        "ports",
        "resources",
        "restartPolicy",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "volumeMounts",
    }
)


MOUNT_FIELDS = {
    "bindMountOptions": None,
    "mountPropagation": "None",
    "recursiveReadOnly": "Disabled",
    "subPathExpr": None,
}
"""Fields of a volume mount that an executor must honour, with the value that asks for nothing."""


def required_capabilities(template: AnyTemplate) -> tuple[str, ...]:
    """What an executor must honour to run pods of a whole template as written, sorted.

    Names are those of the fields that change what runs (`args`, `image`, `workingDir`), with
    `env.secretKeyRef`, `env.fieldRef` and others by `valueFrom`, `volumes.<type>` by type, and
    `volumeMounts.<field>` by `MOUNT_FIELDS`. `imagePullPolicy` is part of `image`.
    Fields that rules read or the server honours, and that describe a pod alone, need nothing.
    Fields that no executor honours are kept and named all the same. A pod that begins in an upload
    needs `upload`, and one of a Job of Kubernetes `job.` with the name of its executor.
    """
    pod = template.get("spec")
    found = {"upload"} if upload_of(template) else set()
    if job := _annotation(template, JOB):
        found.add(NEED_OF_JOB + job.partition("/")[0])
    if not isinstance(pod, dict):
        return tuple(found)
    found |= {name for name, value in pod.items() if name not in POD_FIELDS_FREE and value}
    for volume in mappings(pod.get("volumes")):
        found |= {f"volumes.{kind}" for kind in volume if kind != "name"}
        empty = volume.get("emptyDir")
        if isinstance(empty, dict) and empty.get("mode") is not None:
            found.add("volumes.emptyDir.mode")
    containers = mappings(pod.get("containers"))
    for container in (*mappings(pod.get("initContainers")), *containers):
        for mount in mappings(container.get("volumeMounts")):
            found |= {
                f"volumeMounts.{name}"
                for name, usual in MOUNT_FIELDS.items()
                if mount.get(name) not in (None, "", [], usual)
            }
        found |= {n for n, value in container.items() if n not in CONTAINER_FIELDS_FREE and value}
        for variable in mappings(container.get("env")):
            source = variable.get("valueFrom")
            found |= {f"env.{kind}" for kind in source} if isinstance(source, dict) else set()
    if pod.get("initContainers"):
        found.add("initContainers")
    if len(containers) > 1:
        found.add("containers.several")
    return tuple(sorted(found))


def upload_of(template: AnyTemplate) -> str:
    """The digest of the upload that a template names; empty without one."""
    return _annotation(template, UPLOAD)


def lacking_capabilities(template: AnyTemplate, honoured: frozenset[str]) -> tuple[str, ...]:
    """What a template needs beyond what is honoured, sorted."""
    return tuple(name for name in required_capabilities(template) if name not in honoured)


def _annotation(template: AnyTemplate, name: str) -> str:
    metadata = template.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return str(annotations.get(name) or "") if isinstance(annotations, dict) else ""


def mappings(values: Any) -> list[AnyTemplate]:  # noqa: ANN401 - what was written
    """The mappings among what was written as a list."""
    return [each for each in values or () if isinstance(each, dict)]
