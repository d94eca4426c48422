"""Who changed which configuration when, what differs, and going back."""
