"""From words to a machine that passed the checks: ask, check, send problems back, repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cranium.arguments import check_count
from cranium.assist.examples import Examples, parse_examples
from cranium.assist.model import Answer, Model, Request
from cranium.assist.openai_model import OpenAIModel
from cranium.assist.plan import (
    TaskPlan,
    build_plan_schema,
    check_events,
    find_mentioned_rewards,
    parse_plan,
)
from cranium.assist.plan_check import CheckedPlan, check_plan
from cranium.assist.prompts import build_plan_messages, build_repair_message, build_retry_messages
from cranium.assist.specification import Attempt, Reading, Specification, Verdict
from cranium.assist.transcript import Mode, Transcript
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.equivalence import equivalent
from cranium.errors import (
    DisagreementError,
    InvalidArgumentError,
    PlanError,
    UnknownNameError,
    shorten,
)

__all__ = ["replace_plan", "specify"]

ANSWERS_PER_CONVERSATION = 2
"""After so many answers a new conversation is started, which is more promising."""
TEMPERATURE = 0.8
"""The temperature of all answers but those of the first conversation."""
SEEDS_PER_SAMPLE = 1000
MAX_DESCRIPTION = 20_000


def specify(
    description: str,
    events: Mapping[str, str],
    examples: Examples = None,
    *,
    model: Model | None = None,
    samples: int = 1,
    attempts: int = 6,
    first: bool = False,
    ignored: Iterable[str] = (),
    lenient: bool = False,
    name: str = "",
    seed: int = 0,
    transcript: str | Path | None = None,
    mode: Mode | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Specification:
    """Turn a task in words into a machine that passes the checks, with a language model.

    The model fills in a form, the plan. Cranium builds the machine from it, checks it, and sends
    problems back to the model, a bounded number of times. Nothing that the model writes is
    executed. Only ``examples`` compare the machine with what you mean: without any, 9 of 24 tasks
    with a small model were accepted and wrong, so read the restatement.

    Args:
        description: The task, in plain words.
        events: The names of the events and their meanings.
        examples: Sequences of events to accept and to reject: ``{"accept": ["mail person"],
            "reject": ["person"]}``. Every second one is held out from the model, unless
            ``"held_out"`` says which.
        model: The model to ask, by default :class:`~cranium.assist.OpenAIModel`; or a
            :class:`~cranium.assist.Transcript` to continue.
        samples: How many plans to ask for. If they mean different things, the most common
            interpretation is taken and the others are reported; a tie is an error.
        attempts: How many answers to try for each plan.
        first: Whether to reward the first completion, if a complete task could continue.
        ignored: Events that may happen at any time, although the description mentions them.
        lenient: Whether to accept a plan although heuristics find problems in the words of the
            description (an event that it mentions, a number, points). They are then notes.
        name: The name of the machine; by default its language.
        seed: The random seed of the model.
        transcript: The file of the conversation.
        mode: ``"record"`` into the file, the default if there is one; ``"replay"`` from the file,
            without a model; or ``"live"``, without a file.
        on_progress: Called with a line of text before and after every answer.

    Raises:
        DisagreementError: No plan passed the checks; its ``verdict`` has all of them.
        ModelError: The model could not be reached, or refused to answer.

    Example:
        >>> from cranium.assist import RECORDED
        >>> task = specify(
        ...     "Collect one item of mail and deliver it to a person. Never break a decoration.",
        ...     {"M": "mail is collected", "P": "mail is delivered", "D": "a decoration breaks"},
        ...     {"accept": ["M P"], "reject": ["M M P", "M D P"]},
        ...     transcript=RECORDED / "mail.jsonl",
        ...     mode="replay",
        ... )
        >>> print(task.language)
        M P never D
        >>> print(task.restatement.splitlines()[0])
        read M once, then P once; D must never happen
    """
    sampler = _PlanSampler(
        description,
        events,
        examples,
        attempts=attempts,
        first=first,
        ignored=ignored,
        lenient=lenient,
        name=name,
        seed=seed,
        on_progress=on_progress,
    )
    check_count("samples", samples)
    conversation = _open_conversation(model, transcript, mode)
    before = len(conversation.exchanges)
    passed = [
        checked
        for number in range(samples)
        if (checked := sampler.sample(conversation, number)) is not None
    ]
    readings = _group_by_meaning(passed)
    notes = _collect_notes(readings[0].checked, lenient=lenient) if readings else ()
    verdict = Verdict(tuple(sampler.attempts), readings, notes)
    chosen = _choose(verdict, description)
    assert chosen.language is not None  # it passed the checks
    return Specification(
        description=description,
        events=sampler.events,
        plan=chosen.plan,
        language=chosen.language,
        machine=_machine(chosen),
        examples=sampler.examples,
        verdict=verdict,
        transcript=tuple(conversation.exchanges[before:]),
    )


def _open_conversation(
    model: Model | None, transcript: str | Path | None, mode: Mode | None
) -> Transcript:
    if isinstance(model, Transcript) and transcript is None:
        return model
    path = None if transcript is None else Path(transcript)
    chosen: Mode = mode or ("live" if path is None else "record")
    return Transcript(model or (None if chosen == "replay" else OpenAIModel()), path, chosen)


def replace_plan(
    task: Specification, plan: TaskPlan, *, first: bool = False, ignored: Iterable[str] = ()
) -> Specification:
    """Return a specification with another plan, for example one that a person has edited.

    The plan has to pass the checks. Problems that are only guesses from the words of the
    description become notes, because a person knows better.

    Raises:
        DisagreementError: The plan did not pass the checks.

    Example:
        >>> from cranium.assist import RECORDED
        >>> words = "Collect one item of mail and deliver it to a person. Never break a decoration."
        >>> events = {"M": "mail is collected", "P": "mail is delivered"}
        >>> events |= {"D": "a decoration breaks"}
        >>> examples = {"accept": ["M P"], "reject": ["M M P", "M D P"]}
        >>> recording = RECORDED / "mail.jsonl"
        >>> task = specify(words, events, examples, transcript=recording, mode="replay")
        >>> found = replace_plan(task, task.plan.model_copy(update={"success": 5.0}))
        >>> found.machine.run("M P").total_reward, found.verdict.notes
        (5.0, ('the plan pays points, of which the description does not speak',))
    """
    checked = check_plan(
        plan, task.description, task.events, task.examples, first=first, ignored=ignored
    )
    if checked.definite_problems or checked.language is None or checked.machine is None:
        error = DisagreementError(f"the plan did not pass: {'; '.join(checked.definite_problems)}")
        error.verdict = task.verdict
        raise error
    notes = _collect_notes(checked, lenient=True)
    return replace(
        task,
        plan=checked.plan,
        language=checked.language,
        machine=checked.machine,
        verdict=replace(task.verdict, readings=(Reading(checked, 1),), notes=notes),
    )


def _collect_notes(checked: CheckedPlan, *, lenient: bool) -> tuple[str, ...]:
    return (*(checked.guesses if lenient else ()), *checked.notes)


class _PlanSampler:
    """Asks for plans until one passes the checks, and keeps the attempts."""

    def __init__(
        self,
        description: str,
        events: Mapping[str, str],
        examples: Examples,
        *,
        attempts: int,
        first: bool,
        ignored: Iterable[str],
        lenient: bool,
        name: str,
        seed: int,
        on_progress: Callable[[str], None] | None,
    ) -> None:
        self.description = _check_description(description)
        self.events = check_events(events)
        self.examples = parse_examples(examples, self.events)
        self.max_attempts = check_count("attempts", attempts)
        self.first, self.name, self.lenient = first, name, lenient
        self.ignored = self._check_names(ignored)
        self.seed = check_count("the seed", int(seed), least=0)
        self.on_progress = on_progress or (lambda _: None)
        self.attempts: list[Attempt] = []
        rewards = find_mentioned_rewards(description)
        self.schema = build_plan_schema(self.events, rewards)
        self.opening = build_plan_messages(description, self.events, self.examples, rewards)

    def _check_names(self, names: Iterable[str]) -> tuple[str, ...]:
        given = (names,) if isinstance(names, str) else tuple(names)
        for name in given:
            if name not in self.events:
                raise UnknownNameError.of("event", name, self.events)
        return given

    def sample(self, conversation: Transcript, number: int) -> CheckedPlan | None:
        """Return a plan that passes the checks, or None after the last attempt."""
        messages = list(self.opening)
        for attempt in range(self.max_attempts):
            if attempt and attempt % ANSWERS_PER_CONVERSATION == 0:
                messages = build_retry_messages(self.opening, self.attempts[-1].problems)
            is_first_conversation = number == 0 and attempt < ANSWERS_PER_CONVERSATION
            request = Request(
                tuple(messages),
                self.schema,
                temperature=0.0 if is_first_conversation else TEMPERATURE,
                seed=self.seed + SEEDS_PER_SAMPLE * number + attempt,
            )
            self.on_progress(
                f"asking {conversation.name}, answer {attempt + 1} of at most {self.max_attempts}"
            )
            answer = conversation.ask(request)
            checked, problems = self._check(answer)
            plan = None if checked is None else checked.plan
            language = "" if checked is None else str(checked.language or "")
            self.attempts.append(Attempt(plan, language, problems))
            conversation.add_verdict("; ".join(problems) or "passed")
            if not problems:
                return checked
            self.on_progress(f"{language or 'no plan'}: {problems[0]}")
            messages += [
                {"role": "assistant", "content": answer.text},
                build_repair_message(problems),
            ]
        return None

    def _check(self, answer: Answer) -> tuple[CheckedPlan | None, tuple[str, ...]]:
        """Return the plan in an answer, and its problems."""
        # These words are sent to the model and are part of recorded conversations.
        if answer.is_truncated:
            return None, ("the answer was cut off: it is too long",)
        try:
            plan = parse_plan(answer.text, self.events)
        except PlanError as problem:
            return None, (problem.message,)
        if plan.ignored:
            return None, ("the plan leaves events out, which only a person may",)
        checked = check_plan(
            plan,
            self.description,
            self.events,
            self.examples,
            first=self.first,
            ignored=self.ignored,
            name=self.name,
        )
        return checked, checked.definite_problems if self.lenient else checked.problems


def _check_description(description: str) -> str:
    is_text = isinstance(description, str) and description.strip()
    if not is_text or any("\ud800" <= letter <= "\udfff" for letter in description):
        # A lone surrogate, half a character, cannot be encoded and sent.
        raise InvalidArgumentError(f"a description is a text, not {shorten(description)}")
    if len(description) > MAX_DESCRIPTION:
        raise InvalidArgumentError(
            f"a description has at most {MAX_DESCRIPTION:,} characters, not {len(description):,}"
        )
    return description


def _group_by_meaning(passed: Sequence[CheckedPlan]) -> tuple[Reading, ...]:
    """Group plans whose machines are equivalent, the largest group first."""
    groups: list[list[CheckedPlan]] = []
    for checked in passed:
        for group in groups:
            if equivalent(_machine(group[0]), _machine(checked)):
                group.append(checked)
                break
        else:
            groups.append([checked])
    groups.sort(key=len, reverse=True)
    readings = []
    for group in groups:
        comparison = equivalent(_machine(groups[0][0]), _machine(group[0]))
        readings.append(Reading(group[0], len(group), comparison.word or ()))
    return tuple(readings)


def _machine(checked: CheckedPlan) -> CountingRewardAutomaton:
    assert checked.machine is not None  # it passed the checks
    return checked.machine


def _choose(verdict: Verdict, description: str) -> CheckedPlan:
    """Return the most common interpretation, or raise an error if there is none."""
    readings = verdict.readings
    if not readings:
        error = DisagreementError(
            f"no plan for {shorten(description)} passed the checks, after {len(verdict.attempts)} "
            f"answers; the last was {_describe_last(verdict)}",
            fix="use other words, give more examples, or write the language yourself: "
            "cranium compile",
        )
    elif len(readings) > 1 and readings[0].votes == readings[1].votes:
        word = " ".join("".join(label) for label in readings[1].differs)
        error = DisagreementError(
            f"{shorten(description)} was understood in {len(readings)} ways: "
            f"{readings[0].checked.language}, and {readings[1].checked.language}; they differ on "
            f"{word!r}",
            fix="decide by an example that has to be accepted or rejected",
        )
    else:
        return readings[0].checked
    error.verdict = verdict
    raise error


def _describe_last(verdict: Verdict) -> str:
    last = verdict.attempts[-1]
    answer = last.language or ("a plan without a language" if last.plan else "no plan")
    return f"{answer}, but {'; '.join(last.problems)}"
