"""R32 (vllm-project/vllm#3567, noamgat/lm-format-enforcer#28): decoding that is bound to a grammar. For each token Python collects the
tens of thousands of allowed token ids in a list and makes a tensor of it; the GPU has nothing to do meanwhile.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"; HOLLOW=kernel.default=150us python3 R32_decoding_mask.py
  From the onset on one request is bound to a grammar: some 40,000 allowed ids in each step.
Truth: the main thread's own Python code, on the CPU between the launches, in each step for some milliseconds: mask_logits
  and allowed_tokens (a list of ids, torch.tensor of it, the mask). The copy of the mask (256 KB) is nothing.
  Wrong: garbage collection; another process or thread; waiting for the GPU; the pageable copy.
"""
from trainer import *

TOKENS = 64000


class GuidedMask:
    """Which tokens the grammar allows next, and the mask for the scores of all others."""

    def __init__(self, seed):
        r = random.Random(seed)
        self.allowed = [sorted(r.sample(range(TOKENS), 40000)) for _ in range(4)]
        self.ended = set(r.sample(range(TOKENS), 50))

    def allowed_tokens(self, state):
        return [i for i in self.allowed[state] if i not in self.ended]

    def mask_logits(self, n):
        ids = torch.tensor(self.allowed_tokens(n % len(self.allowed)))
        mask = torch.full((TOKENS,), float("-inf"))
        mask[ids] = 0
        return mask.cuda(non_blocking=True)


def main():
    t = Trainer()
    guided = GuidedMask(a.seed)

    def step(n, faulty):
        if faulty:
            guided.mask_logits(n)
        t.step()

    drive(step)


main()
