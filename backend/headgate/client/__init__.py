"""A typed client of Headgate's REST API and event stream, for whoever lives outside the server."""
