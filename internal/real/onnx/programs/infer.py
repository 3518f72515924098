"""Runs a small network of matrix products in ONNX Runtime, one inference at a time. The model is made
here as ONNX's protocol buffers, with seeded weights. Prints a JSON line at the end."""

import argparse
import json

import numpy as np
import onnxruntime

FLOAT = 1  # TensorProto.DataType


def number(n):
    """A varint."""
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def field(n, value):
    """A field of a message: an int, a str, or bytes, which may be a message."""
    if isinstance(value, int):
        return number(n << 3) + number(value)
    value = value.encode() if isinstance(value, str) else value
    return number(n << 3 | 2) + number(len(value)) + value


def node(op, inputs, output):
    return field(1, b"".join(field(1, i) for i in inputs) + field(2, output) + field(4, op))


def tensor(name, array):
    dims = b"".join(field(1, d) for d in array.shape)
    return field(5, dims + field(2, FLOAT) + field(8, name) + field(9, array.tobytes()))


def value(n, name, shape):
    dims = b"".join(field(1, field(1, d)) for d in shape)
    return field(n, field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, dims))))


def network(layers, batch, width):
    """A ModelProto (onnx.proto): MatMul, Add and Relu in each layer."""
    rng, x, graph = np.random.default_rng(1), "x", b""
    for n in range(layers):
        graph += node("MatMul", [x, f"w{n}"], f"m{n}") + node("Add", [f"m{n}", f"b{n}"], f"a{n}")
        graph += node("Relu", [f"a{n}"], f"r{n}")
        graph += tensor(f"w{n}", rng.standard_normal((width, width), dtype=np.float32))
        graph += tensor(f"b{n}", rng.standard_normal(width, dtype=np.float32))
        x = f"r{n}"
    graph += field(2, "network") + value(11, "x", (batch, width)) + value(12, x, (batch, width))
    return field(1, 9) + field(7, graph) + field(8, field(2, 17))  # ir_version, graph, opset_import


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--runs", type=int, default=200)
    a.add_argument("--layers", type=int, default=8)
    a = a.parse_args()

    session = onnxruntime.InferenceSession(network(a.layers, 32, 256), providers=["CUDAExecutionProvider"])
    assert session.get_providers()[0] == "CUDAExecutionProvider", "it does not run on the GPU"
    x = np.ones((32, 256), np.float32)
    for _ in range(a.runs):
        out = session.run(None, {"x": x})[0]
    print(json.dumps({"runs": a.runs, "shape": out.shape}), flush=True)


if __name__ == "__main__":
    main()
