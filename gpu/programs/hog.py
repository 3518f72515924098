"""Keeps the CPU of --cpu busy until its standard input is closed."""

import argparse
import json
import os
import sys
import threading

a = argparse.ArgumentParser()
a.add_argument("--cpu", type=int, required=True)
a = a.parse_args()
os.sched_setaffinity(0, {a.cpu})
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
print(json.dumps({"what": "hog", "pid": os.getpid()}), flush=True)
while True:
    pass
