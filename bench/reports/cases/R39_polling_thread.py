"""R39 (vllm-project/tpu-inference PR#151): a thread of an inference program polls for results in a loop that never sleeps. It is Python,
so it has the interpreter's lock nearly always, and the thread that feeds the device gets it only after a switch interval.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"; HOLLOW=kernel.default=150us python3 R39_polling_thread.py
  From the onset on a thread "output-poller" polls a deque that is always empty. The switch interval is 1 ms.
Truth: the main thread waits for the interpreter's lock (GIL, take_gil) that the thread output-poller of the same process holds,
  on the CPU in poll_outputs, for ever; the GPU waits for launches. Remedy: block or sleep in the poller.
  Wrong: the GPU; another process; "own code" of the main thread; too few CPUs as such (there are two).
"""
from trainer import *


class Outputs:
    def __init__(self):
        self.waiting, self.running, self.polls = collections.deque(), True, 0

    def poll_outputs(self):
        ctypes.CDLL(None).prctl(15, b"output-poller", 0, 0, 0)
        while self.running:
            self.polls += 1
            if self.waiting:
                self.waiting.popleft()


def main():
    t = Trainer()
    sys.setswitchinterval(0.001)
    outputs = Outputs()
    poller = threading.Thread(target=outputs.poll_outputs, name="output-poller", daemon=True)

    def step(n, faulty):
        t.step()

    drive(step, poller.start)
    outputs.running = False
    if FAULT:
        poller.join()
    tell(what="polls", n=outputs.polls)


main()
