"""Prints how many steps a second it makes. A line "MODE SECONDS" on standard input makes it work
for that long: eager (a small network, whose launches take most of a step), busy (the same with
matrix products, which keep the GPU busy), graph (a CUDA graph of the small network)."""

import argparse
import os
import sys
import time

a = argparse.ArgumentParser()
a.add_argument("--products", type=int, default=4, help="matrix products of a step of busy")
a.add_argument("--cpus", default="", help="CPUs of the program; the last one is for its main thread")
a = a.parse_args()
CPUS = [int(c) for c in a.cpus.split(",") if c]
if CPUS:
    os.sched_setaffinity(0, CPUS)  # before there are other threads, which inherit it

import torch  # noqa: E402
from torch import nn  # noqa: E402

from tell import tell  # noqa: E402


def main():
    if len(CPUS) > 1:
        os.sched_setaffinity(0, CPUS[-1:])  # the main thread alone; it is not moved between windows

    torch.manual_seed(1)
    layers = []
    for _ in range(12):
        layers += [nn.Linear(256, 256), nn.ReLU()]
    model = nn.Sequential(*layers).cuda()
    x, big = torch.randn(32, 256).cuda(), torch.randn(2048, 2048).cuda()
    out = torch.empty_like(big)

    def forward():
        with torch.no_grad():
            return model(x)

    def busy():
        forward()
        for _ in range(a.products):
            torch.mm(big, big, out=out)

    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):
        for _ in range(3):
            busy()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        forward()
    modes = {"eager": forward, "busy": busy, "graph": graph.replay}
    tell("ready")
    for line in sys.stdin:
        mode, seconds = line.split()
        steps, step = 0, modes[mode]
        began = time.monotonic()
        while time.monotonic() < began + float(seconds):
            for _ in range(5):
                step()
            torch.cuda.synchronize()
            steps += 5
        rate = steps / (time.monotonic() - began)
        tell("speed", mode=mode, steps_per_s=rate)


if __name__ == "__main__":
    main()
