# R55 - vllm-project/vllm PR#52814, ray-project/ray PR#55128: a worker takes its batches from a place in memory that
# it shares with the scheduler's process. While there is none it looks again and again (sched_yield in a loop): it
# seems to be busy, and has nothing to do.
# Here the scheduler plans the next batch while the worker computes the last one. Until the onset a plan takes 0.8 ms,
# less than a step of the GPU (3 ms), and the worker finds the next batch at once. From the onset on a plan takes 4.7
# ms.
# Run: python3 R55_message_ring.py (env from `hollow env FILE`)
# TRUTH: the main thread "gpu-worker" has no batch: it polls the shared memory in acquire_read, on the CPU, in a loop
# of sched_yield, some 1.5 ms in each step. What it waits for comes late from the process "scheduler", which is on the
# CPU in plan_batch all the time. No system call or lock connects the two.
# Wrong: the worker's own work became more; the GPU; the interpreter's lock (each process has one thread); the CPU is
# taken away.
import ctypes, mmap, os, signal, time
import plaingpu, pyhg

a = pyhg.options()
WRITTEN, READ, SLOW, BATCH = range(4)


class Ring:
    """A place for one batch, in memory that two processes share: how many were written, and how many read."""

    def __init__(self):
        self.memory = mmap.mmap(-1, mmap.PAGESIZE)
        self.words = (ctypes.c_uint64 * 8).from_buffer(self.memory)

    def acquire_write(self):
        while self.words[READ] != self.words[WRITTEN]:
            time.sleep(0.0002)

    def acquire_read(self):
        while self.words[READ] == self.words[WRITTEN]:
            os.sched_yield()

    def put(self, batch):
        self.acquire_write()
        self.words[BATCH] = batch
        self.words[WRITTEN] += 1

    def get(self):
        self.acquire_read()
        batch = self.words[BATCH]
        self.words[READ] += 1
        return batch


def plan_batch(waiting, seconds):
    """Chooses requests, for that much CPU time."""
    end, chosen = time.thread_time() + seconds, 0
    while time.thread_time() < end:
        waiting.sort(key=lambda r: (r * 7919) % 1009)
        chosen = waiting[0]
    return chosen


def scheduler(ring):
    pyhg.name("scheduler")
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # ends with the worker
    waiting = list(range(a.seed, a.seed + 64))
    while True:
        ring.put(plan_batch(waiting, 0.0047 if ring.words[SLOW] else 0.0008))


ring = Ring()
if os.fork() == 0:
    scheduler(ring)
pyhg.name("gpu-worker")
gpu = plaingpu.GPU(b"decode_kernel")
clock, waited = pyhg.Clock(a), [0.0, 0.0]


def step():
    ring.words[SLOW] = int(clock.faulty)
    begin = time.monotonic()
    ring.get()
    waited[clock.faulty] += time.monotonic() - begin
    gpu.step()


clock.run(step)
clock.report(waited_s=[round(w, 2) for w in waited])
os._exit(0)
