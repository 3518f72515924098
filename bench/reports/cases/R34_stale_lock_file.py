# R34 - PASSIONLab/OpenEquivariance#207, pytorch/pytorch#189245: an extension is compiled when it is first needed, guarded by a file that
# exists while somebody compiles. The one who compiled was killed, so the file stays, and those that come next poll for its
# disappearance for ever: no error, nothing on the GPU, no CPU time.
# Here a shape that needs an extension comes every 1.5 s. At the onset the process that compiles is killed. The program gives
# up after 1 s each time and goes on without the extension, so that its steps can be counted.
# Run: python3 R34_stale_lock_file.py (env from `hollow env FILE`)
# TRUTH: the main thread "extension-user" sleeps: a loop of sleep (time.sleep, clock_nanosleep) of 50 ms and a look at the
# file "lock" (stat) in wait_for_lock, 1 s every 2.5 s. Nobody holds the lock: who made the file is dead.
# Wrong: a lock that another thread or process holds; the GPU; the disk; the CPU.
import os, random, shutil, signal, tempfile, time
import plaingpu, pyhg

a = pyhg.options()
pyhg.name("extension-user")
random.seed(a.seed)


class Extensions:
    """Compiled extensions, in a folder that processes share."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="r34-extensions-")
        self.lock = os.path.join(self.folder, "lock")
        self.waited, self.loaded = 0.0, 0

    def take_lock(self):
        os.close(os.open(self.lock, os.O_CREAT | os.O_EXCL))

    def wait_for_lock(self, most=1.0):
        """Waits until nobody compiles; false: it took too long."""
        begin = time.monotonic()
        while os.path.exists(self.lock):
            if time.monotonic() - begin > most:
                return False
            time.sleep(0.05)
        return True

    def load(self, n):
        begin = time.monotonic()
        if self.wait_for_lock():
            self.take_lock()
            with open(os.path.join(self.folder, f"kernel_{n}"), "wb") as f:
                f.write(random.randbytes(4096))
            os.unlink(self.lock)
            self.loaded += 1
        self.waited += time.monotonic() - begin

    def killed_builder(self):
        """Another process takes the lock, and is killed."""
        pid = os.fork()
        if pid == 0:
            pyhg.name("builder")
            self.take_lock()
            while True:
                signal.pause()
        while not os.path.exists(self.lock):
            time.sleep(0.005)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


gpu, extensions = plaingpu.GPU(b"equivariant_kernel"), Extensions()
due, shapes, killed = time.monotonic() + 1.5, 0, False
clock = pyhg.Clock(a)


def step():
    global due, shapes, killed
    if clock.faulty and not killed:
        killed = True
        extensions.killed_builder()
    if time.monotonic() >= due:
        shapes += 1
        extensions.load(shapes)
        due = time.monotonic() + 1.5
    gpu.step()


clock.run(step)
clock.report(shapes=shapes, loaded=extensions.loaded, waited_s=round(extensions.waited, 2))
shutil.rmtree(extensions.folder)
os._exit(0)
