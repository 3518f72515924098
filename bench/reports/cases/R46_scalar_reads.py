"""R46 (pytorch/ignite#240, meta-pytorch/torchtune PR#522): the loss of each part of a step is read as a Python number (.item()) for the
metrics. Each reading waits until the GPU has finished all that was launched, so launches no longer run ahead.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"; HOLLOW=kernel.default=100us python3 R46_scalar_reads.py
  A step has 6 parts: 2 ms of preparation on the CPU, forward, backward. Until the onset their losses are added up on the GPU and read
  once in a step; from the onset on each is read at once.
Truth: implicit synchronisation: item() (_local_scalar_dense: cudaMemcpyAsync and cudaStreamSynchronize) 6 times more in a step;
  the main thread waits for the GPU there, and the GPU then for the CPU. The GPU's work is the same.
  Wrong: the GPU became slower; more work; CPU contention; the copies are large (4 bytes each).
"""
from trainer import *

PARTS = 6


class Metrics:
    def __init__(self):
        self.total = 0.0

    def update(self, loss):
        self.total += loss.item()


def main():
    t = Trainer()
    metrics = Metrics()

    def part():
        work(0.002)
        x, y = t.x.cuda(non_blocking=True), t.y.cuda(non_blocking=True)
        for _ in range(a.kernels):
            torch.mm(t.factor, t.factor)
        loss = t.loss_of(t.model(x), y)
        loss.backward()
        return loss.detach()

    def step(n, faulty):
        total = torch.zeros((), device="cuda")
        for _ in range(PARTS):
            loss = part()
            if faulty:
                metrics.update(loss)
            else:
                total += loss
        t.optimizer.step()
        t.optimizer.zero_grad(set_to_none=True)
        total.item()

    drive(step)


main()
