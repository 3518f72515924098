"""Captures a training step as a CUDA graph and replays it, and makes a graphed callable.
Prints a JSON line at the end."""

import argparse
import json
import os

import torch
from torch import nn


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--steps", type=int, default=50)
    a.add_argument("--recapture", action="store_true", help="before each step, as with shapes that change")
    a = a.parse_args()

    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=True, foreach=True)
    loss_of = nn.CrossEntropyLoss()
    x, y = torch.randn(32, 128).cuda(), torch.randint(0, 10, (32,)).cuda()

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)

    def capture():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return graph

    graph, captures = capture(), 1
    for _ in range(a.steps):
        if a.recapture:
            graph, captures = capture(), captures + 1
        x.copy_(torch.randn(32, 128))
        graph.replay()
        torch.cuda.synchronize()

    graphed = torch.cuda.make_graphed_callables(nn.Linear(64, 64).cuda(), (torch.randn(8, 64).cuda(),))
    for _ in range(5):
        graphed(torch.randn(8, 64).cuda()).sum().backward()
    torch.cuda.synchronize()
    print(json.dumps({"steps": a.steps, "captures": captures}), flush=True)
    # Not through Python's own exit: the thread of the last backward pass may still have to release it. That
    # needs Python's lock, and CPython before 3.14 then ends the thread by pthread_exit, which cannot pass through
    # a destructor: "terminate called without an active exception" (pytorch/pytorch#51861).
    os._exit(0)


if __name__ == "__main__":
    main()
