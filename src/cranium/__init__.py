"""Counting reward automata: reward functions for reinforcement learning, as counter machines."""

from cranium.automata import library
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.files import load, save
