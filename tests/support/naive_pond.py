"""The dynamics of Water world, one number at a time."""

from __future__ import annotations

import math


class NaivePond:
    """The same world in plain Python; ``step`` returns the colours that were touched.

    It returns None where single precision could decide otherwise.
    """

    def __init__(self, env):
        self.env = env
        self.places = [env.position.tolist(), *env.places.tolist()]
        self.flows = [env.velocity.tolist(), *env.velocities.tolist()]

    def distances(self):
        return [math.dist(self.places[0], other) for other in self.places[1:]]

    def step(self, push):
        env, before = self.env, self.distances()
        for i, part in enumerate(push):
            cut = max(-1.0, min(1.0, part))
            goes = self.flows[0][i] + env.thrust * cut
            self.flows[0][i] = max(-env.top_speed, min(env.top_speed, goes))
        close = False  # too close to call in single precision
        for place, flow in zip(self.places, self.flows, strict=True):
            for i in range(2):
                place[i] += flow[i]
                close |= min(abs(place[i] - env.radius), abs(place[i] - 1 + env.radius)) < 1e-5
                if place[i] < env.radius:
                    place[i] = env.radius + (env.radius - place[i])
                    flow[i] = -flow[i]
                elif place[i] > 1 - env.radius:
                    place[i] = (1 - env.radius) - (place[i] - (1 - env.radius))
                    flow[i] = -flow[i]
        reach = 2 * env.radius
        close |= any(abs(d - reach) < 1e-5 for d in (*before, *self.distances()))
        pairs = zip(env.colours, before, self.distances(), strict=True)
        touched = {colour for colour, was, is_ in pairs if was >= reach > is_}
        return None if close else touched
