"""What the cases of PyTorch programs share: their arguments, and steps that are healthy first and faulty then. A case prints
what it measured as lines of JSON. They take all names of this module, its imports too.
"""
import argparse, collections, ctypes, gc, json, os, random, signal, subprocess, sys, threading, time

args = argparse.ArgumentParser()
args.add_argument("--fault", default="on", help="off: the healthy control; on, or the name of a variant")
args.add_argument("--healthy", type=float, default=8, help="seconds before the onset")
args.add_argument("--faulty", type=float, default=10, help="seconds after it")
args.add_argument("--wait", type=float, default=0, help="seconds to add to the healthy phase, so that a tracer can attach")
args.add_argument("--kernels", type=int, default=20, help="extra matrix products of a step (GPU time)")
args.add_argument("--seed", type=int, default=1)
a = args.parse_args()
FAULT = None if a.fault == "off" else a.fault


def tell(**what):
    os.write(1, (json.dumps(what) + "\n").encode())


def work(seconds):
    """That much CPU time of this thread, in Python."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def drive(step, onset=None, name="step"):
    """Calls step(n, faulty) until the time is over; onset() is called once when the fault begins."""
    for n in range(5):
        step(n, False)
    begin = time.monotonic()
    tell(what="begin", pid=os.getpid(), tid=threading.get_native_id(), unix=time.time())
    change, end = begin + a.healthy + a.wait, begin + a.healthy + a.wait + a.faulty
    healthy, faulty, began, n = [], [], None, 5
    last = time.monotonic()
    while last < end:
        if began is None and last >= change:
            began = last
            tell(what="onset", fault=FAULT, unix=time.time(), after_s=round(last - begin, 2))
            if FAULT and onset:
                onset()
        step(n, bool(FAULT) and began is not None)
        now = time.monotonic()
        (healthy if began is None else faulty).append(now - last)
        last, n = now, n + 1
    h, f = sum(healthy) / len(healthy), sum(faulty) / max(1, len(faulty))
    med = lambda v: sorted(v)[len(v) // 2] * 1e3 if v else 0
    tell(what="end", fault=FAULT, steps=[len(healthy), len(faulty)], mean_ms=[round(h * 1e3, 3), round(f * 1e3, 3)],
         median_ms=[round(med(healthy), 3), round(med(faulty), 3)], longest_ms=round(max(faulty or [0]) * 1e3, 1),
         longer_percent=round(100 * (f / h - 1), 1))
