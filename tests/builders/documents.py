"""Manifests as the text that users apply."""

import json


def queue_documents(queue: str, *, local: str, namespace: str, cpu: int, **spec: object) -> str:
    """Returns a namespace, a flavor, a ClusterQueue with a number of CPUs, and its LocalQueue.

    The flavor is `plain`; `spec` are further fields of the ClusterQueue.
    """
    more = "".join(f"\n  {field}: {json.dumps(value)}" for field, value in spec.items())
    return f"""
apiVersion: v1
kind: Namespace
metadata: {{name: {namespace}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: plain}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {queue}}}
spec:
  namespaceSelector: {{}}{more}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {{name: plain, resources: [{{name: cpu, nominalQuota: {cpu}}}]}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: {local}, namespace: {namespace}}}
spec: {{clusterQueue: {queue}}}
"""
