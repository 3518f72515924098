"""R48 (huggingface/transformers#31372): the trainer calls torch.cuda.empty_cache() in each step, so the allocator gives all of its
memory back to the driver and asks for it again in the next step.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"
  HOLLOW="kernel.default=150us;alloc=200us;free=150us" python3 R48_empty_cache.py
  A step has 12 activations of 12 MB. From the onset on it ends with empty_cache().
Truth: driver calls for memory: cudaMalloc and cudaFree, more than 12 of each in every step, none before the onset; the caller is
  empty_cache. The main thread is in them, on the CPU; the GPU waits.
  Wrong: a memory leak (the memory is constant); memory pressure on the host; the kernels; more work.
"""
from trainer import *

SIZE = 12 << 20


def main():
    t = Trainer()

    def step(n, faulty):
        activations = [torch.empty(SIZE, dtype=torch.uint8, device="cuda") for _ in range(12)]
        t.step()
        del activations
        if faulty:
            torch.cuda.empty_cache()

    drive(step)


main()
