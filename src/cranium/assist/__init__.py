"""From words to an automaton that passes checks, with the help of a language model.

The model fills a small form (the plan); our own code makes the machine from it and checks it. What
does not pass goes back to the model, a bounded number of times, and then is an error. Without
examples a wrong machine often passes: read what it does before it is used. Needs the extra ``llm``,
except to replay a conversation that was recorded.
"""

from pathlib import Path

from cranium.assist.examples import Example
from cranium.assist.local import (
    OFFERS,
    LocalServer,
    Offer,
    fetch,
    find_model,
    find_offer,
    models_folder,
)
from cranium.assist.model import Answer, Model, Request
from cranium.assist.openai_model import OpenAIModel
from cranium.assist.paper import PaperAnswer, ask_as_the_paper
from cranium.assist.plan import PlanStep, TaskPlan, language_of, parse_plan, plan_schema
from cranium.assist.reply_parser import parse_automaton
from cranium.assist.restate import restate
from cranium.assist.specify import (
    Attempt,
    Reading,
    Specification,
    Verdict,
    specify,
    specify_plan,
)
from cranium.assist.transcript import Exchange, Transcript
from cranium.assist.verify import Checked, accepts, check_plan

__all__ = [
    "OFFERS",
    "RECORDED",
    "Answer",
    "Attempt",
    "Checked",
    "Example",
    "Exchange",
    "LocalServer",
    "Model",
    "Offer",
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
    "ask_as_the_paper",
    "check_plan",
    "fetch",
    "find_model",
    "find_offer",
    "language_of",
    "models_folder",
    "parse_automaton",
    "parse_plan",
    "plan_schema",
    "restate",
    "specify",
    "specify_plan",
]

RECORDED = Path(__file__).parent / "recorded"
"""Conversations with a real model that come with Cranium."""
