"""R50 (kaeawc/auto-mobile#2787, dkolmakov/hm#45): metrics go to an SQLite database one by one. Each is a transaction
of its own, and with synchronous=FULL the database does not return from it before the disk has it.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"; HOLLOW=kernel.default=150us python3
  R50_run_tracker.py
  A step's metrics are written to a database in /var/tmp/cases, which is on a disk. Until the onset it is open with
  synchronous=OFF (the system writes when it likes), from the onset on with FULL. How many metrics a step has is
  chosen at the start by how fast the disk is, so that they take a third of a step with FULL: several in a step, or
  one in several steps.
Truth: the main thread waits for the disk in each log_metric: SQLite's commit calls fdatasync (fsync); a few bytes
  each. The number of metrics and of writes is as before. Remedy: synchronous=NORMAL, or one transaction for many
  metrics.
  Wrong: the disk is full or slow for its kind; much data; a lock of the database (there is one connection); the GPU.
"""
from trainer import *

import shutil
import sqlite3
import tempfile

SHARE, STEP = 0.35, 0.008  # what the metrics are to take of a step, and about how long one is


class Tracker:
    """The metrics of a run."""

    def __init__(self):
        os.makedirs("/var/tmp/cases", exist_ok=True)
        self.folder = tempfile.mkdtemp(prefix="r50-runs-", dir="/var/tmp/cases")
        self.db = sqlite3.connect(os.path.join(self.folder, "runs.db"), isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("CREATE TABLE metrics (step INTEGER, key TEXT, value REAL)")
        self.synchronous("OFF")

    def synchronous(self, mode):
        self.db.execute("PRAGMA synchronous=" + mode)

    def log_metric(self, step, key, value):
        self.db.execute("INSERT INTO metrics VALUES (?, ?, ?)", (step, key, value))

    def commit_seconds(self):
        """How long a commit to the disk takes: the median of some."""
        took = []
        self.synchronous("FULL")
        for n in range(12):
            begin = time.monotonic()
            self.log_metric(-1, "start", n)
            took.append(time.monotonic() - begin)
        self.synchronous("OFF")
        return sorted(took)[len(took) // 2]

    def close(self):
        self.db.close()
        shutil.rmtree(self.folder)


def main():
    tracker = Tracker()
    commit = tracker.commit_seconds()
    wanted = SHARE * STEP / commit  # metrics in a step
    metrics, every = min(30, max(1, round(wanted))), max(1, round(1 / wanted))
    t = Trainer()

    def step(n, faulty):
        loss = t.step()
        if n % every == 0:
            for k in range(metrics):
                tracker.log_metric(n, f"train/{k}", loss)

    drive(step, lambda: tracker.synchronous("FULL"))
    tell(what="tracker", commit_ms=round(commit * 1e3, 3), metrics=metrics, every=every)
    tracker.close()


main()
