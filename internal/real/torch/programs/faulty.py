"""A training loop with a fault that begins after some steps, and the truth about it: a JSON line
for each time it struck, with CLOCK_MONOTONIC in ns and who did it, and one at the end with when
each step ended, and for how long each waited for its batch (ns; 0: the batch was ready, so the
worker did not cause the time to take it).

If kernels take 150 us or more, the host and the worker need less time for a step than the GPU:
then batches wait for the loop, not the loop for batches."""

import argparse
import ctypes
import json
import os
import socket
import sys
import tempfile
import threading
import time

if "--wait-stdin" in sys.argv:  # a tracer attaches first
    sys.stdin.buffer.read()

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAULTS = ("none", "worker-cpu", "worker-disk", "worker-net", "gil", "mutex", "checkpoint", "item", "empty-cache",
          "pageable", "recapture")


def tell(**what):
    # One write, also from the data workers, so that lines stay whole.
    os.write(sys.stdout.fileno(), (json.dumps(what) + "\n").encode())


class struck:
    """Prints when a fault began and ended, and who caused it: this thread, or another process."""

    def __init__(self, kind, step, pid=None):
        self.kind, self.step, self.pid = kind, step, pid

    def __enter__(self):
        self.begin = time.monotonic_ns()

    def __exit__(self, *_):
        tell(what="fault", kind=self.kind, step=self.step, begin=self.begin, end=time.monotonic_ns(),
             pid=self.pid or os.getpid(), tid=self.pid or threading.get_native_id())


def sums_per_ms():
    """How many numbers Python adds in a millisecond on this machine: the best of some tries."""
    numbers = list(range(100000, 0, -1))
    best = float("inf")
    for _ in range(5):
        begin = time.monotonic()
        sum(numbers)
        best = min(best, time.monotonic() - begin)
    return len(numbers) / best / 1e3


def burn(seconds):
    """Keeps this thread busy until the time has passed on the clock."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def work(seconds):
    """Uses so much CPU time; it takes longer if other programs use the CPU."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def random_file(path):
    """Writes a file to read from."""
    with open(path, "wb") as f:
        f.write(os.urandom(16 << 20))
        os.fsync(f.fileno())
    return path


def read_uncached(path, seconds):
    """Reads a file again and again for the time; each time it is dropped from the page cache first."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with open(path, "rb", buffering=0) as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            while f.read(1 << 20):
                pass


class Samples(Dataset):
    def __init__(self, a):
        self.a, self.count = a, (a.steps if a.lasting is None else 1 << 40) * a.batch

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        step = i // self.a.batch
        if i % self.a.batch == 0:
            work(self.a.worker_ms / 1e3)
        if step >= self.a.after and i % self.a.batch == 0 and self.a.fault.startswith("worker-"):
            with struck(self.a.fault, step, self.a.server if self.a.fault == "worker-net" else None):
                getattr(self, self.a.fault[len("worker-"):])()
        return torch.randn(256), i % 10

    def cpu(self):
        burn(self.a.ms / 1e3)

    def disk(self):
        read_uncached(self.a.file, self.a.ms / 1e3)

    def net(self):
        """Asks a server on this machine that answers after the time."""
        with socket.create_connection(("127.0.0.1", self.a.port)) as s:
            s.sendall(b"?")
            s.recv(1)


def listen():
    """Listens on a port below the range of client ports, as servers do."""
    for port in range(21000, 22000):
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError:
            continue
    raise SystemExit("no port from 21000 to 21999 is free")


def serve(seconds):
    """Starts a server in a process of its own; returns its port and process id."""
    listener = listen()
    if pid := os.fork():
        return listener.getsockname()[1], pid
    parent = os.getppid()
    listener.settimeout(1)
    while os.getppid() == parent:
        try:
            s, _ = listener.accept()
        except TimeoutError:
            continue
        threading.Thread(target=answer, args=(s, seconds), daemon=True).start()
    os._exit(0)


def answer(s, seconds):
    with s:
        s.recv(1)
        time.sleep(seconds)
        s.sendall(b"!")


class Rival:
    """A thread that now and then holds a lock for the time: Python's own (in a call into C that
    keeps it), or a mutex that the training loop takes once a step."""

    def __init__(self, a):
        self.a, self.libc = a, ctypes.CDLL(None)  # calls through it release Python's lock
        self.mutex = ctypes.create_string_buffer(64)  # pthread_mutex_t, initialised by zeros
        self.on = threading.Event()
        if a.fault in ("gil", "mutex"):
            threading.Thread(target=self.run, name="rival", daemon=True).start()

    def run(self):
        numbers = list(range(int(self.a.ms * sums_per_ms()), 0, -1))
        self.on.wait()
        while True:
            if self.a.fault == "gil":
                with struck("gil", -1):
                    sum(numbers)
            else:
                with struck("mutex", -1):
                    self.libc.pthread_mutex_lock(self.mutex)
                    self.libc.usleep(int(self.a.ms * 1000))
                    self.libc.pthread_mutex_unlock(self.mutex)
            # The loop needs Python's lock for little more than a quarter of its time, between waits
            # for the GPU. So the rival must hold it most of the time to delay the loop.
            time.sleep(self.a.ms / (4e3 if self.a.fault == "gil" else 1e3))

    def meet(self):
        if self.a.fault == "mutex":
            self.libc.pthread_mutex_lock(self.mutex)
            self.libc.pthread_mutex_unlock(self.mutex)


def arguments():
    a = argparse.ArgumentParser()
    a.add_argument("--wait-stdin", action="store_true", help="begin at the end of standard input")
    a.add_argument("--pin", type=int, help="CPU of the training loop and its backward thread")
    a.add_argument("--pin-workers", type=int, help="CPU of the data workers")
    a.add_argument("--pin-autograd", type=int, help="CPU of the thread that runs the backward pass")
    a.add_argument("--fault", choices=FAULTS, default="none")
    a.add_argument("--steps", type=int, default=60)
    a.add_argument("--after", type=int, default=30, help="steps without the fault")
    a.add_argument("--for", dest="lasting", type=float, help="seconds of steps with the fault, instead of --steps in all")
    a.add_argument("--ms", type=float, default=40, help="how long it strikes")
    a.add_argument("--batch", type=int, default=8)
    a.add_argument("--work", type=int, default=0, help="matrix products of a step, which keep the GPU busy")
    a.add_argument("--host-ms", type=float, default=0, help="Python's own work in each step")
    a.add_argument("--backward-ms", type=float, default=0, help="of the thread that runs the backward pass, in a hook")
    a.add_argument("--worker-ms", type=float, default=0, help="of a data worker for each batch")
    a.add_argument("--eval-every", type=int, default=0, help="steps between evaluations of ten batches")
    a.add_argument("--accumulate", type=int, default=1, help="batches for each step of the optimizer")
    a.add_argument("--grow", action="store_true", help="from half of the steps on, each has twice the work")
    a.add_argument("--compile", action="store_true", help="through torch.compile: the first steps compile, anew each time")
    a.add_argument("--dir", default=tempfile.gettempdir(), help="for files, on a disk")
    return a.parse_args()


def autograd():
    """The thread of the backward pass, found by its name. It exists from the first pass on."""
    for tid in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{tid}/comm") as f:
            if f.read().startswith("pt_autograd_"):
                return int(tid)
    raise SystemExit("there is no thread pt_autograd_0")


def main():
    a = arguments()
    a.file, a.port, a.server = os.path.join(a.dir, "samples"), 0, 0
    if a.fault == "worker-disk":
        random_file(a.file)
    if a.fault == "worker-net":
        a.port, a.server = serve(a.ms / 1e3)

    torch.manual_seed(1)
    rival = Rival(a)
    loader = DataLoader(Samples(a), batch_size=a.batch, num_workers=1, prefetch_factor=8, pin_memory=True,
                        worker_init_fn=None if a.pin_workers is None else lambda _: os.sched_setaffinity(0, {a.pin_workers}))
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
    if a.backward_ms:
        model[0].weight.register_hook(lambda _: work(a.backward_ms / 1e3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    if a.compile:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(dir=a.dir)
        model = torch.compile(model)
    loss_of = nn.CrossEntropyLoss()
    big = torch.randn(int(a.ms * 250_000))  # a MB for each ms

    factor = torch.randn(2048, 2048).cuda() if a.work else None
    # Sizes that a step allocates and frees, if the fault is that the cache is emptied.
    scratch = [m << 20 for m in range(24, 40, 2)] if a.fault == "empty-cache" else []

    def step(n, x, y):
        buffers = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in scratch]
        for _ in range(a.work):
            torch.mm(factor, factor)
        for _ in range(2 if a.grow and n >= a.steps // 2 else 1):
            loss = loss_of(model(x), y)
            loss.backward()
        if n % a.accumulate == a.accumulate - 1:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        del buffers
        return loss

    def evaluate(x):
        model.eval()
        with torch.no_grad():
            for _ in range(10):
                model(x)
        torch.cuda.synchronize()
        model.train()

    def strike(n, x, y, loss):
        if a.fault == "item":
            with struck("item", n):
                print(f"step {n}: loss {loss.item()}", file=sys.stderr)
        elif a.fault == "empty-cache":
            with struck("empty-cache", n):
                torch.cuda.empty_cache()
        elif a.fault == "pageable":
            with struck("pageable", n):
                big.cuda()
        elif a.fault == "checkpoint" and n % 5 == 0:
            with struck("checkpoint", n), open(os.path.join(a.dir, "checkpoint"), "wb") as f:
                torch.save({"model": model.state_dict(), "more": big}, f)
                f.flush()
                os.fsync(f.fileno())
        elif a.fault == "recapture":
            with struck("recapture", n):
                graph = torch.cuda.CUDAGraph()
                # Not replayed: that would give the GPU more work. The loader's thread allocates pinned
                # memory meanwhile, which would end a capture in the mode "global", the default.
                with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                    for _ in range(int(a.ms)):
                        model(x)

    ends, waits = [], []
    batches = iter(loader)  # starts the workers
    if a.pin is not None:
        os.sched_setaffinity(0, {a.pin})
    for n in range(a.steps if a.lasting is None else sys.maxsize):
        if n > a.after and a.lasting is not None and time.monotonic_ns() > ends[a.after - 1] + a.lasting * 1e9:
            break
        # The queue of batches in pinned memory. One worker's batches come in order, so a batch in
        # it is the next one.
        ready, asked = batches._data_queue.qsize() > 0, time.monotonic_ns()
        x, y = next(batches)
        waits.append(0 if ready else time.monotonic_ns() - asked)
        if n == a.after:
            rival.on.set()
        if n == a.steps // 3:  # says that a fault from outside may begin
            open(os.path.join(a.dir, "steady"), "w").close()
        if n == 2 and a.pin_autograd is not None:
            os.sched_setaffinity(autograd(), {a.pin_autograd})
        rival.meet()
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        loss = step(n, x, y)
        if n >= a.after:
            strike(n, x, y, loss)
        work(a.host_ms / 1e3)
        if a.eval_every and n % a.eval_every == a.eval_every - 1:
            evaluate(x)
        if n % 4 == 3:
            torch.cuda.synchronize()
        ends.append(time.monotonic_ns())
    torch.cuda.synchronize()
    tell(what="end", fault=a.fault, pid=os.getpid(), steps=len(ends), after=a.after, ends=ends, waits=waits,
         dispatchers=[autograd()])


if __name__ == "__main__":
    main()
