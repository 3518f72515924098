"""Trains a small network of matrix products with JAX, by a compiled step. Prints a JSON line at the
end."""

import argparse
import json

import jax
import jax.numpy as jnp
from jax._src import hardware_utils

# Without /dev/nvidia0 or /dev/nvidiactl, JAX assumes that there is no GPU. The hollow GPU does not
# make these files.
hardware_utils.has_visible_nvidia_gpu = lambda: True


def loss(weights, x, y):
    for w in weights:
        x = jnp.tanh(x @ w)
    return jnp.mean((x - y) ** 2)


@jax.jit
def step(weights, x, y):
    value, gradient = jax.value_and_grad(loss)(weights, x, y)
    return [w - 0.01 * g for w, g in zip(weights, gradient)], value


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--steps", type=int, default=200)
    a.add_argument("--layers", type=int, default=4)
    a = a.parse_args()

    device = jax.devices()[0]
    assert device.platform == "gpu", "it does not run on the GPU"
    key = jax.random.key(1)
    weights = [jax.random.normal(key, (256, 256)) for _ in range(a.layers)]
    x, y = jnp.ones((32, 256)), jnp.zeros((32, 256))
    for _ in range(a.steps):
        weights, value = step(weights, x, y)
        float(value)  # waits, like a program that prints its loss
    print(json.dumps({"steps": a.steps, "device": device.device_kind}), flush=True)


if __name__ == "__main__":
    main()
