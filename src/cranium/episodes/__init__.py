"""Recordings of episodes: of a policy or by hand, saved, and shown as text, pages or videos."""

from cranium.episodes.files import load_episode, save_episode
from cranium.episodes.html import write_html
from cranium.episodes.recording import Episode, RecordedStep, Recorder, record
from cranium.episodes.text import format_machine, format_step
from cranium.episodes.video import write_video

__all__ = [
    "Episode",
    "RecordedStep",
    "Recorder",
    "format_machine",
    "format_step",
    "load_episode",
    "record",
    "save_episode",
    "write_html",
    "write_video",
]
