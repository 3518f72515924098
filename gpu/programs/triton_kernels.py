"""A kernel written in Triton, launched by itself and in a CUDA graph."""

from steady import need, run

torch, triton = need("torch"), need("triton")
import triton.language as tl  # noqa: E402

N, BLOCK = 1 << 20, 1024


@triton.jit
def add_one(x, y, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


def main():
    x = torch.zeros(N, device="cuda")
    y = torch.empty_like(x)

    def launch():
        add_one[(N // BLOCK,)](x, y, N, block=BLOCK)

    launch()  # compiles
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()

    def fifty(_):
        for _ in range(50):
            launch()
            graph.replay()
        torch.cuda.synchronize()

    run(fifty)


if __name__ == "__main__":
    main()
