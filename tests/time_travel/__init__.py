"""What is read of the past is what was true then."""
