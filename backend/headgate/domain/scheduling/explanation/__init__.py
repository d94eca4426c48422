"""Why a workload is pending, and what would admit it, from the results of its evaluation."""
