"""Keeps the CPU of --cpu busy until its standard input is closed."""

import argparse
import os
import sys
import threading

from tell import tell

a = argparse.ArgumentParser()
a.add_argument("--cpu", type=int, required=True)
a = a.parse_args()
os.sched_setaffinity(0, {a.cpu})
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
tell("hog", pid=os.getpid())
while True:
    pass
