"""Plans: the form that a language model fills in, and the formal language that it stands for.

A model writes no automaton and no code. It fills in a small typed form, which is validated, and
:func:`plan_to_language` alone decides what a plan means. The messages of :class:`PlanError` are
sent back to the model. They are part of recorded conversations, so changing their words makes
recordings useless.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from cranium.assist.model import JSONObject
from cranium.errors import InvalidArgumentError, PlanError, UnknownNameError, shorten
from cranium.languages import Language, parse_language

__all__ = [
    "EVERY_STEP",
    "PlanStep",
    "TaskPlan",
    "build_plan_schema",
    "check_events",
    "find_mentioned_rewards",
    "parse_plan",
    "plan_to_language",
]

COUNT = r"[1-9][0-9]{0,2}|[1-9]?[NMK](\+[1-9])?|[0-9]{1,2}\+|at most [1-9][0-9]?"
"""How often a step is repeated: ``3``, ``N``, ``2N``, ``N+1``, ``1+``, ``0+``, ``at most 2``."""
MAX_STEPS, MAX_EVENTS, MAX_PHRASE, MAX_NAMES = 12, 8, 200, 50
MAX_ANSWER = 100_000
"""How many characters of an answer are searched for a plan."""
REWARD_WORD = re.compile(
    r"\b(?:rewards?|points|(?:a|one|half a) point|pays?|paid|costs?|loses?|gains?|earns?|penalt\w+|"
    r"worth|scores?|fined)\b",
    re.IGNORECASE,
)
STEP = r"(?:time )?(?:step|move|action|turn)"
EVERY_STEP = re.compile(rf"\b(?:every|each|per) (?:single )?{STEP}\b", re.IGNORECASE)
LOSS_WORD = re.compile(r"\b(?:loses?|penalt\w+|costs?|fined|minus|negative)\b", re.IGNORECASE)
RESERVED = frozenset(
    {"where", "never", "with", "finally", "shuffle", "and", "or", "not", "true", "false"}
)


class PlanStep(BaseModel):
    """One step of a task.

    Attributes:
        phrase: The words of the description that the step comes from.
        events: The names of its events.
        how: How the events combine: ``"sequence"``, one after the other; ``"choice"``, one of them;
            or ``"any order"``, all of them in any order.
        count: How often the step is repeated: ``"3"``; ``"N"``, a number that is the same wherever
            N is written; ``"2N"``, ``"N+1"``; ``"1+"``, one or more; ``"0+"``, any number;
            ``"at most 2"``.

    Example:
        >>> PlanStep(phrase="three keys", events=["key"], count="3").count
        '3'
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    phrase: Annotated[str, Field(max_length=MAX_PHRASE)] = ""
    events: Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_EVENTS)]
    how: Literal["sequence", "choice", "any order"] = "sequence"
    count: Annotated[str, Field(pattern=f"^({COUNT})$")] = "1"


class TaskPlan(BaseModel):
    """A task as a form: the steps in order, the forbidden events, and the rewards.

    Attributes:
        steps: What has to happen, in this order.
        forbidden: Events that must never happen.
        ignored: Events that may happen at any time.
        success: The reward for completing the task.
        failure: The reward for failing.
        step_cost: The cost of every environment step. The sign does not matter.

    Example:
        >>> plan = TaskPlan(steps=[PlanStep(events=["mail"]), PlanStep(events=["person"])])
        >>> plan.forbidden, plan.success
        ((), 1.0)
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    steps: Annotated[tuple[PlanStep, ...], Field(min_length=1, max_length=MAX_STEPS)]
    forbidden: Annotated[tuple[str, ...], Field(max_length=MAX_NAMES)] = ()
    ignored: Annotated[tuple[str, ...], Field(max_length=MAX_NAMES)] = ()
    success: float = 1.0
    failure: float = 0.0
    step_cost: float = 0.0

    @field_validator("step_cost")
    @classmethod
    def _remove_sign(cls, value: float) -> float:
        return abs(value)

    @property
    def step_events(self) -> tuple[str, ...]:
        """The names of the events in steps, each once.

        Example:
            >>> TaskPlan(steps=[PlanStep(events=["a", "b"]), PlanStep(events=["a"])]).step_events
            ('a', 'b')
        """
        return tuple(dict.fromkeys(name for step in self.steps for name in step.events))

    @property
    def events(self) -> tuple[str, ...]:
        """All names of events in the plan, each once."""
        return tuple(dict.fromkeys((*self.step_events, *self.forbidden, *self.ignored)))


def check_events(events: Mapping[str, str]) -> dict[str, str]:
    """Check that events are a mapping of valid names to meanings, and return a copy.

    Example:
        >>> check_events({"mail": "mail is collected"})
        {'mail': 'mail is collected'}
        >>> check_events({"mail room": "it is entered"})
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: an event has a name such as mail_room, not 'mail room'
    """
    if not isinstance(events, Mapping) or not events:
        raise InvalidArgumentError(
            f"events are a mapping of names to meanings, not {shorten(events)}",
            fix='events={"mail": "mail is collected", …}',
        )
    for name, meaning in events.items():
        if not isinstance(name, str) or not name.isidentifier() or name.lower() in RESERVED:
            plain = re.sub(r"\W+", "_", str(name)) or "mail"
            better = f"{plain}_" if plain.lower() in RESERVED else plain
            raise InvalidArgumentError(f"an event has a name such as {better}, not {shorten(name)}")
        if not isinstance(meaning, str):
            raise InvalidArgumentError(f"the meaning of {name!r} is a text, not {shorten(meaning)}")
    return dict(events)


def find_mentioned_rewards(description: str) -> tuple[str, ...]:
    """Return which rewards a description mentions. A model is asked only for these.

    Example:
        >>> find_mentioned_rewards("Finishing is worth 5 points. Lose a point for every step.")
        ('success', 'step_cost')
        >>> find_mentioned_rewards("Deliver it, or lose 5 points.")
        ('success', 'failure')
        >>> find_mentioned_rewards("Collect mail.")
        ()
    """
    if not REWARD_WORD.search(description):
        return ()
    steps, losses = EVERY_STEP.findall(description), LOSS_WORD.findall(description)
    failure = ["failure"] if len(losses) > len(steps) else []
    return ("success", *failure, *(["step_cost"] if steps else []))


def build_plan_schema(events: Iterable[str], rewards: Iterable[str] = ()) -> JSONObject:
    """Build the JSON Schema of plans for these events.

    Args:
        events: The names of the events, which become an enumeration.
        rewards: The rewards to ask for: see :func:`find_mentioned_rewards`.

    Example:
        >>> schema = build_plan_schema(["mail", "person"])
        >>> schema["properties"]["forbidden"]["items"]
        {'type': 'string', 'enum': ['mail', 'person']}
    """
    names = {"type": "string", "enum": list(events)}
    step = {
        "phrase": {"type": "string", "maxLength": MAX_PHRASE},
        "events": {"type": "array", "items": names, "minItems": 1, "maxItems": MAX_EVENTS},
        "how": {"type": "string", "enum": ["sequence", "choice", "any order"]},
        "count": {"type": "string", "pattern": f"^({COUNT})$"},
    }
    steps = {"type": "array", "items": _build_object(step), "minItems": 1, "maxItems": MAX_STEPS}
    forbidden = {"type": "array", "items": names, "maxItems": len(names["enum"])}
    fields: JSONObject = {"forbidden": forbidden, "steps": steps}
    fields |= {name: {"type": "number"} for name in rewards}
    return _build_object(fields)


def _build_object(properties: JSONObject) -> JSONObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def parse_plan(text: str, events: Iterable[str]) -> TaskPlan:
    """Read the plan in an answer of a model.

    Everything is validated, because a server may have ignored the schema.

    Raises:
        PlanError: The answer contains no valid plan.

    Example:
        >>> parse_plan('{"steps": [{"events": ["mail"]}]}', ["mail"]).step_events
        ('mail',)
        >>> parse_plan("I cannot help with that.", ["mail"])
        Traceback (most recent call last):
        cranium.errors.PlanError: the answer is not JSON: 'I cannot help with that.'
    """
    data = _find_json(text)
    if not isinstance(data, dict):
        raise PlanError(f"the answer is not JSON: {shorten(text)}")
    try:
        plan = TaskPlan.model_validate(data, strict=False)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"])) or "the plan"
        raise PlanError(f"{field}: {first['msg'].lower()}, not {shorten(first['input'])}") from None
    known = list(events)
    for name in plan.events:
        if name not in known:
            unknown = UnknownNameError.of("event", name, known)
            raise PlanError(unknown.message, fix=unknown.fix)
    return plan


def _find_json(text: str) -> object:
    """Return the last JSON object with steps in a text, or else the first object.

    Models write explanations and code fences around the plan.
    """
    decoder, found, position = json.JSONDecoder(), None, 0
    text = text[:MAX_ANSWER]
    while (position := text.find("{", position)) >= 0:
        try:
            data, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            position += 1
            continue
        if found is None or "steps" in data:
            found = data
    return found


def plan_to_language(plan: TaskPlan) -> Language:
    """Return the formal language that a plan stands for.

    Raises:
        PlanError: The plan contradicts itself.

    Example:
        >>> steps = [
        ...     PlanStep(events=["mail"], count="N"),
        ...     PlanStep(events=["tea", "coffee"], how="any order"),
        ...     PlanStep(events=["person", "wave"], count="N"),
        ... ]
        >>> print(plan_to_language(TaskPlan(steps=steps, forbidden=["decoration"])))
        mail^N (tea && coffee) (person wave)^N never decoration
    """
    for name in plan.forbidden:
        if name in plan.step_events:
            raise PlanError(f"{name!r} is forbidden, and yet it is part of a step")
    names = {name: name if name not in plan.events else f"{name}_" for name in "NMK"}
    parts = [_format_step(step, names) for step in plan.steps]
    never = f" never {', '.join(dict.fromkeys(plan.forbidden))}" if plan.forbidden else ""
    return parse_language(" ".join(parts) + never)


def _format_step(step: PlanStep, variables: Mapping[str, str]) -> str:
    names = step.events
    exponent = _format_exponent(re.sub("[NMK]", lambda found: variables[found[0]], step.count))
    if len(names) > 1 and step.how == "any order":
        if len(set(names)) < len(names):
            raise PlanError(f"in any order each event is named once, not {', '.join(names)}")
        return f"({' && '.join(name + exponent for name in names)})"
    operator = " | " if step.how == "choice" else " "
    unit = names[0] if len(names) == 1 else f"({operator.join(names)})"
    return unit + exponent


def _format_exponent(count: str) -> str:
    if count.startswith("at most "):
        return f"{{0,{count.removeprefix('at most ')}}}"
    if count == "1":
        return ""
    if count.endswith("+"):
        return {"0+": "*", "1+": "+"}.get(count, f"{{{count[:-1]},}}")
    return f"^({count})" if "+" in count else f"^{count}"
