"""What needs attention now."""
