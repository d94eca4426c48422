"""Where things run: Topologies, the ResourceFlavors that name them, and Nodes."""
