"""What a label costs the program and the tracer: python3 python/bench.py bin/ingero (as root).

A label is a step's number; the epoch's is set with it, and does not change. Prints nanoseconds a step for the
program, without a tracer and with one: one step after the other; at 1,000 a second in a program that computes in
between; and the same in one that sleeps in between, beside what an empty call takes there, as caches are cold then.
Last, what 1,000 steps a second cost the tracer, in percent of a core, beside the same without.
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


def median(values):
    return sorted(values)[len(values) // 2]


def full_speed():
    """Nanoseconds a step, one after the other: the median of 9 parts of 100. The tracer takes 1,000 lines a second."""
    times = []
    for part in range(9):
        began = time.perf_counter_ns()
        for i in range(100):
            ingero.set(step=i, epoch=part)
        times.append((time.perf_counter_ns() - began) / 100)
    return median(times)


def compute(until):
    while time.perf_counter() < until:
        pass


def sleep(until):
    wait = until - time.perf_counter()
    if wait > 0:
        time.sleep(wait)


def paced(seconds, meanwhile, call):
    """Nanoseconds of a call at 1,000 a second: the median."""
    times, begin = [], time.perf_counter()
    for n in range(int(seconds * 1000)):
        meanwhile(begin + n / 1000)
        began = time.perf_counter_ns()
        call(step=n, epoch=3)
        times.append(time.perf_counter_ns() - began)
    return median(times)


def nothing(**labels):
    pass


def used(pid, seconds, work):
    """Percent of a core that a process uses meanwhile."""
    before, began = cpu(pid), time.perf_counter()
    work(seconds)
    return 100 * (cpu(pid) - before) / (time.perf_counter() - began)


def main():
    print(f"without a tracer    {full_speed():8.0f} ns a step")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INGERO_ANNOTATE"] = path = os.path.join(folder, "a.sock")
        db = os.path.join(folder, "x.db")
        tracer = subprocess.Popen(
            [sys.argv[1], "trace", f"--annotate={path}", "--out", db], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not os.path.exists(path):
                time.sleep(0.05)
            time.sleep(3)
            ingero.close()
            ingero.set(step=0, epoch=0)
            time.sleep(1)
            print(f"with one            {full_speed():8.0f} ns a step, one after the other")
            time.sleep(2)
            print(f"at 1,000 a second   {paced(3, compute, ingero.set):8.0f} ns a step, computing in between")
            print(f"                    {paced(3, sleep, ingero.set):8.0f} ns a step, sleeping in between; "
                  f"an empty call takes {paced(1, sleep, nothing)} ns then")
            idle = used(tracer.pid, SECONDS, lambda s: paced(s, sleep, nothing))
            busy = used(tracer.pid, SECONDS, lambda s: paced(s, sleep, ingero.set))
            print(f"tracer              {busy:8.2f} % of a core; without labels {idle:.2f} %: "
                  f"{busy - idle:.2f} % for 1,000 steps a second")
            print(f"sent and dropped    {ingero.stats()}")
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait()
        rows = subprocess.run([sys.argv[1], "query", db, "--format", "csv", "select count(*) from labels"],
                              capture_output=True, text=True).stdout.split()
        print(f"in the recording    {rows[-1]} labels")


main()
