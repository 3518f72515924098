"""H05 (chainer/chainer#2554, dfdx#59): numbers become denormal from mid-run on; a step's CPU part takes longer with
the same instructions, the same calls and the same schedule.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"; HOLLOW=kernel.default=150us python3 H05_denormals.py
Truth: the main thread is on the CPU longer between the launches, in torch's CPU multiplication/addition (mul_ in filter_state);
no lock, no other process, the GPU is innocent. All that can be said: CPU time of this thread per step grew, from the onset on.
"""
from trainer import *


def main():
    t = Trainer()
    torch.set_num_threads(1)
    state = torch.full((20000,), 1.0)
    gain = torch.full((20000,), 1.0)
    # Smoothed statistics on the host. From the onset on, the values are denormal (the input fell to zero).
    tiny = torch.full((20000,), 1e-41)

    def filter_state(n, faulty):
        s = tiny if faulty else state
        for _ in range(24):
            (s * 0.5).add_(s * 0.25).sum().item()
            torch.sqrt(s)

    def step(n, faulty):
        t.step()
        filter_state(n, faulty)

    drive(step)


main()
