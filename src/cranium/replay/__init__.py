"""Episodes that are kept: played by hand or by an agent, and shown again step by step."""

from cranium.replay.episode import Episode, Moment, Recorder, record
from cranium.replay.files import load_episode, save_episode
from cranium.replay.film import write_film
from cranium.replay.page import write_page
from cranium.replay.text import as_text, machine_text

__all__ = [
    "Episode",
    "Moment",
    "Recorder",
    "as_text",
    "load_episode",
    "machine_text",
    "record",
    "save_episode",
    "write_film",
    "write_page",
]
