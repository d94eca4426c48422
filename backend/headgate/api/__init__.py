"""The HTTP API: handlers parse a request, call a use case and render the answer."""
