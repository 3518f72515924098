"""Trains a small network as a PyTorch user would: data workers, pinned memory, mixed
precision, a foreach optimiser, evaluation every few steps and checkpoints. On a GPU that computes
nothing it learns nothing. Prints a JSON line at the end."""

import argparse
import json
import os
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    """Seeded noise; each sample takes the worker some time on a CPU."""

    def __init__(self, count, seed):
        self.count, self.seed = count, seed

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        noise = torch.Generator().manual_seed(self.seed + i)
        return torch.randn(3, 32, 32, generator=noise), i % 10


class Texts(Images):
    def __getitem__(self, i):
        noise = torch.Generator().manual_seed(self.seed + i)
        return torch.randint(0, 1000, (32,), generator=noise), i % 10


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(3072, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                         nn.Linear(256, 10))


def conv():
    layers, width = [], 3
    for out in (16, 32, 64):
        layers += [nn.Conv2d(width, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(), nn.MaxPool2d(2)]
        width = out
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 4 * 4, 10))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x)).mean(dim=1))


MODELS = {"mlp": mlp, "conv": conv, "transformer": Transformer}


def evaluate(model, loader):
    model.eval()
    wrong = 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x.cuda(non_blocking=True))
            wrong += (out.argmax(1) != y.cuda(non_blocking=True)).sum().item()
    model.train()
    return wrong


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--model", choices=MODELS, default="conv")
    a.add_argument("--steps", type=int, default=40)
    a.add_argument("--batch", type=int, default=16)
    a.add_argument("--workers", type=int, default=2)
    a.add_argument("--eval-every", type=int, default=20)
    a.add_argument("--checkpoint", help="a file, written after each evaluation")
    a.add_argument("--seed", type=int, default=1)
    a = a.parse_args()

    torch.manual_seed(a.seed)
    data = Texts if a.model == "transformer" else Images
    loader = DataLoader(data(a.steps * a.batch, a.seed), batch_size=a.batch, num_workers=a.workers, pin_memory=True)
    test = DataLoader(data(4 * a.batch, a.seed + 10**6), batch_size=a.batch)
    model = MODELS[a.model]().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    scaler = torch.amp.GradScaler("cuda")
    loss_of = nn.CrossEntropyLoss()

    began, evaluations = time.monotonic(), 0
    for step, (x, y) in enumerate(loader, 1):
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_of(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if step % a.eval_every == 0:
            loss.item()
            evaluate(model, test)
            evaluations += 1
            if a.checkpoint:
                with open(a.checkpoint, "wb") as f:
                    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f)
                    os.fsync(f.fileno())
    torch.cuda.synchronize()
    print(json.dumps({"steps": step, "evaluations": evaluations, "seconds": time.monotonic() - began}), flush=True)


if __name__ == "__main__":
    main()
