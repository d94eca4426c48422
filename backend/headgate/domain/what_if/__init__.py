"""What would be decided next if nobody outside did anything: real cycles on assumed facts."""
