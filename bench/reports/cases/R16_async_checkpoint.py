"""R16 (pytorch/pytorch PR#147039, InternLM/InternEvo#65): an asynchronous checkpoint's thread pickles under the interpreter's lock.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"; HOLLOW=kernel.default=150us python3 R16_async_checkpoint.py
  Every 100 steps a thread "checkpoint" pickles nested dicts, one for each of 16 groups, and writes them to a file (~30 MB; 500 MB in memory).
Truth: periodic GIL contention: culprit the checkpoint thread in pickle (save in Checkpoint.save); not the disk (the writes are small).
"""
from trainer import *


import pickle
import tempfile


class Checkpoint:
    def __init__(self):
        self.state = [{f"layer{i}": {f"p{k}": [{"v": random.random()} for _ in range(20)] for k in range(100)} for i in range(60)}
                      for _ in range(16)]  # model, moments, average, ...
        self.path = os.path.join(tempfile.gettempdir(), "r16-checkpoint")
        self.took = []

    def save(self, n):
        begin = time.monotonic()
        with open(self.path, "wb") as f:
            for group in self.state:
                f.write(pickle.dumps(group))
        self.took.append(round(time.monotonic() - begin, 3))

    def start(self, n):
        threading.Thread(target=self.save, args=(n,), name="checkpoint").start()


def main():
    t = Trainer()
    c = Checkpoint()

    def step(n, faulty):
        t.step()
        if faulty and n % 100 == 0:
            c.start(n)

    drive(step)
    tell(what="checkpoints", seconds=c.took)


main()
