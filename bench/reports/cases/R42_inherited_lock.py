# R42 - ultralytics/ultralytics PR#26085 (and DataDog/dd-trace-py PR#18900, pytorch/pytorch#75147): a worker process is forked while another
# thread of its parent has a lock. In the worker the lock is taken for ever, as the thread that would give it back was not
# forked. The worker hangs at its first use of the lock, and the parent waits for its answer.
# Here the engine replaces its worker every 2 s. A thread of the engine uses the lock of the decoders' registry now and then.
# Until the onset the engine forks only while it has this lock itself; after it, it forks while the other thread has it.
# Run: python3 R42_inherited_lock.py (env from `hollow env FILE`). With the fault it does not end.
# TRUTH: a hang, in two processes: the main thread of "engine" waits in read() of a pipe for its worker's answer; the worker
# process "image-decoder" waits for a lock (futex) that nobody in that process holds: it was locked at the fork.
# Wrong: the GPU hangs; the worker is slow or busy; the engine holds the lock that the worker waits for.
import ctypes, os, signal, threading, time
import plaingpu, pyhg

a = pyhg.options()
pyhg.name("engine")
registry = threading.Lock()
hold, held = threading.Event(), threading.Event()


def warm_registry():
    """Uses the lock for half a millisecond now and then, and for as long as somebody asks for it."""
    pyhg.name("registry-warmer")
    while True:
        with registry:
            time.sleep(0.0005)
            while hold.is_set():
                held.set()
                time.sleep(0.001)
            held.clear()
        time.sleep(0.02)


def decode(question, answer):
    """The worker: an image for each byte that comes."""
    pyhg.name("image-decoder")
    while os.read(question, 1):
        with registry:
            end = time.thread_time() + 0.0003
            while time.thread_time() < end:
                pass
        os.write(answer, b"i")
    os._exit(0)


class Worker:
    def __init__(self, inherits):
        q, self.question = os.pipe()
        self.answer, w = os.pipe()
        self.born = time.monotonic()
        if inherits:
            hold.set()
            held.wait()
        else:
            registry.acquire()
        self.pid = os.fork()
        if self.pid == 0:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # ends with the engine
            if not inherits:
                registry.release()
            decode(q, w)
        if inherits:
            hold.clear()
        else:
            registry.release()
        os.close(q)
        os.close(w)

    def image(self):
        os.write(self.question, b"q")
        return os.read(self.answer, 1)

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.question)
        os.close(self.answer)


gpu = plaingpu.GPU(b"detect_kernel")
threading.Thread(target=warm_registry, daemon=True).start()
worker, clock = Worker(False), pyhg.Clock(a)


def step():
    global worker
    if time.monotonic() - worker.born > 2 or (clock.faulty and worker.born < clock.onset):
        worker.end()
        worker = Worker(clock.faulty)
    worker.image()
    gpu.step()


clock.run(step)
clock.report()
worker.end()
os._exit(0)
