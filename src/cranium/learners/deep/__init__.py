"""Deep learners: counterfactual DQN and TD3 in one compiled loop of JAX (extra ``deep``).

``network``, ``policy`` and ``policy_files`` need only NumPy: a policy can be used without JAX.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

from cranium.errors import InvalidArgumentError, MissingExtraError, shorten
from cranium.io import cache_folder

__all__ = ["require_jax"]


def require_jax(learner: str) -> None:
    """Check that JAX is installed, and set up its persistent compilation cache.

    The cache is in ``JAX_COMPILATION_CACHE_DIR``, by default in the user's cache folder.

    Example:
        >>> require_jax("cdqn")
    """
    # The matrices here are too small for several threads, which would wait for each other.
    os.environ.setdefault("PJRT_NPROC", "1")
    if find_spec("jax") is None:
        raise MissingExtraError.of(
            f"the learner {learner} needs JAX, which is not installed", "deep", "use cql"
        )
    import jax

    settings: Any = jax.config
    if settings.jax_compilation_cache_dir is None:
        settings.update("jax_compilation_cache_dir", str(cache_folder() / "jax"))
        settings.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    try:
        jax.devices()
    except (RuntimeError, AssertionError) as problem:
        raise InvalidArgumentError(
            f"JAX cannot use {shorten(os.environ.get('JAX_PLATFORMS', 'its device'))}: "
            f"{str(problem).splitlines()[0] if str(problem) else 'it is not there'}",
            fix="unset JAX_PLATFORMS, or set it to cpu",
        ) from None
