"""One stream per workload: a gang of pods from submission to its end."""
