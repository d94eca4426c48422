"""Where workloads wait and what they may use: ClusterQueues, LocalQueues and Cohorts."""
