"""A tracker of a user's own: a file of JSON lines for each run."""

import json
from pathlib import Path


class JsonLines:
    """Writes what it is told into ``runs/GROUP/…/seed N.jsonl``."""

    def begin(self, run):
        self.path = Path("runs", run.folder + ".jsonl")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("")
        self.write(settings={name: str(value) for name, value in run.settings.items()})

    def log(self, samples, values):
        self.write(samples=samples, **values)

    def end(self, status, summary):
        self.write(status=status, **summary)

    def write(self, **values):
        with self.path.open("a") as file:
            file.write(json.dumps(values) + "\n")
