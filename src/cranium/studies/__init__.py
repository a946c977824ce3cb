"""Studies: experiments of the user's own, as a value that can be run, resumed and reported."""

from cranium.experiments.tuning import Grid, Optuna
from cranium.studies.files import load_study
from cranium.studies.study import Study

__all__ = ["Grid", "Optuna", "Study", "load_study"]
