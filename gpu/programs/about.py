"""Prints a JSON line: what PyTorch and its GPUs are, and how long a matrix product takes."""

import sys
import time

from tell import tell


def main():
    import torch

    about = {"what": "about", "python": sys.version.split()[0], "torch": torch.__version__, "cuda": torch.version.cuda,
             "available": torch.cuda.is_available(), "gpus": []}
    if not about["available"]:
        try:
            torch.zeros(1).cuda()
        except Exception as e:  # any exception says why
            about["why"] = f"{type(e).__name__}: {e}".splitlines()[0]
        tell(**about)
        return
    for i in range(torch.cuda.device_count()):
        p = torch.cuda.get_device_properties(i)
        about["gpus"].append({"name": p.name, "capability": f"{p.major}.{p.minor}", "memory_mb": p.total_memory >> 20})
    try:
        about["nccl"] = ".".join(str(v) for v in torch.cuda.nccl.version())
    except Exception:  # built without NCCL, which differs by version
        about["nccl"] = ""

    a = torch.randn(2048, 2048).cuda()
    out = torch.empty_like(a)
    for _ in range(20):
        torch.mm(a, a, out=out)
    torch.cuda.synchronize()
    began = time.monotonic()
    for _ in range(50):
        torch.mm(a, a, out=out)
    torch.cuda.synchronize()
    about["product_ms"] = (time.monotonic() - began) * 1e3 / 50
    tell(**about)


if __name__ == "__main__":
    main()
