"""A small Llama of transformers with random weights: generates text (generate) or is trained (train)."""

import sys

from steady import need, run

torch, transformers = need("torch"), need("transformers")


def model():
    config = transformers.LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=8,
                                      num_attention_heads=16, num_key_value_heads=4, vocab_size=32000)
    torch.manual_seed(1)
    with torch.device("cuda"):
        return transformers.LlamaForCausalLM(config).to(torch.bfloat16)


def generate():
    m = model().eval()
    prompt = torch.randint(0, 32000, (1, 64), device="cuda")
    mask = torch.ones_like(prompt)

    @torch.no_grad()
    def step(_):
        m.generate(prompt, attention_mask=mask, max_new_tokens=32, do_sample=False, pad_token_id=0)

    run(step)


def train():
    m = model().train()
    optimizer = torch.optim.AdamW(m.parameters(), lr=1e-4)

    def step(n):
        x = torch.randint(0, 32000, (8, 512)).pin_memory().to("cuda", non_blocking=True)
        loss = m(input_ids=x, labels=x).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if n % 20 == 19:
            print(f"step {n}: loss {loss.item():.3f}", file=sys.stderr)

    run(step)


if __name__ == "__main__":
    {"generate": generate, "train": train}[sys.argv[1]]()
