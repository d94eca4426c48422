"""What people and programs ask about: answers computed from the warm state and the read models."""
