"""Trains on several ranks with DistributedDataParallel; torchrun starts it. First it checks
that collectives give the right data. Prints a JSON line on rank 0."""

import argparse
import inspect
import json
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def check(rank, ranks):
    """Checks the results of collective operations; a wrong one ends the program."""
    x = torch.full((1000,), float(rank + 1)).cuda()
    dist.all_reduce(x)
    want = ranks * (ranks + 1) / 2
    got = x.cpu()
    assert (got == want).all(), f"all_reduce: {got[:4]}, want {want}"
    x = torch.full((10,), rank, dtype=torch.int64).cuda()
    dist.broadcast(x, src=ranks - 1)
    assert (x.cpu() == ranks - 1).all(), f"broadcast: {x.cpu()}"
    out = torch.empty(ranks * 4).cuda()
    dist.all_gather_into_tensor(out, torch.full((4,), float(rank)).cuda())
    assert out.cpu().tolist() == [float(r) for r in range(ranks) for _ in range(4)], f"all_gather: {out.cpu()}"
    part = torch.empty(4).cuda()
    dist.reduce_scatter_tensor(part, torch.arange(4.0 * ranks).cuda())
    assert part.cpu().tolist() == [ranks * (4.0 * rank + i) for i in range(4)], f"reduce_scatter: {part.cpu()}"
    if ranks == 1:  # PyTorch does not let a rank send to itself
        return
    there, back = torch.full((8,), float(rank)).cuda(), torch.empty(8).cuda()
    ops = [dist.P2POp(dist.isend, there, (rank + 1) % ranks), dist.P2POp(dist.irecv, back, (rank - 1) % ranks)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert (back.cpu() == (rank - 1) % ranks).all(), f"send and receive: {back.cpu()}"


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--steps", type=int, default=30)
    a.add_argument("--late-rank", type=int, default=-1, help="which rank works on a CPU before each step")
    a.add_argument("--late", type=float, default=0.02, help="for so many seconds")
    a = a.parse_args()

    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    named = "device_id" in inspect.signature(dist.init_process_group).parameters  # since PyTorch 2.3
    dist.init_process_group("nccl", **({"device_id": torch.device("cuda", local)} if named else {}))
    ranks = dist.get_world_size()
    check(rank, ranks)

    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    model = DistributedDataParallel(model.cuda(), device_ids=[local])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    began = time.monotonic()
    for _ in range(a.steps):
        if rank == a.late_rank:
            end = time.monotonic() + a.late
            while time.monotonic() < end:
                pass
        x, y = torch.randn(32, 256).cuda(), torch.randint(0, 10, (32,)).cuda()
        loss = loss_of(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
    dist.barrier()
    if rank == 0:
        print(json.dumps({"ranks": ranks, "steps": a.steps, "seconds": time.monotonic() - began}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
