"""The web page in a real browser on a real installation: what people see and do."""
