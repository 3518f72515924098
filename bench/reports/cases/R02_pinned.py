"""R02 (huggingface/accelerate#3911): a library pins the main process, and the data workers forked from it, to one core.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"; HOLLOW=kernel.default=150us python3 R02_pinned.py
  --fault on: at the onset the "library" calls os.sched_setaffinity(0, {0}), and the next epoch's 2 workers are forked with it;
  --fault start: pinned from the first line on (as KMP_AFFINITY does), no healthy phase.
Truth: affinity collapse: mask {0} of the main thread and its workers; CPU 1 idles meanwhile. "Too many workers" or
  "machine busy" is wrong. The two workers and the main thread share CPU 0.
"""
from trainer import *


from torch.utils.data import DataLoader, Dataset


class Data(Dataset):
    def __len__(self):
        return 1 << 30

    def __getitem__(self, i):
        work(0.006)  # a transform
        return self.x, self.y

    def __init__(self):
        self.x, self.y = torch.randn(32, 256), torch.randint(0, 10, (32,))


def loader():
    return iter(DataLoader(Data(), batch_size=None, num_workers=2, prefetch_factor=2))


def main():
    if FAULT == "start":
        os.sched_setaffinity(0, {0})
    t = Trainer()
    batches = [loader()]

    def onset():
        if FAULT == "on":
            os.sched_setaffinity(0, {0})  # the library that is imported in the middle
            batches[0] = loader()

    def step(n, faulty):
        t.step(*next(batches[0]))

    def idle():
        with open("/proc/stat") as f:
            return {l.split()[0]: int(l.split()[4]) for l in f if l.startswith("cpu")}

    before = {}

    def begun():
        onset()
        before.update(idle())

    drive(step, begun)
    if before:
        tell(what="idle", cpu0_s=(idle()["cpu0"] - before["cpu0"]) / 100, cpu1_s=(idle()["cpu1"] - before["cpu1"]) / 100)


if __name__ == "__main__":
    main()
