"""Many objects of any kind in one request."""
