"""A typed client of Headgate's REST API and event stream, for programs outside the server."""
