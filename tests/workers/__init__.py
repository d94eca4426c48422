"""What workers promise, on memory and on real servers, with one process and with several."""
