"""Studies: experiments of the user's own, as a value that can be run, resumed and reported."""

from cranium.experiments.study_trial import Recorded
from cranium.experiments.tuning import Candidates, Grid, Optuna
from cranium.studies.contenders import Method
from cranium.studies.files import load_study
from cranium.studies.joint import JointStudy, Trials
from cranium.studies.study import Study

__all__ = [
    "Candidates",
    "Grid",
    "JointStudy",
    "Method",
    "Optuna",
    "Recorded",
    "Study",
    "Trials",
    "load_study",
]
