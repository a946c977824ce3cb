"""What ours is compared with, and how: PyCRM, C, dictionaries; turns, ratios."""

from __future__ import annotations

import ctypes
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from cranium.learners.tabular import kernels
from cranium.learners.tabular.fused import TabularRun
from cranium.worlds import FiniteEnv

try:
    from pycrm.automaton import CountingRewardMachine
    from pycrm.label import LabellingFunction
except ImportError:
    sys.exit("the peer is not installed: run make bench")


class Event(Enum):
    """The propositions, as PyCRM wants them."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"
    mail = "mail"
    empty = "empty"
    coffee = "coffee"
    person = "person"
    decoration = "decoration"
    a = "a"
    b = "b"
    c = "c"
    d = "d"


# The two tasks of the paper as a PyCRM user writes them: for each state, in order, what is read,
# the next state, the change and the reward; -1 ends.
Row = tuple[str, int, tuple[int, ...], float]
LETTER: dict[int, list[Row]] = {
    0: [
        ("A / (-)", 0, (1,), 0),
        ("B / (NZ)", 1, (0,), 0),
        ("B / (Z)", -1, (0,), 0),
        ("C or D / (-)", -1, (0,), 0),
        ("/ (-)", 0, (0,), 0),
    ],
    1: [("C / (-)", 2, (0,), 0), ("A or B or D / (-)", -1, (0,), 0), ("/ (-)", 1, (0,), 0)],
    2: [
        ("D / (NZ)", 2, (-1,), 0),
        ("A or B or C / (NZ)", -1, (0,), 0),
        ("/ (Z)", -1, (0,), 1),
        ("/ (NZ)", 2, (0,), 0),
    ],
}
OFFICE: dict[int, list[Row]] = {
    0: [
        ("mail / (-,-)", 0, (1, 1), 0),
        ("empty / (NZ,-)", 1, (0, 0), 0),
        ("empty / (Z,-)", -1, (0, 0), 0),
        ("coffee or person or decoration / (-,-)", -1, (0, 0), 0),
        ("/ (-,-)", 0, (0, 0), 0),
    ],
    1: [
        ("coffee / (NZ,-)", 1, (-1, 0), 0),
        ("mail or empty or person or decoration / (NZ,-)", -1, (0, 0), 0),
        ("/ (Z,-)", 2, (0, 0), 0),
        ("/ (NZ,-)", 1, (0, 0), 0),
    ],
    2: [
        ("person / (-,NZ)", 2, (0, -1), 0),
        ("mail or empty or coffee or decoration / (-,NZ)", -1, (0, 0), 0),
        ("/ (-,Z)", -1, (0, 0), 1),
        ("/ (-,NZ)", 2, (0, 0), 0),
    ],
}


class PeerMachine(CountingRewardMachine):
    """A machine from such rows; it imagines counters up to a limit."""

    u_0 = 0
    c_0: tuple[int, ...] = (0,)

    def __init__(self, rows: dict[int, list[Row]], limit: int = 0) -> None:
        self.rows = rows
        self.limit = limit
        self.c_0 = (0,) * len(rows[0][0][2])
        super().__init__(env_prop_enum=Event)

    def _get_state_transition_function(self) -> dict:
        return {u: {row[0]: row[1] for row in rows} for u, rows in self.rows.items()}

    def _get_counter_transition_function(self) -> dict:
        return {u: {row[0]: row[2] for row in rows} for u, rows in self.rows.items()}

    def _get_reward_transition_function(self) -> dict:
        return {u: {row[0]: row[3] for row in rows} for u, rows in self.rows.items()}

    def sample_counter_configurations(self) -> list[tuple[int, ...]]:
        """From which counter values an experience is imagined."""
        return [(value,) * len(self.c_0) for value in range(self.limit + 1)]


class PeerLabels(LabellingFunction):
    """The world's own events, as far as the task knows them."""

    def __init__(self, world: FiniteEnv, known: tuple[str, ...]) -> None:
        super().__init__()
        self.world = world
        self.known = {name: Event(name) for name in known}

    def __call__(self, obs: Any, action: Any, next_obs: Any) -> set[Event]:
        """The events of the last step."""
        return {self.known[name] for name in self.world.events if name in self.known}


def in_c(source: str, folder: Path, *flags: str) -> ctypes.CDLL:
    """Compile a piece of C."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        sys.exit("no C compiler was found")
    name = "-".join(["loop", *(flag.strip("-") for flag in flags)])
    code, library = folder / f"{name}.c", folder / f"{name}.so"
    code.write_text(source, encoding="utf-8")
    optimised = [compiler, "-O3", "-march=native", *flags, "-shared", "-fPIC"]
    subprocess.run([*optimised, str(code), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


# The loop of ``cranium.learners.tabular.loop_kernels.run``, with a constant learning rate.
CQL_IN_C = """
#include <stdint.h>
typedef struct { unsigned __int128 state, inc; } pcg;
typedef struct {
  const int32_t *first, *next_state; const double *cumulative; const int32_t *row;
  const uint8_t *terminated; const double *extra; const int32_t *starts;
  const double *start_cumulative; const int32_t *observation;
} world;
typedef struct {
  double *q; const int32_t *next, *function, *ending; int32_t *members; const int32_t *counters;
  int32_t *known; const double *reward, *potential; double *targets;
  const double *rates, *settings; int64_t *at;
} learner;
enum { STATE, X, AGE, SAMPLES, MEMBERS };

static inline double draw(pcg *g) {
  g->state = g->state * (((unsigned __int128)2549297995355413924ULL << 64)
                         + 4865540595714422341ULL) + g->inc;
  uint64_t high = g->state >> 64, mixed = high ^ (uint64_t)g->state, turn = high >> 58;
  return ((mixed >> turn | mixed << (-turn & 63)) >> 11) * (1.0 / 9007199254740992.0);
}
static inline void note(const learner *m, int32_t x, int64_t configurations) {
  int kind = (int)m->settings[0];
  if (kind == 0) { m->members[0] = x; m->at[MEMBERS] = 1; return; }
  if (kind != 1 || m->known[m->counters[x]]) return;
  m->known[m->counters[x]] = 1;
  for (int32_t y = 0; y < configurations; y++)
    if (m->counters[y] == m->counters[x] && !m->ending[y]) m->members[m->at[MEMBERS]++] = y;
}
static inline double paid(const learner *m, int64_t cell, const double *extra) {
  int32_t f = m->function[cell];
  return m->reward[cell] + extra[0] + (f >= 0 ? extra[1 + f] : 0.0);
}
static inline double aim(const learner *m, const double *q, int64_t actions, int64_t table,
                         int32_t x, int ended, const double *extra) {
  int32_t then = m->next[table + x];
  double target = paid(m, table + x, extra) - m->potential[x];
  if (ended || m->ending[then]) return target;
  double best = q[then * actions];
  for (int64_t a = 1; a < actions; a++)
    best = q[then * actions + a] > best ? q[then * actions + a] : best;
  return target + m->settings[1] * (best + m->potential[then]);
}
int64_t run(const world *w, const learner *m, pcg *agent, pcg *nature, double *ends, double *log,
            int64_t steps, int32_t start, int64_t starts, int64_t xs, int64_t actions,
            int64_t extras, int64_t rows) {
  int64_t *at = m->at, horizon = (int64_t)m->settings[2];
  double rate = m->rates[1];
  for (int64_t t = 0; t < steps; t++) {
    int64_t s = at[STATE]; int32_t x = at[X], o = w->observation[s];
    double explore = draw(agent), pick = draw(agent);
    double share = at[SAMPLES] / m->rates[6];
    double eps = m->rates[4] + (m->rates[5] - m->rates[4]) * (share < 1.0 ? share : 1.0);
    const double *here = m->q + (o * xs + x) * actions;
    int64_t action = 0;
    if (explore < eps) action = (int64_t)(pick * actions);
    else {
      double best = here[0]; int64_t ties = 1;
      for (int64_t a = 1; a < actions; a++) {
        if (here[a] > best) { best = here[a]; ties = 1; }
        else if (here[a] == best) ties++;
      }
      int64_t wanted = (int64_t)(pick * ties);
      while (here[action] != best || wanted-- > 0) action++;
    }
    int64_t pair = s * actions + action, k = w->first[pair];
    double drawn = draw(nature);
    while (k < w->first[pair + 1] - 1 && w->cumulative[k] <= drawn) k++;
    int32_t after = w->observation[w->next_state[k]], ended = w->terminated[k];
    int64_t table = w->row[k] * xs;
    const double *extra = w->extra + k * extras, *there = m->q + after * xs * actions;
    double *mine = m->q + o * xs * actions + action;
    if (m->next[table + x] < 0) return -1;
    if (after == o) {
      for (int64_t i = 0; i < at[MEMBERS]; i++)
        if (m->next[table + m->members[i]] >= 0)
          m->targets[i] = aim(m, there, actions, table, m->members[i], ended, extra);
      for (int64_t i = 0; i < at[MEMBERS]; i++) {
        int32_t y = m->members[i];
        double *value = mine + y * actions;
        if (m->next[table + y] >= 0) *value += rate * (m->targets[i] - *value);
      }
    } else for (int64_t i = 0; i < at[MEMBERS]; i++) {
      int32_t y = m->members[i];
      if (m->next[table + y] < 0) continue;
      double target = aim(m, there, actions, table, y, ended, extra);
      mine[y * actions] += rate * (target - mine[y * actions]);
    }
    if (!__builtin_isfinite(here[action])) return -3;
    int32_t then = m->next[table + x], end = m->ending[then];
    at[AGE]++; at[SAMPLES]++;
    ends[3] += paid(m, table + x, extra);
    if (ended || end || at[AGE] == horizon) {
      double *entry = log + 3 * ((int64_t)ends[0] % rows);
      entry[0] = at[SAMPLES]; entry[1] = ends[3]; entry[2] = end == 2;
      ends[0]++; ends[1] += end == 2; ends[2] += end == 3; ends[3] = 0.0;
      int64_t i = 0;
      drawn = draw(nature);
      while (i < starts - 1 && w->start_cumulative[i] <= drawn) i++;
      at[STATE] = w->starts[i]; at[X] = start; at[AGE] = 0;
    } else { at[STATE] = w->next_state[k]; at[X] = then; }
    note(m, at[X], xs);
  }
  return 0;
}
"""


class LoopInC:
    """The same loop in C, on the arrays of a run of ours."""

    def __init__(self, run: TabularRun, library: ctypes.CDLL) -> None:
        self.run, self.function = run, library.run
        learner, world = run.agent.tables.arrays, run.world
        skipped = ("visits", "candidates", "extra", "randoms")
        arrays = [getattr(learner, name) for name in learner._fields if name not in skipped]
        self.kept = [self._pointers(world), self._pointers(arrays)]
        self.kept += [self._state(run.agent.rng), self._state(run.nature), run.ends]
        self.kept.append(run.log.ring)
        sizes = (len(world.starts), *learner.q.shape[1:], world.extra.shape[1], len(run.log.ring))
        self.sizes = [ctypes.c_int64(size) for size in sizes]

    @staticmethod
    def _pointers(arrays: Any) -> np.ndarray:
        return np.array([array.ctypes.data for array in arrays], np.uint64)

    @staticmethod
    def _state(rng: np.random.Generator) -> np.ndarray:
        """Where PCG64 stands, and its increment: two numbers of 128 bits, low halves first."""
        found, low = rng.bit_generator.state["state"], 2**64 - 1
        halves = [(found[name] >> shift) & low for name in ("state", "inc") for shift in (0, 64)]
        memory = np.zeros(6, np.uint64)
        aligned = memory[(memory.ctypes.data % 16) // 8 :][:4]
        aligned[:] = halves
        return aligned

    def learn(self, steps: int) -> None:
        """Take so many samples."""
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in self.kept]
        start = ctypes.c_int32(self.run.agent.first)
        assert self.function(*pointers, ctypes.c_int64(steps), start, *self.sizes) == 0


class Dictionaries:
    """The same in plain Python: Q, the world and the machine are dictionaries."""

    def __init__(self, run: TabularRun) -> None:
        tables, world, tabular = run.agent.tables, run.model.world, run.world
        arrays, self.config = tables.arrays, run.agent.config
        self.rng, self.nature = run.agent.rng, run.nature
        seen = [tuple(observation.tolist()) for observation in world.observations]
        self.see = [seen[number] for number in world.observation]
        names = tables.space.configurations
        self.alive = [
            names[x] for x in arrays.members[: run.agent.tables.position[kernels.MEMBERS]]
        ]
        self.q = {(o, x): [self.config.first_value] * 4 for o in seen for x in names}
        self.machine = {}
        for row, x in np.ndindex(arrays.reward.shape):
            then = arrays.next_configuration[row, x]
            if then >= 0:  # else this cannot happen in this world
                edge = names[then], float(arrays.reward[row, x]), bool(arrays.ending[then])
                self.machine[names[x], row] = edge
        self.world = {}
        for pair in range(len(world.first) - 1):
            (k,) = range(world.first[pair], world.first[pair + 1])  # moves are certain here
            self.world[divmod(pair, 4)] = int(world.next_state[k]), int(tabular.row[k])
        self.starts, self.first = tabular.starts.tolist(), names[run.agent.first]
        self.state, self.x = int(tables.position[kernels.STATE]), self.first
        self.age, self.horizon = 0, tables.horizon

    def learn(self, steps: int) -> None:
        """Take so many samples."""
        q, rate, discount = self.q, self.config.learning_rate, self.config.discount
        for _ in range(steps):
            o = self.see[self.state]
            explore, pick, values = self.rng.random(), self.rng.random(), q[o, self.x]
            if explore < self.config.exploration:
                action = int(pick * 4)
            else:
                best = max(values)
                ties = [a for a in range(4) if values[a] == best]
                action = ties[int(pick * len(ties))]
            self.nature.random()
            after, row = self.world[self.state, action]
            there, learned = self.see[after], []
            for y in self.alive:
                if (y, row) in self.machine:
                    then, target, over = self.machine[y, row]
                    if not over:
                        target += discount * max(q[there, then])
                    learned.append((q[o, y], target))
            for old, target in learned:
                old[action] += rate * (target - old[action])
            self.x, _, over = self.machine[self.x, row]
            self.state, self.age = after, self.age + 1
            if over or self.age == self.horizon:
                start = int(self.nature.random() * len(self.starts))
                self.state, self.x, self.age = self.starts[start], self.first, 0


def by_turns(runs: Mapping[str, Callable[[], float]], turns: int) -> dict[str, list[float]]:
    """What each of them says, again and again by turns, so that a busy machine slows all."""
    for run in runs.values():
        run()  # warm up
    found: dict[str, list[float]] = {kind: [] for kind in runs}
    for _ in range(turns):
        for kind, run in runs.items():
            found[kind].append(run())
    return found


def medians(found: Mapping[str, list[float]]) -> dict[str, float]:
    """The middle one of each."""
    return {kind: statistics.median(values) for kind, values in found.items()}


def ratio(found: Mapping[str, list[float]], slow: str, fast: str) -> dict[str, float]:
    """How many times as long one takes as the other, turn by turn: the median and the range."""
    ratios = [a / b for a, b in zip(found[slow], found[fast], strict=True)]
    return {"median": statistics.median(ratios), "least": min(ratios), "greatest": max(ratios)}
