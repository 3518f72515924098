"""R47 (vllm-project/vllm PR#12563): the mask of allowed tokens is copied to the GPU for each token from ordinary (pageable) memory. The
copy does not return before it is done, and waits for what was launched before; the launches after it come too late.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"
  HOLLOW="kernel.default=150us;copy.pageable=2e9" python3 R47_pageable_mask.py
  Each step copies a mask of 8 MB after the first kernels. Until the onset it is in pinned memory and copied with non_blocking.
Truth: the copy from pageable memory: cudaMemcpyAsync of 8 MB host to device in each step blocks the main thread for some
  milliseconds, as its source is not pinned; remedy: pin_memory and non_blocking.
  Wrong: the kernels became slower; the disk; CPU contention; page faults.
"""
from trainer import *


def main():
    t = Trainer()
    pinned = torch.zeros(16, 131072, pin_memory=True)
    pageable = torch.zeros(16, 131072)
    pageable.fill_(1)  # its pages exist

    def step(n, faulty):
        for _ in range(a.kernels):
            torch.mm(t.factor, t.factor)
        mask = pageable.cuda() if faulty else pinned.cuda(non_blocking=True)
        t.step()
        del mask

    drive(step)


main()
