"""Value iteration with dictionaries: slow, obvious, and independent of ours."""

from __future__ import annotations


def naive_values(world, label, machine, discount, sweeps, limit=10**9):
    """The optimal value V* of every (state, configuration) that can be reached."""
    start = [(state, machine.start) for _, state in world.initial({})]
    model, queue = {}, list(start)
    while queue:
        pair = queue.pop()
        if pair in model:
            continue
        state, configuration = pair
        model[pair] = []
        for action in range(4):
            row = []
            for chance, after, ends in world.outcomes(state, action):
                step = machine.step(configuration, label(state, action, after))
                over = ends or machine.is_terminal(step.configuration)
                over = over or max(step.configuration.counters, default=0) > limit
                row.append((chance, step.reward, None if over else (after, step.configuration)))
                if not over:
                    queue.append((after, step.configuration))
            model[pair].append(row)
    value = dict.fromkeys(model, 0.0)
    for _ in range(sweeps):
        value = {
            pair: max(
                sum(p * (r + discount * (0 if n is None else value[n])) for p, r, n in row)
                for row in rows
            )
            for pair, rows in model.items()
        }
    return value
