"""An engine that runs the trials of an experiment in the process of the test."""

from __future__ import annotations

from cranium.experiments.local_engine import run_job


class InProcessEngine:
    """Runs one trial after the other in this process; ``ran`` lists their names."""

    workers = 1

    def __init__(self):
        self.ran = []

    def run(self, jobs):
        for job in jobs:
            self.ran.append(job.name)
            yield job, run_job(job)
