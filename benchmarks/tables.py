"""How fast are machines stepped through the tables, against the same loop in C?

Both read the same labels with the same number of machines, in turns, on one core. The result is
configuration-steps per second and the ratio to C (gcc or cc, -O3). ``make bench`` runs this.
"""

from __future__ import annotations

import ctypes
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from peers import in_c
from running import parse, parser_of

import cranium
from cranium.tables import ConfigurationSpace
from cranium.tables.kernels import run_many

# C fills n; A and B move one from n to m and back, so the machines keep moving and never end.
MACHINE = """
propositions: [A, B, C]
counters: [n, m]
initial: u
transitions:
  - {from: u, when: A & !B & !C, if: n > 0, add: {n: -1, m: 1}}
  - {from: u, when: B & !A & !C, if: m > 0, add: {n: 1, m: -1}}
  - {from: u, when: C & !A & !B, add: {n: 1}}
"""
SOURCE = """
#include <stdint.h>
int64_t run_many(const int32_t *next, int64_t num, const int32_t *labels, int64_t t_max,
                 int32_t *x, int64_t n) {
  for (int64_t t = 0; t < t_max; t++) {
    const int32_t *row = next + (int64_t)labels[t] * num;
    int32_t lowest = 0;
    for (int64_t i = 0; i < n; i++) {
      int32_t after = row[x[i]];
      lowest = after < lowest ? after : lowest;
      x[i] = after > 0 ? after : 0;
    }
    if (lowest < 0) return t;
  }
  return -1;
}
"""


def main() -> None:
    """Measure, and print the medians over the turns."""
    parser = parser_of(__doc__)
    parser.add_argument("--turns", type=int, default=25)
    parser.add_argument("--machines", type=int, default=4096)
    parser.add_argument("--labels", type=int, default=2000)
    parser.add_argument("--limit", type=int, default=50)
    options = parse(parser, turns=1, machines=64, labels=100)
    space = ConfigurationSpace(cranium.loads(MACHINE), ["A", "B", "C"], counter_limit=options.limit)
    table = np.ascontiguousarray(space.tables.next_configuration)
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=options.labels).astype(np.int32)  # A and B: it never ends
    alive = np.flatnonzero(~space.tables.terminal)
    start = rng.choice(alive, size=options.machines).astype(np.int32)
    address = ctypes.c_void_p
    with tempfile.TemporaryDirectory() as folder:
        loop = in_c(SOURCE, Path(folder)).run_many
        loop.restype = ctypes.c_int64
        own, other = [], []
        expected = start.copy()
        run_many(table, labels, expected)
        for _ in range(options.turns):
            x = start.copy()
            begin = time.perf_counter()
            run_many(table, labels, x)
            own.append(time.perf_counter() - begin)
            y = start.copy()
            begin = time.perf_counter()
            loop(
                table.ctypes.data_as(address),
                ctypes.c_int64(table.shape[1]),
                labels.ctypes.data_as(address),
                ctypes.c_int64(len(labels)),
                y.ctypes.data_as(address),
                ctypes.c_int64(len(y)),
            )
            other.append(time.perf_counter() - begin)
            assert np.array_equal(x, y), "both must do the same"
    steps = len(labels) * len(start)
    ratios = [c / o for o, c in zip(own, other, strict=True)]
    print(f"{len(space):,} configurations, {options.machines:,} machines")
    print(f"ours  {steps / statistics.median(own) / 1e6:7.0f} million configuration-steps a second")
    print(f"C     {steps / statistics.median(other) / 1e6:7.0f} million")
    print(
        f"{statistics.median(ratios):.2f} of the speed of C "
        f"({min(ratios):.2f} to {max(ratios):.2f} over {options.turns} turns)"
    )


if __name__ == "__main__":
    main()
