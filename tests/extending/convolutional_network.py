"""A network of a user's own: two convolutions for the image, joined with the machine's features."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

FILTERS, UNITS = (8, 16), 64


def convolve(image, filters):
    """Apply 3 × 3 filters and ReLU: [B, H, W, C] to [B, H, W, F]."""
    axes = ("NHWC", "HWIO", "NHWC")
    return jax.nn.relu(
        jax.lax.conv_general_dilated(image, filters, (1, 1), "SAME", dimension_numbers=axes)
    )


def draw(key, *shape):
    """Draw weights uniformly within 1 / √(inputs)."""
    inputs = jnp.prod(jnp.array(shape[:-1]))
    return jax.random.uniform(key, shape, minval=-1.0, maxval=1.0) / jnp.sqrt(inputs)


class ConvolutionalNetwork(NamedTuple):
    """Q-values for images: ``cranium.train(env, "cdqn", network=ConvolutionalNetwork(4))``."""

    actions: int

    def init(self, key, given):
        """Draw the weights for images [B, H, W, C] and machine features [B, K, M]."""
        _, height, width, channels = given.observation.shape
        pixels, machine = height * width * FILTERS[1], given.machine.shape[-1]
        keys = jax.random.split(key, 5)
        return {
            "filters": [
                draw(keys[0], 3, 3, channels, FILTERS[0]),
                draw(keys[1], 3, 3, *FILTERS),
            ],
            "image": draw(keys[2], pixels, UNITS),
            "machine": draw(keys[3], machine, UNITS),
            "output": draw(keys[4], UNITS, self.actions),
        }

    def apply(self, params, given):
        """Encode each image once, and join it with each of its K configurations: [B, K, A]."""
        image = given.observation / 255
        for filters in params["filters"]:
            image = convolve(image, filters)
        pixels = image.reshape(len(image), 1, -1) @ params["image"]
        hidden = jax.nn.relu(pixels + given.machine @ params["machine"])
        return hidden @ params["output"]
