"""A kernel of the program's own, and arithmetic, with CuPy."""

from steady import need, run

cupy = need("cupy")

SOURCE = 'extern "C" __global__ void mine(float *a) { a[blockIdx.x * 256 + threadIdx.x] += 1; }'


def main():
    mine = cupy.RawKernel(SOURCE, "mine")
    a = cupy.zeros(1 << 20, dtype=cupy.float32)

    def fifty(_):
        for _ in range(50):
            mine((4096,), (256,), (a,))
            b = a * 2 + 1
        float(b.sum())

    run(fifty)


if __name__ == "__main__":
    main()
