"""A step of an episode, for the page "Playing and watching"."""

import sys

import gymnasium
from PIL import Image

import cranium
from cranium.episodes import record
from cranium.episodes.frames import render_frames

env = gymnasium.make("cranium/Office-mail-and-coffee-v0", mail=2)
policy = cranium.train(env, "planner", steps=5000, until="solved").policy
episode = record(env, policy, world="Office", pictures=True)
states = [recorded.configuration for recorded in episode.steps]
step = states.index(("make coffee", (1, 2)))
Image.fromarray(list(render_frames(episode))[step]).quantize(32).save(sys.argv[1], optimize=True)
