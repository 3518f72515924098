"""R37 (metatensor/metatrain PR#1271, pytorch/pytorch#15849): the processes that load data are ended and forked again at each epoch, and
each opens its data again; with short epochs a third of the time goes by so.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"; HOLLOW=kernel.default=150us python3 R37_workers_each_epoch.py
  An epoch has 60 steps. Until the onset the two workers stay (persistent_workers); from the onset on each epoch makes new ones,
  which open their shards first (120 ms of CPU time each).
Truth: every 60 steps the main thread waits for the first batch of new DataLoader workers: the old two are ended and two new
  ones are forked for each epoch, and open their shards (open_shards); remedy: persistent_workers=True.
  Wrong: too few workers or slow transforms (within an epoch nobody waits); the disk; the GPU.
"""
from trainer import *


from torch.utils.data import DataLoader, Dataset

EPOCH = 60


class Data(Dataset):
    def __init__(self):
        self.x, self.y = torch.randn(32, 256), torch.randint(0, 10, (32,))

    def __len__(self):
        return EPOCH

    def __getitem__(self, i):
        work(0.001)  # a transform
        return self.x, self.y


def open_shards(worker):
    work(0.12)


def loader(stay):
    return DataLoader(Data(), batch_size=None, num_workers=2, prefetch_factor=4, persistent_workers=stay,
                      worker_init_fn=open_shards)


def main():
    t = Trainer()
    each_epoch, epochs = [False], [0]

    def batches():
        kept = loader(True)
        while True:
            epochs[0] += 1
            if each_epoch[0]:
                kept = None  # its workers end
                yield from loader(False)
            else:
                yield from kept

    feed = batches()

    def step(n, faulty):
        each_epoch[0] = faulty
        t.step(*next(feed))

    drive(step)
    tell(what="epochs", n=epochs[0])
    feed.close()


if __name__ == "__main__":
    main()
