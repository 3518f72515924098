"""What the programs of the step frameworks share. Each does the same work again and again, as a
healthy program does. It prints JSON lines: missing (the framework cannot be imported), or measured
with the time of the steady part (Unix s), which has neither the start nor what follows."""

import os
import sys
import time

from tell import tell

WARM_UP, MEASURED = 1.5, 4.5  # s


def need(module):
    """Imports a module; ends the program if that fails, and says why."""
    try:
        return __import__(module)
    except Exception as e:  # it is not there, or a library that it needs is not
        tell(what="missing", why=f"{type(e).__name__}: {e}".splitlines()[0])
        sys.exit(0)


def run(step):
    """Calls step with a number until the time has passed, and waits for the end of standard input."""
    n, began = 0, time.time()
    while n < 3 or time.time() < began + WARM_UP:
        step(n)
        n += 1
    first, begin = n, time.time()
    while time.time() < begin + MEASURED:
        step(n)
        n += 1
    tell(what="measured", pid=os.getpid(), begin=begin, end=time.time(), steps=n - first)
    sys.stdin.read()
