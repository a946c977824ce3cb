"""Every case of a benchmark with every seed, on all cores."""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

from peers import write


def run_cases(
    name: str,
    about: str,
    cases: Iterable[str],
    one: Callable[[str, int], Any],
    tell: Callable[[list[Any]], str],
) -> None:
    """Run a function of a case and a seed, say what came of each case, and write it down."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    count = parser.parse_args().seeds
    found = {}
    # JAX cannot be forked.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        for case in cases:
            found[case] = list(pool.map(partial(one, case), range(count)))
            print(f"{case:<45} {tell(found[case])}", flush=True)
    write(name, found)
