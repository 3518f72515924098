"""What a label costs the program and the tracer: python3 python/bench.py bin/ingero (as root).

Prints nanoseconds a label for the program, without a tracer and with one, at full speed and at 1,000 a
second; and what 1,000 labels a second cost the tracer, in percent of a core, beside the same without. A label
is a step's number; the epoch's is set with it, and does not change.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ingero

SECONDS = 10


def cpu(pid):
    """Seconds of CPU time that a process has used."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def full_speed(n):
    """Nanoseconds a label, one after the other: the median of parts of 100."""
    times = []
    for part in range(n // 100):
        began = time.perf_counter_ns()
        for i in range(100):
            ingero.set(step=i, epoch=part)
        times.append((time.perf_counter_ns() - began) / 100)
    return sorted(times)[len(times) // 2]


def paced(seconds):
    """Nanoseconds of a label at 1,000 a second: median, 99th percentile and mean of thread CPU time."""
    times, used, begin = [], 0, time.perf_counter()
    for n in range(int(seconds * 1000)):
        wait = begin + n / 1000 - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        busy, began = time.thread_time_ns(), time.perf_counter_ns()
        ingero.set(step=n, epoch=3)
        times.append(time.perf_counter_ns() - began)
        used += time.thread_time_ns() - busy
    times.sort()
    return times[len(times) // 2], times[len(times) * 99 // 100], used / len(times)


def main():
    print(f"without a tracer   {full_speed(100_000):8.0f} ns a label")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INGERO_ANNOTATE"] = path = os.path.join(folder, "a.sock")
        db = os.path.join(folder, "x.db")
        tracer = subprocess.Popen(
            [sys.argv[1], "trace", f"--annotate={path}", "--out", db], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not os.path.exists(path):
                time.sleep(0.05)
            time.sleep(3)
            before = cpu(tracer.pid)
            time.sleep(SECONDS)
            idle = (cpu(tracer.pid) - before) / SECONDS
            ingero.close()
            print(f"with one           {full_speed(200):8.0f} ns a label, full speed")
            time.sleep(2)
            before = cpu(tracer.pid)
            p50, p99, used = paced(SECONDS)
            busy = (cpu(tracer.pid) - before) / SECONDS
            print(f"at 1,000 a second  {p50:8.0f} ns a label, p99 {p99:.0f} ns, {used:.0f} ns of CPU")
            print(f"tracer             {100 * busy:8.2f} % of a core; without labels {100 * idle:.2f} %: "
                  f"{100 * (busy - idle):.2f} % for 1,000 steps a second")
            print(f"sent and dropped   {ingero.stats()}")
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait()
        rows = subprocess.run([sys.argv[1], "query", db, "--format", "csv", "select count(*) from labels"],
                              capture_output=True, text=True).stdout.split()
        print(f"in the recording   {rows[-1]} labels")


main()
