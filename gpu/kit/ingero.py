"""The tracer under test."""

import json
import os
import shutil

from . import process
from .result import NotDone

WITHIN = 20  # time limit of an answer about a recording, s


def find(path, beside):
    """Path of the binary: as given, else beside gpu/run, else on the PATH."""
    for candidate in [path] if path else [os.path.join(beside, "ingero"), shutil.which("ingero")]:
        if candidate and os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            return os.path.abspath(candidate)
    raise NotDone((path or "ingero") + " not found; give its path with --ingero PATH")


class Ingero:
    def __init__(self, path):
        self.path = path
        self.version = process.last_line(process.run([path, "version"], WITHIN).stdout)
        usage = process.run([path, "trace", "--help"], WITHIN).stdout
        # While tracing, the tracer may remove the probes of driver launches within the runtime's.
        # Not here: these launches are tested.
        self.every_launch = ["--inner-calls"] if "--inner-calls" in usage else []

    def json(self, *args, codes=(0,)):
        done = process.run([self.path, *args], WITHIN)
        if done.returncode not in codes:
            raise NotDone(f"ingero {args[0]}: " + process.last_line(done.stderr))
        return json.loads(done.stdout)

    def check(self):
        return self.json("check", "--json", codes=(0, 1))

    def coverage(self):
        return self.json("check", "--coverage", "--json", codes=(0, 1))

    def query(self, db, sql):
        """Rows as objects."""
        return self.json("query", db, "--format", "json", "--limit", "0", " ".join(sql.split()))

    def explain(self, db, begin=None, end=None):
        """The report of all of a recording, or of a time of it, Unix s."""
        when = ["--since", "all"] if begin is None else ["--from", str(begin), "--to", str(end)]
        return self.json("explain", db, *when, "--json")

    def trace(self, db, log, what, stack="slow", more=(), **popen):
        """Starts a recording of what: a command (a list) or a pid."""
        args = [self.path, "trace", "--json", "--stack", stack, "--out", db, *more]
        args += ["--pid", str(what)] if isinstance(what, int) else ["--", *what]
        return process.Talk(args, log, **popen)

    def losses(self, db):
        return {r["kind"]: r["n"] for r in self.query(db, "select kind, sum(count) as n from losses group by 1")}
