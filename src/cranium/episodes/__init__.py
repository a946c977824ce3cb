"""Episodes that are kept: played by hand or by an agent, and shown again step by step."""

from cranium.episodes.files import load_episode, save_episode
from cranium.episodes.html import write_page
from cranium.episodes.recording import Episode, Moment, Recorder, record
from cranium.episodes.text import as_text, machine_text
from cranium.episodes.video import write_film

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
