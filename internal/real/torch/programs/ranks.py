"""Trains on two ranks with DistributedDataParallel. After some steps, rank 1 is late before the
collective operations of every n-th step (--every). The process that is started is rank 0, and starts
rank 1. The truth is printed as by faulty.py: by rank 1 a line for each time it was late, by rank 0 at
the end a line that says who rank 1 is, and the last one.

Waits for the GPU sleep, so that two CPUs are enough for two ranks and a tracer. Each step waits for
the GPU at its end, so that only the launches of the step can hide that a rank is late."""

import argparse
import contextlib
import ctypes
import datetime
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from faulty import burn, random_file, read_uncached, struck, tell, work

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FAULTS = ("none", "late-cpu", "late-disk", "late-lock", "late-faults")
RANKS = 2
PR_SET_PDEATHSIG = 1  # of linux/prctl.h
BLOCKING_SYNC = 4  # cudaDeviceScheduleBlockingSync of driver_types.h


class Holder:
    """A thread that takes a mutex when asked, and holds it for the time."""

    def __init__(self, ms):
        self.ms, self.libc = ms, ctypes.CDLL(None)
        self.mutex = ctypes.create_string_buffer(64)  # pthread_mutex_t, initialised by zeros
        self.asked, self.has = threading.Semaphore(0), threading.Semaphore(0)
        threading.Thread(target=self.run, name="holder", daemon=True).start()

    def run(self):
        while True:
            self.asked.acquire()
            self.libc.pthread_mutex_lock(self.mutex)
            self.has.release()
            self.libc.usleep(int(self.ms * 1000))
            self.libc.pthread_mutex_unlock(self.mutex)

    def meet(self):
        self.asked.release()
        self.has.acquire()
        self.libc.pthread_mutex_lock(self.mutex)
        self.libc.pthread_mutex_unlock(self.mutex)


def touch_uncached(path, seconds):
    """Maps a file and touches its pages for the time; each time it is dropped from the page cache first."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with open(path, "rb", buffering=0) as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            with mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as pages:
                pages.madvise(mmap.MADV_RANDOM)  # a fault for each page
                for at in range(0, len(pages), mmap.PAGESIZE):
                    pages[at]
                    if time.monotonic() >= end:
                        break


def strike(a):
    """Returns the function that makes the late rank late."""
    if a.fault == "late-cpu":
        return lambda: burn(a.ms / 1e3)
    if a.fault in ("late-disk", "late-faults"):
        file = random_file(os.path.join(a.dir, "samples"))
        take = read_uncached if a.fault == "late-disk" else touch_uncached
        return lambda: take(file, a.ms / 1e3)
    return Holder(a.ms).meet


def arguments():
    a = argparse.ArgumentParser()
    a.add_argument("--wait-stdin", action="store_true", help="begin at the end of standard input (faulty.py does it)")
    a.add_argument("--pin", type=int, help="CPU of rank 0")
    a.add_argument("--pin-late", type=int, help="CPU of rank 1")
    a.add_argument("--fault", choices=FAULTS, default="none")
    a.add_argument("--steps", type=int, default=60)
    a.add_argument("--after", type=int, default=30, help="steps without the fault")
    a.add_argument("--every", type=int, default=1, help="steps from one that it strikes to the next")
    a.add_argument("--ms", type=float, default=40, help="how long it strikes")
    a.add_argument("--host-ms", type=float, default=0, help="CPU time of Python's own work in each step")
    a.add_argument("--accumulate", type=int, default=1, help="batches for each step of the optimizer, with one collective")
    a.add_argument("--dir", default=tempfile.gettempdir(), help="for files, on a disk")
    a.add_argument("--rank", type=int, default=0, help="given by rank 0 to those that it starts")
    a.add_argument("--port", type=int, default=0, help="likewise: where the ranks meet")
    return a.parse_args()


def start(port):
    """Starts rank 1, with the same arguments."""
    given = [w for w in sys.argv[1:] if w != "--wait-stdin"]
    return subprocess.Popen([sys.executable, __file__, *given, "--rank", "1", "--port", str(port)], stdin=subprocess.DEVNULL)


def join(a, store):
    """Makes the group of ranks, each with its own GPU, once all ranks have started."""
    store.set(f"rank {a.rank}", "")
    store.wait([f"rank {r}" for r in range(RANKS)])
    cudart = ctypes.CDLL("libcudart.so.13")
    if cudart.cudaSetDevice(a.rank) or cudart.cudaSetDeviceFlags(BLOCKING_SYNC):
        raise SystemExit("the waits for the GPU cannot be made to sleep")
    torch.cuda.set_device(a.rank)
    dist.init_process_group("nccl", store=store, rank=a.rank, world_size=RANKS, device_id=torch.device("cuda", a.rank),
                            timeout=datetime.timedelta(seconds=60))


def train(a, other):
    """Returns when each step ended, CLOCK_MONOTONIC in ns. other is the process of rank 1, on rank 0."""
    torch.manual_seed(1)
    layers = [layer for _ in range(4) for layer in (nn.Linear(64, 64), nn.ReLU())]
    model = DistributedDataParallel(nn.Sequential(*layers, nn.Linear(64, 10)).cuda(), device_ids=[a.rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    loss_of = nn.CrossEntropyLoss()
    x, y = torch.randn(32, 64).cuda(), torch.randint(0, 10, (32,)).cuda()
    is_late = strike(a) if a.rank == 1 and a.fault != "none" else None
    pin = a.pin_late if a.rank else a.pin
    if pin is not None:
        os.sched_setaffinity(0, {pin})
    ends = []
    for n in range(a.steps):
        if n == a.steps // 3 and a.rank == 0:  # says that a fault from outside may begin
            with open(os.path.join(a.dir, "steady.new"), "w") as f:
                f.write(str(other.pid))
            os.rename(f.name, os.path.join(a.dir, "steady"))
        if is_late and n >= a.after and n % a.every == 0:
            with struck(a.fault, n):
                is_late()
        work(a.host_ms / 1e3)
        update = n % a.accumulate == a.accumulate - 1
        with contextlib.nullcontext() if update else model.no_sync():
            loss_of(model(x), y).backward()
        if update:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        ends.append(time.monotonic_ns())
    return ends


def main():
    a = arguments()
    if a.rank:  # ends when rank 0 does
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    store = dist.TCPStore("127.0.0.1", a.port, RANKS, a.rank == 0, wait_for_workers=False)
    other = start(store.port) if a.rank == 0 else None
    join(a, store)
    ends = train(a, other)
    dist.destroy_process_group()
    if other is None:
        return
    if other.wait():
        raise SystemExit("rank 1 failed")
    tell(what="peer", pid=other.pid, tid=other.pid)
    tell(what="end", fault=a.fault, pid=os.getpid(), steps=a.steps, after=a.after, ends=ends)


if __name__ == "__main__":
    main()
