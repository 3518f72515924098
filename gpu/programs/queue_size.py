"""Prints a JSON line: how many launches a stream's queue holds, and how long the first one that found
no room took. One kernel keeps the GPU busy meanwhile."""

import time

import torch

from tell import tell

BUSY = 1.5  # s for which the GPU is kept busy
FULL = 0.02  # s from which on a launch has waited for room


def cycles_per_s():
    torch.cuda._sleep(1000)
    torch.cuda.synchronize()
    began = time.monotonic()
    torch.cuda._sleep(50_000_000)
    torch.cuda.synchronize()
    return 50_000_000 / (time.monotonic() - began)


def main():
    a = torch.zeros(32, device="cuda")
    a.add_(1)
    cycles = int(BUSY * cycles_per_s())
    found = []
    for _ in range(3):
        torch.cuda.synchronize()
        torch.cuda._sleep(cycles)
        n, took = 0, 0.0
        while took < FULL and n < 100_000:
            began = time.monotonic()
            a.add_(1)
            took = time.monotonic() - began
            n += 1
        torch.cuda.synchronize()
        found.append({"launches": n, "waited_ms": round(took * 1e3, 1)})
    tell("queue", tries=found)


if __name__ == "__main__":
    main()
