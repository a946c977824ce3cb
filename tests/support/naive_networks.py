"""Counterfactual DQN and TD3 with lists, loops and gradients by hand, slowly and obviously.

DQN draws the same random numbers as the fused loop: for sample n the numbers that belong to n.
"""

from __future__ import annotations

import jax
import numpy as np
from gymnasium import spaces


def passed(network, ground, machine):
    """What the layers put out, the last one last; the first is what goes in."""
    (first, bias), *rest = network
    hidden = [np.concatenate([ground, machine])]
    hidden.append(hidden[0] @ first + bias)
    for weights, bias in rest:
        hidden.append(np.maximum(hidden[-1], 0) @ weights + bias)
    return hidden


def slope(network, hidden, back):
    """The gradient of what is put out times ``back``, by the weights and by what went in."""
    found = []
    for layer in range(len(network) - 1, -1, -1):
        inner = hidden[layer] if layer == 0 else np.maximum(hidden[layer], 0)
        found.append((np.outer(inner, back), back.copy()))
        back = network[layer][0] @ back
        if layer:
            back = back * (hidden[layer] > 0)
    return found[::-1], back


def nothing(network):
    """A gradient of zeros."""
    return [tuple(np.zeros_like(part) for part in layer) for layer in network]


def total(one, other):
    """The sum of two gradients."""
    pairs = zip(one, other, strict=True)
    return [tuple(a + b for a, b in zip(x, y, strict=True)) for x, y in pairs]


class NaiveAdam:
    def __init__(self, network):
        self.mean = [[np.zeros_like(part) for part in layer] for layer in network]
        self.square = [[np.zeros_like(part) for part in layer] for layer in network]
        self.count = 0

    def step(self, network, gradient, rate):
        self.count += 1
        after = []
        for i, layer in enumerate(network):
            parts = []
            for j, part in enumerate(layer):
                g = gradient[i][j]
                self.mean[i][j] = 0.9 * self.mean[i][j] + 0.1 * g
                self.square[i][j] = 0.999 * self.square[i][j] + 0.001 * g**2
                mean = self.mean[i][j] / (1 - 0.9**self.count)
                square = self.square[i][j] / (1 - 0.999**self.count)
                parts.append(part - rate * mean / (np.sqrt(square) + 1e-8))
            after.append(tuple(parts))
        return after


class NaiveDQN:
    """Learns in a product of a listed world, one sample after the other."""

    def __init__(self, product, world, config, key, network, state, possible):
        self.machine, self.world, self.config = product.automaton, world, config
        self.encoding_ground = product.env.observation_space
        self.horizon = product.horizon
        self.possible = possible  # configurations; what leads elsewhere cannot be imagined
        self.key = jax.random.fold_in(key, 0)
        self.network = [tuple(np.asarray(part, float) for part in layer) for layer in network]
        self.target, self.adam = self.network, NaiveAdam(self.network)
        self.replay, self.samples, self.age = [], 0, 0
        self.state, self.x = state, self.machine.start
        self.successes = self.episodes = 0

    def q(self, network, observation, x, show):
        ground = spaces.flatten(self.encoding_ground, observation)
        return passed(network, np.asarray(ground, float), np.asarray(show(x), float))

    def step(self, configurations, show):
        """One sample and one update, on all configurations given."""
        config, world = self.config, self.world
        batch = config.batch
        u = jax.random.uniform(jax.random.fold_in(self.key, self.samples), (4 + batch,))
        u = np.asarray(u)
        seen = world.observations[world.observation[self.state]]
        best = int(np.argmax(self.q(self.network, seen, self.x, show)[-1]))
        explores = u[0] < config.exploration.at(self.samples)
        action = int(u[1] * world.num_actions) if explores else best
        state, label, ended = self.outcome(self.state, action, u[2])
        after = world.observations[world.observation[state]]
        self.replay.append((seen, action, after, label, ended))
        then = self.machine.step(self.x, label).configuration
        self.samples, self.age = self.samples + 1, self.age + 1
        over = ended or self.machine.is_terminal(then) or self.age == self.horizon
        self.state, self.x = state, then
        if over:
            self.episodes += 1
            self.successes += self.machine.is_accepting(then)
            self.state, self.x, self.age = self.start(u[3]), self.machine.start, 0
        self.learn(
            [self.replay[int(one * len(self.replay))] for one in u[4:]], configurations, show
        )

    def outcome(self, state, action, u):
        world = self.world
        pair, total = state * world.num_actions + action, 0.0
        for k in range(world.first[pair], world.first[pair + 1]):
            total += world.probability[k]
            if u < total:
                break
        known = frozenset(self.machine.propositions)
        return int(world.next_state[k]), world.labels[world.label[k]] & known, world.terminated[k]

    def start(self, u):
        total = 0.0
        for state in np.flatnonzero(self.world.initial):
            total += self.world.initial[state]
            if u < total:
                break
        return int(state)

    def learn(self, some, configurations, show):
        config = self.config
        gradient = nothing(self.network)
        pairs = [
            (one, x)
            for one in some
            for x in configurations
            if self.machine.step(x, one[3]).configuration in self.possible
        ]
        for (seen, action, after, label, ended), x in pairs:
            found = self.machine.step(x, label)
            goal = found.reward
            if not (ended or self.machine.is_terminal(found.configuration)):
                ahead = self.q(self.target, after, found.configuration, show)[-1]
                chosen = int(np.argmax(ahead))
                if config.double:
                    mine = self.q(self.network, after, found.configuration, show)[-1]
                    chosen = int(np.argmax(mine))
                goal += config.discount * ahead[chosen]
            hidden = self.q(self.network, seen, x, show)
            error = np.clip(hidden[-1][action] - goal, -1, 1) / len(pairs)
            back = np.zeros(len(hidden[-1]))
            back[action] = error
            gradient = total(gradient, slope(self.network, hidden, back)[0])
        if self.samples >= config.warmup:
            self.network = self.adam.step(self.network, gradient, config.learning_rate)
        if self.samples % config.target_every == 0:
            self.target = self.network


class NaiveTD3:
    """The updates of TD3; experiences are (seen, action, seen then, label, whether it ended)."""

    def __init__(self, machine, config, actor, critics, show, possible):
        self.machine, self.config, self.show = machine, config, show
        self.possible = possible  # configurations; what leads elsewhere cannot be imagined
        self.actor, self.critics = actor, list(critics)
        self.slow_actor, self.slow_critics = actor, list(critics)
        self.actor_adam = NaiveAdam(actor)
        self.critic_adam = [NaiveAdam(critic) for critic in critics]

    def act(self, actor, seen, x):
        hidden = passed(actor, seen, self.show(x))
        return np.tanh(hidden[-1]), hidden

    def q(self, critic, seen, action, x):
        return passed(critic, np.concatenate([seen, action]), self.show(x))

    def goal(self, after, label, ended, x, noise):
        config, found = self.config, self.machine.step(x, label)
        then = found.configuration
        if ended or self.machine.is_terminal(then):
            return found.reward
        noise = np.clip(config.target_noise * noise, -config.noise_clip, config.noise_clip)
        action = np.clip(self.act(self.slow_actor, after, then)[0] + noise, -1, 1)
        values = [self.q(critic, after, action, then)[-1][0] for critic in self.slow_critics]
        return found.reward + config.discount * min(values)

    def learn(self, some, configurations, noise, samples):
        if samples < self.config.warmup:
            return
        config = self.config
        goals = {
            (i, x): self.goal(after, label, ended, x, noise[i])
            for i, (_, _, after, label, ended) in enumerate(some)
            for x in configurations
            if self.machine.step(x, label).configuration in self.possible
        }
        for c, critic in enumerate(self.critics):
            gradient = nothing(critic)
            for (i, x), goal in goals.items():
                hidden = self.q(critic, some[i][0], some[i][1], x)
                back = 2 * (hidden[-1] - goal) / len(goals)
                gradient = total(gradient, slope(critic, hidden, back)[0])
            self.critics[c] = self.critic_adam[c].step(critic, gradient, config.learning_rate)
        if samples % config.delay == 0:
            self.learn_to_act([(some[i][0], x) for i, x in goals])

    def learn_to_act(self, pairs):
        gradient, critic = nothing(self.actor), self.critics[0]
        better = np.array([-1 / len(pairs)])
        for seen, x in pairs:
            action, hidden = self.act(self.actor, seen, x)
            back = slope(critic, self.q(critic, seen, action, x), better)[1]
            by_action = back[len(seen) : len(seen) + len(action)] * (1 - action**2)
            by_action += 2 * self.config.restraint * hidden[-1] / len(pairs)
            gradient = total(gradient, slope(self.actor, hidden, by_action)[0])
        self.actor = self.actor_adam.step(self.actor, gradient, self.config.learning_rate)
        self.slow_actor = self.follow(self.slow_actor, self.actor)
        pairs = zip(self.slow_critics, self.critics, strict=True)
        self.slow_critics = [self.follow(slow, fast) for slow, fast in pairs]

    def follow(self, slow, fast):
        pairs = zip(slow, fast, strict=True)
        share = self.config.polyak
        return [tuple(s + share * (f - s) for s, f in zip(x, y, strict=True)) for x, y in pairs]
