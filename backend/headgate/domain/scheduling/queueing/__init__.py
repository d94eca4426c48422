"""The pending workloads that may compete in a ClusterQueue, and the recent usage of LocalQueues."""
