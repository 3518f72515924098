"""R25 (JustVugg/colibri PR#174): OpenMP workers of the same process spin between parallel regions and take the launching thread's CPU.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"; HOLLOW=kernel.default=150us python3 R25_omp_spin.py
  From the onset on torch.set_num_threads(2) on 2 cores, with OMP_WAIT_POLICY=active GOMP_SPINCOUNT=infinite set before torch is
  imported; one data worker needs most of the other core.
Truth: CPU contention inside the process: culprit libgomp's worker thread (gomp_team_barrier_wait / do_spin; its tid is printed),
  which does no work; remedy: OMP_WAIT_POLICY=passive, one OpenMP thread. A neighbour process is not to blame.
"""
import os, sys

if os.environ.get("GOMP_SPINCOUNT") != "infinite":  # libgomp reads them when it is loaded
    os.environ.update(OMP_WAIT_POLICY="active", GOMP_SPINCOUNT="infinite")
    os.execv(sys.executable, [sys.executable] + sys.argv)
from trainer import *


from torch.utils.data import DataLoader, Dataset


class Data(Dataset):
    def __init__(self):
        self.x, self.y = torch.randn(32, 256), torch.randint(0, 10, (32,))

    def __len__(self):
        return 1 << 30

    def __getitem__(self, i):
        work(0.0045)
        return self.x, self.y


def main():
    t = Trainer()
    torch.set_num_threads(1)
    features = torch.randn(1 << 17)
    batches = iter(DataLoader(Data(), batch_size=None, num_workers=1, prefetch_factor=2))

    def step(n, faulty):
        (features * 1.5).add_(1)  # a small parallel region
        t.step(*next(batches))

    def onset():
        torch.set_num_threads(2)
        (features * 1.5).add_(1)
        tell(what="culprit", tid=max(map(int, os.listdir("/proc/self/task"))))

    drive(step, onset)


main()
