"""Trains a small network through torch.compile: Triton generates the kernels, and NVIDIA's assembler
makes their code. Prints a JSON line at the end."""

import argparse
import json

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.silu(self.up(x)))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--steps", type=int, default=50)
    a = a.parse_args()

    torch.manual_seed(1)
    model = Block(128).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loss_of = torch.compile(lambda x, y: (model(x) - y).square().mean())
    for _ in range(a.steps):
        x, y = torch.randn(32, 128).cuda(), torch.randn(32, 128).cuda()
        optimizer.zero_grad(set_to_none=True)
        loss_of(x, y).backward()
        optimizer.step()
        torch.cuda.synchronize()
    print(json.dumps({"steps": a.steps}), flush=True)


if __name__ == "__main__":
    main()
