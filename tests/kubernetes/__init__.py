"""A double of the Kubernetes API server, and tests of the executor that runs pods there."""
