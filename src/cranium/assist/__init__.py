"""From words to an automaton that passes checks, with the help of a language model.

The model fills in a small form, the plan. Cranium builds the automaton from it and checks it.
Problems go back to the model, a bounded number of times. Without examples a wrong automaton often
passes: read what it does before you use it. Only serving a model on this machine needs the extra
``llm``.
"""

from pathlib import Path

from cranium.assist.automaton_parser import parse_automaton
from cranium.assist.examples import Example, Examples
from cranium.assist.local_models import (
    LOCAL_MODELS,
    LocalModel,
    download,
    find_downloaded,
    find_local_model,
    models_folder,
)
from cranium.assist.local_server import LocalServer
from cranium.assist.model import Answer, Model, Request
from cranium.assist.openai_model import OpenAIModel
from cranium.assist.paper_prompts import PaperAnswer, ask_paper_prompts
from cranium.assist.plan import (
    PlanStep,
    TaskPlan,
    build_plan_schema,
    parse_plan,
    plan_to_language,
)
from cranium.assist.plan_check import CheckedPlan, accepts, check_plan
from cranium.assist.restate import restate
from cranium.assist.specification import Attempt, Reading, Specification, Verdict
from cranium.assist.specify import replace_plan, specify
from cranium.assist.transcript import Exchange, Transcript

__all__ = [
    "LOCAL_MODELS",
    "RECORDED",
    "Answer",
    "Attempt",
    "CheckedPlan",
    "Example",
    "Examples",
    "Exchange",
    "LocalModel",
    "LocalServer",
    "Model",
    "OpenAIModel",
    "PaperAnswer",
    "PlanStep",
    "Reading",
    "Request",
    "Specification",
    "TaskPlan",
    "Transcript",
    "Verdict",
    "accepts",
    "ask_paper_prompts",
    "build_plan_schema",
    "check_plan",
    "download",
    "find_downloaded",
    "find_local_model",
    "models_folder",
    "parse_automaton",
    "parse_plan",
    "plan_to_language",
    "replace_plan",
    "restate",
    "specify",
]

RECORDED = Path(__file__).parent / "recorded"
"""The folder of the recorded conversations that come with Cranium."""
