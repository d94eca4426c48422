"""How the installation itself is doing."""
