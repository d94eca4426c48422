"""`python -m headgate.api` writes the OpenAPI document to standard output."""

import json
import sys

from headgate.api.app import routes_only
from headgate.api.openapi import document

if __name__ == "__main__":
    sys.stdout.write(json.dumps(document(routes_only()), indent=2) + "\n")
