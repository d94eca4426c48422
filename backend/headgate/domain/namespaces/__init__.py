"""Namespaces: the labels that ClusterQueues select submitters by."""
