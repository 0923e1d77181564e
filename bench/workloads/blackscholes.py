"""blackscholes: price, delta and vega of a million European calls (Black and Scholes, 1973)."""

from __future__ import annotations

import math
from typing import Any

from .workload import Task, Workload, leaf, uniform

OPTIONS = 1_000_000
RATE = 0.03


def data():
    """Spot, volatility, strike and time to expiry."""
    bounds = (80, 120), (0.1, 0.5), (80, 120), (0.2, 2)
    return [uniform(seed, low, high, OPTIONS) for seed, (low, high) in enumerate(bounds)]


def make(torch: Any) -> Task:
    """The step for a torch-like library; returns price, delta, vega."""

    def cumulative(x):
        return 0.5 * (1 + torch.erf(x * math.sqrt(0.5)))

    def step(spot, volatility, strike, expiry):
        spread = volatility * torch.sqrt(expiry)
        d1 = (torch.log(spot / strike) + RATE * expiry) / spread + 0.5 * spread
        discounted = strike * torch.exp(-RATE * expiry)
        price = spot * cumulative(d1) - discounted * cumulative(d1 - spread)
        delta, vega = torch.autograd.grad(price.sum(), (spot, volatility))
        return price.detach(), delta, vega

    spot, volatility, strike, expiry = data()
    leaves = [leaf(torch, spot), leaf(torch, volatility)]
    arguments = *leaves, torch.from_numpy(strike), torch.from_numpy(expiry)
    return Task(step, arguments, leaves)


def make_jax():
    """The step for JAX. Nothing is donated, since no input is used up."""
    import jax
    import jax.numpy as jnp

    def cumulative(x):
        return 0.5 * (1 + jax.lax.erf(x * math.sqrt(0.5)))

    def price_of(spot, volatility, strike, expiry):
        spread = volatility * jnp.sqrt(expiry)
        d1 = (jnp.log(spot / strike) + RATE * expiry) / spread + 0.5 * spread
        discounted = strike * jnp.exp(-RATE * expiry)
        return spot * cumulative(d1) - discounted * cumulative(d1 - spread)

    @jax.jit
    def step(spot, volatility, strike, expiry):
        price, pull = jax.vjp(lambda s, v: price_of(s, v, strike, expiry), spot, volatility)
        return price, *pull(jnp.ones_like(price))

    arguments = [jnp.asarray(each) for each in data()]
    return lambda: jax.block_until_ready(step(*arguments))[0]


workload = Workload("blackscholes", "price, delta, vega of 1e6 options", 0.7, make, make_jax)
