"""Headgate: every workload is admitted, or has a reason why not."""
