"""On which hosts the pods lie."""
