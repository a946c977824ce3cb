"""Every case of a benchmark with every seed, on all cores."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from running import parse, parser_of, write


def run_cases(
    name: str,
    about: str | None,
    cases: Iterable[str],
    one: Callable[[str, int, int], Any],
    tell: Callable[[list[Any]], str],
    *,
    seeds: int = 20,
) -> None:
    """Run a function of a case, a seed and the most samples; tell and write what it returns."""
    parser = parser_of(about)
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--most", type=int, default=sys.maxsize, help="samples of each run")
    parser.add_argument("--only", default="", help="the cases whose names contain this")
    given = parse(parser, seeds=1, most=200)
    found = {}
    # JAX cannot be forked.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = {
            case: [pool.submit(one, case, seed, given.most) for seed in range(given.seeds)]
            for case in cases
            if given.only in case
        }
        for case, runs in jobs.items():
            found[case] = [run.result() for run in runs]
            print(f"{case:<45} {tell(found[case])}", flush=True)
    write(name, found, smoke=given.smoke)
