"""Derivatives of functions, and functions of batches, of a three-layer tanh network in float32."""

import numpy as np
import torch

import numbagrad

TABLE = "Transformations of a three-layer tanh network, float32"
#: 11-22-22-10: 1,000 parameters.
SIZES = (11, 22, 22, 10)
BATCH = 64


def arrays():
    """Weights and biases of the layers, inputs and targets."""
    generator = np.random.default_rng(0)
    parameters = []
    for inputs, outputs in zip(SIZES, SIZES[1:], strict=False):
        parameters.append(generator.normal(size=(inputs, outputs)) / np.sqrt(inputs))
        parameters.append(generator.normal(size=outputs) * 0.1)
    x, y = generator.normal(size=(BATCH, SIZES[0])), generator.normal(size=(BATCH, SIZES[-1]))
    return [array.astype(np.float32) for array in parameters], *map(np.float32, (x, y))


def in_library(library):
    """The loss of a library's tensors, its parameters, inputs and targets."""

    def loss(parameters, x, y):
        for layer in range(0, len(parameters), 2):
            x = library.tanh(x @ parameters[layer] + parameters[layer + 1])
        return ((x - y) ** 2).mean()

    parameters, x, y = arrays()
    tensors = tuple([library.from_numpy(array) for array in parameters])
    return loss, tensors, library.from_numpy(x), library.from_numpy(y)


def hessian_of_vector(library):
    """The function of all second derivatives of the loss of a batch by the parameters."""
    loss, tensors, x, y = in_library(library)

    def of_vector(vector):
        parts = vector.split([tensor.numel() for tensor in tensors])
        shaped = [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]
        return loss(shaped, x, y)

    return library.func.hessian(of_vector)


def hessian(library):
    """The second derivatives at the parameters."""
    _, tensors, _, _ = in_library(library)
    vector = library.cat([tensor.reshape(-1) for tensor in tensors])
    second = hessian_of_vector(library)
    return lambda: second(vector)


def gradients_of_samples(library):
    """The gradient of the loss of every sample alone."""
    loss, tensors, x, y = in_library(library)
    each = library.func.vmap(library.func.grad(loss), in_dims=(None, 0, 0))
    return lambda: each(tensors, x, y)


def product(library):
    """The loss and its derivative in one direction."""
    loss, tensors, x, y = in_library(library)
    directions = tuple([library.ones_like(tensor) for tensor in tensors])
    return lambda: library.func.jvp(lambda *p: loss(p, x, y), tensors, directions)


def test_hessian(race):
    race(
        TABLE, "hessian of the loss, 1,000 parameters", bar=0.5,
        numbagrad=hessian(numbagrad), torch=hessian(torch),
    )  # fmt: skip


def test_gradients_of_samples(race):
    race(
        TABLE, "gradients of 64 samples, vmap(grad)", bar=0.7,
        numbagrad=gradients_of_samples(numbagrad), torch=gradients_of_samples(torch),
    )  # fmt: skip


def test_product(race):
    race(
        TABLE, "jvp of the loss", numbagrad=product(numbagrad), torch=product(torch),
    )  # fmt: skip


def test_product_beside_forward(race):
    loss, tensors, x, y = in_library(numbagrad)
    race(
        TABLE, "jvp of the loss (rival column: our forward alone)", bar=1.5,
        numbagrad=product(numbagrad), forward=lambda: loss(tensors, x, y),
    )  # fmt: skip


def test_compiled_product_beside_forward(race):
    loss, tensors, x, y = in_library(numbagrad)
    directions = tuple([numbagrad.ones_like(tensor) for tensor in tensors])

    @numbagrad.compile
    def along(tensors, directions, x, y):
        return numbagrad.func.jvp(lambda *p: loss(p, x, y), tensors, directions)

    forward = numbagrad.compile(lambda tensors, x, y: loss(tensors, x, y))
    race(
        TABLE, "jvp of the loss, compiled (rival column: our forward, compiled)", bar=1.5,
        numbagrad=lambda: along(tensors, directions, x, y),
        forward=lambda: forward(tensors, x, y),
    )  # fmt: skip


def test_compiled_hessian(race):
    loss, tensors, x, y = in_library(numbagrad)
    second = numbagrad.compile(hessian_of_vector(numbagrad))
    vector = numbagrad.cat([tensor.reshape(-1) for tensor in tensors])
    race(
        TABLE, "hessian of the loss, ours compiled", numbagrad=lambda: second(vector),
        torch=hessian(torch),
    )  # fmt: skip


def test_compiled_gradients_of_samples(race):
    loss, tensors, x, y = in_library(numbagrad)
    each = numbagrad.vmap(numbagrad.func.grad(loss), in_dims=(None, 0, 0))
    compiled = numbagrad.compile(lambda tensors, x, y: each(tensors, x, y))
    race(
        TABLE, "gradients of 64 samples, ours compiled",
        numbagrad=lambda: compiled(tensors, x, y), torch=gradients_of_samples(torch),
    )  # fmt: skip
