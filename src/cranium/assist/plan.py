"""What a language model is asked for: not a machine, but a plan that our own code makes one from.

A plan is small, bounded and typed, so that an answer either is one or is refused. What it means is
settled by :func:`language_of`, and by nobody else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from cranium.errors import InvalidArgumentError, PlanError, UnknownNameError, shorten
from cranium.languages import Language, parse_language

__all__ = ["PlanStep", "TaskPlan", "language_of", "parse_plan", "plan_schema", "spoken_rewards"]

COUNT = r"[1-9][0-9]{0,2}|[1-9]?[NMK](\+[1-9])?|[0-9]{1,2}\+|at most [1-9][0-9]?"
"""How often: ``3``, ``N``, ``2N``, ``N+1``, ``1+``, ``0+``, ``at most 2``."""
MAX_STEPS, MAX_EVENTS, MAX_PHRASE = 12, 8, 200
SPEAKING = re.compile(
    r"\b(?:rewards?|points|(?:a|one|half a) point|pays?|paid|costs?|loses?|gains?|earns?|penalt\w+|"
    r"worth|scores?|fined)\b",
    re.IGNORECASE,
)
STEP = r"(?:time )?(?:step|move|action|turn)"
EVERY_STEP = re.compile(rf"\b(?:every|each|per) (?:single )?{STEP}\b", re.IGNORECASE)
LOSING = re.compile(r"\b(?:loses?|penalt\w+|costs?|fined|minus|negative)\b", re.IGNORECASE)
RESERVED = frozenset(
    {"where", "never", "with", "finally", "shuffle", "and", "or", "not", "true", "false"}
)


class PlanStep(BaseModel):
    """One step of a task.

    Attributes:
        phrase: The words of the description that it comes from.
        events: The names of the events that it consists of.
        how: ``"sequence"``, one after the other; ``"choice"``, one of them; or ``"any order"``, all
            of them, the order is free.
        count: How often: ``"3"``; ``"N"``, some number that is the same wherever N is written;
            ``"2N"``, ``"N+1"``; ``"1+"``, one or more; ``"0+"``, any number; ``"at most 2"``.

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
    """A task as a bounded form: what happens in which order, what never, and what it is worth.

    Attributes:
        steps: What has to happen, in this order.
        forbidden: Events that must never happen.
        ignored: Events that may happen at any time.
        success: What is paid for completing the task.
        failure: What is paid for failing.
        step_cost: What every step takes away; what is lost may be written with a minus, or without.

    Example:
        >>> plan = TaskPlan(steps=[PlanStep(events=["mail"]), PlanStep(events=["person"])])
        >>> plan.forbidden, plan.success
        ((), 1.0)
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    steps: Annotated[tuple[PlanStep, ...], Field(min_length=1, max_length=MAX_STEPS)]
    forbidden: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    ignored: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    success: float = 1.0
    failure: float = 0.0
    step_cost: float = 0.0

    @field_validator("step_cost")
    @classmethod
    def _lost(cls, value: float) -> float:
        return abs(value)

    @property
    def used(self) -> tuple[str, ...]:
        """The events of the steps, each once.

        Example:
            >>> TaskPlan(steps=[PlanStep(events=["a", "b"]), PlanStep(events=["a"])]).used
            ('a', 'b')
        """
        return tuple(dict.fromkeys(name for step in self.steps for name in step.events))

    @property
    def events(self) -> tuple[str, ...]:
        """All events that it names."""
        return tuple(dict.fromkeys((*self.used, *self.forbidden, *self.ignored)))


def check_events(events: Mapping[str, str]) -> dict[str, str]:
    """Accept names that a language can be written with, and what they mean.

    Example:
        >>> check_events({"mail": "mail is collected"})
        {'mail': 'mail is collected'}
        >>> check_events({"mail room": "it is entered"})
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: an event has a name such as mail_room, not 'mail room'
    """
    if not isinstance(events, Mapping) or not events:
        raise InvalidArgumentError(
            f"events are names and what they mean, not {shorten(events)}",
            fix='events={"mail": "mail is collected", …}',
        )
    for name, meaning in events.items():
        if not isinstance(name, str) or not name.isidentifier() or name.lower() in RESERVED:
            plain = re.sub(r"\W+", "_", str(name)) or "mail"
            better = f"{plain}_" if plain.lower() in RESERVED else plain
            raise InvalidArgumentError(f"an event has a name such as {better}, not {shorten(name)}")
        if not isinstance(meaning, str):
            raise InvalidArgumentError(f"what {name!r} means is a text, not {shorten(meaning)}")
    return dict(events)


def spoken_rewards(description: str) -> tuple[str, ...]:
    """What a description says the worth of; a model is asked for nothing else.

    Example:
        >>> spoken_rewards("Finishing is worth 5 points. Lose a point for every step.")
        ('success', 'step_cost')
        >>> spoken_rewards("Deliver it, or lose 5 points."), spoken_rewards("Collect mail.")
        (('success', 'failure'), ())
    """
    if not SPEAKING.search(description):
        return ()
    steps, losses = EVERY_STEP.findall(description), LOSING.findall(description)
    failure = ["failure"] if len(losses) > len(steps) else []
    return ("success", *failure, *(["step_cost"] if steps else []))


def plan_schema(events: Iterable[str], rewards: Iterable[str] = ()) -> dict[str, Any]:
    """The JSON Schema of the plans for these events: names are an enumeration, lists are bounded.

    Example:
        >>> schema = plan_schema(["mail", "person"])
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
    steps = {"type": "array", "items": _closed(step), "minItems": 1, "maxItems": MAX_STEPS}
    forbidden = {"type": "array", "items": names, "maxItems": len(names["enum"])}
    fields: dict[str, Any] = {"forbidden": forbidden, "steps": steps}
    fields |= {name: {"type": "number"} for name in rewards}
    return _closed(fields)


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def parse_plan(text: str, events: Iterable[str]) -> TaskPlan:
    """The plan in an answer; whatever else it is, is refused.

    A server may have ignored the schema: so everything is checked again.

    Example:
        >>> parse_plan('{"steps": [{"events": ["mail"]}]}', ["mail"]).used
        ('mail',)
        >>> parse_plan("I cannot help with that.", ["mail"])
        Traceback (most recent call last):
        cranium.errors.PlanError: the answer is not JSON: 'I cannot help with that.'
    """
    data = _json_in(text)
    if not isinstance(data, dict):
        raise PlanError(f"the answer is not JSON: {shorten(text)}")
    try:
        plan = TaskPlan.model_validate(data, strict=False)
    except ValidationError as problem:
        told = problem.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, told["loc"])) or "the plan"
        raise PlanError(f"{place}: {told['msg'].lower()}, not {shorten(told['input'])}") from None
    known = list(events)
    for name in plan.events:
        if name not in known:
            unknown = UnknownNameError.of("event", name, known)
            raise PlanError(unknown.message, fix=unknown.fix)
    return plan


def _json_in(text: str) -> Any:
    """The last JSON object of a text that looks like a plan: models think aloud, and use fences."""
    decoder, found, place = json.JSONDecoder(), None, 0
    text = text[:100_000]
    while (place := text.find("{", place)) >= 0:
        try:
            data, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        if found is None or "steps" in data:
            found = data
    return found


def language_of(plan: TaskPlan) -> Language:
    """The language that a plan means.

    Example:
        >>> steps = [
        ...     PlanStep(events=["mail"], count="N"),
        ...     PlanStep(events=["tea", "coffee"], how="any order"),
        ...     PlanStep(events=["person", "wave"], count="N"),
        ... ]
        >>> print(language_of(TaskPlan(steps=steps, forbidden=["decoration"])))
        mail^N (tea && coffee) (person wave)^N never decoration
    """
    for name in plan.forbidden:
        if name in plan.used:
            raise PlanError(f"{name!r} is forbidden, and yet it is part of a step")
    names = {name: name if name not in plan.events else f"{name}_" for name in "NMK"}
    parts = [_part(step, names) for step in plan.steps]
    never = f" never {', '.join(dict.fromkeys(plan.forbidden))}" if plan.forbidden else ""
    return parse_language(" ".join(parts) + never)


def _part(step: PlanStep, variables: Mapping[str, str]) -> str:
    names = step.events
    exponent = _exponent(re.sub("[NMK]", lambda found: variables[found[0]], step.count))
    if len(names) > 1 and step.how == "any order":
        if len(set(names)) < len(names):
            raise PlanError(f"in any order each event is named once, not {', '.join(names)}")
        return f"({' && '.join(name + exponent for name in names)})"
    together = " | " if step.how == "choice" else " "
    unit = names[0] if len(names) == 1 else f"({together.join(names)})"
    return unit + exponent


def _exponent(count: str) -> str:
    if count.startswith("at most "):
        return f"{{0,{count.removeprefix('at most ')}}}"
    if count == "1":
        return ""
    if count.endswith("+"):
        return {"0+": "*", "1+": "+"}.get(count, f"{{{count[:-1]},}}")
    return f"^({count})" if "+" in count else f"^{count}"
