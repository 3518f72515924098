"""R43 (open-mmlab/mmcv#1640, seen in open-mmlab/mmpose#923): the runner sleeps at the begin of each epoch, once put there to avoid a
deadlock of the data loader; with short epochs it is a large part of the time.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"; HOLLOW=kernel.default=150us python3 R43_sleep_in_hook.py
  An epoch has 60 steps. From the onset on the hook before an epoch sleeps for 0.3 s.
Truth: every 60 steps the main thread sleeps by its own wish for 0.3 s (time.sleep, clock_nanosleep in before_train_epoch).
  Wrong: it waits for the GPU, a lock, data, another process or the CPU; the data loader.
"""
from trainer import *

EPOCH = 60


class Runner:
    def __init__(self, pause):
        self.trainer, self.pause, self.slept = Trainer(), pause, 0

    def before_train_epoch(self, faulty):
        if faulty:
            time.sleep(self.pause)
            self.slept += 1

    def step(self, n, faulty):
        if n % EPOCH == 0:
            self.before_train_epoch(faulty)
        self.trainer.step()


def main():
    runner = Runner(0.3)
    drive(runner.step)
    tell(what="slept", times=runner.slept)


main()
