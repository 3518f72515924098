"""A small training loop on the GPU, for cases."""
from driver import *

import torch
from torch import nn

torch.manual_seed(a.seed)
random.seed(a.seed)


class Trainer:
    """A small network on the GPU. The hollow GPU's kernels take HOLLOW's kernel.default each."""

    def __init__(self, width=256):
        self.model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9, foreach=True)
        self.loss_of = nn.CrossEntropyLoss()
        self.x, self.y = torch.randn(32, width), torch.randint(0, 10, (32,))
        self.factor = torch.randn(512, 512).cuda()

    def step(self, x=None, y=None):
        x = (self.x if x is None else x).cuda(non_blocking=True)
        y = (self.y if y is None else y).cuda(non_blocking=True)
        for _ in range(a.kernels):
            torch.mm(self.factor, self.factor)
        loss = self.loss_of(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.item()
