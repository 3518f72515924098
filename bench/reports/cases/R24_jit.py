"""R24 (vllm-project/vllm-ascend#14324, vllm PR#45631): JIT compilation in the path of a step, on a new shape.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"; HOLLOW=kernel.default=150us python3 R24_jit.py
  --fault on: a batch of a new shape every ~1.5 s; torch.compile(backend="aot_eager", dynamic=False) compiles in this process (CPU);
  --fault children: each new shape runs two compilers (gcc -O2 on generated code, "kernel_N.c") as children, and loads the result.
Truth: JIT compile: on: main thread on the CPU in torch/_dynamo, torch/_functorch, ~0.8-1 s per new shape; no launches meanwhile;
  children: main thread waits for two gcc/cc1 children. The next steps with that shape are fast.
"""
from trainer import *


import tempfile


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
        self.embed, self.encoder, self.head = nn.Embedding(1000, 64), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x)).mean(dim=1))


def source(n):
    r = random.Random(n)
    out = ["#include <math.h>"]
    for f in range(20):
        out.append(f"double kernel_{n}_{f}(double *x, int n) {{ double s = 0; for (int i = 0; i < n; i++) {{")
        for k in range(25):
            out.append(f"  x[i] = x[i] * {r.random()} + sin(x[(i + {k}) % n]) * {r.random()}; s += x[i];")
        out.append("} return s; }")
    return "\n".join(out)


def main():
    torch._dynamo.config.recompile_limit = 1000
    torch._dynamo.config.accumulated_recompile_limit = 1000
    net = Net().cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, foreach=True)
    compiled = torch.compile(net, backend="aot_eager", dynamic=False)
    factor = torch.randn(512, 512).cuda()
    length, last, seen, took = [16], [time.monotonic()], {16}, []
    folder = tempfile.mkdtemp(prefix="jit-cache-")

    def compile_children(n):
        children = []
        for half in (0, 1):
            c, so = f"{folder}/kernel_{n}_{half}.c", f"{folder}/kernel_{n}_{half}.so"
            with open(c, "w") as f:
                f.write(source(2 * n + half))
            children.append((subprocess.Popen(["gcc", "-O2", "-shared", "-fPIC", "-o", so, c, "-lm"]), so))
        for p, so in children:
            p.wait()
            ctypes.CDLL(so)

    def step(n, faulty):
        if faulty and time.monotonic() - last[0] > 1.5:
            length[0] += 1
            last[0] = time.monotonic()
        new = length[0] not in seen
        seen.add(length[0])
        begin = time.monotonic()
        if new and FAULT == "children":
            compile_children(length[0])
        x = torch.randint(0, 1000, (8, length[0] if FAULT == "on" else 16)).cuda()
        for _ in range(a.kernels):
            torch.mm(factor, factor)
        loss = compiled(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        if new:
            took.append(round(time.monotonic() - begin, 2))
            last[0] = time.monotonic()

    drive(step)
    tell(what="compiled", seconds=took)


main()
