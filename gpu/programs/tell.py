"""What a program reports: a JSON line with a field "what"."""

import json
import sys


def tell(what, **fields):
    # One write, also where Python does not buffer its output (PYTHONUNBUFFERED): others write to the
    # same pipe, and their lines could come between the two writes of print.
    sys.stdout.write(json.dumps({"what": what, **fields}) + "\n")
    sys.stdout.flush()
