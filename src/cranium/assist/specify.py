"""From words to a checked machine: ask, check, send back what is wrong, and never guess."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cranium.arguments import check_count
from cranium.assist.examples import Example, as_examples
from cranium.assist.model import Answer, Model, Request
from cranium.assist.openai_model import OpenAIModel
from cranium.assist.plan import TaskPlan, check_events, parse_plan, plan_schema, spoken_rewards
from cranium.assist.prompts import plan_messages, repair, with_warning
from cranium.assist.restate import restate
from cranium.assist.transcript import Exchange, Mode, Transcript
from cranium.assist.verify import Checked, check_plan
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.equivalence import equivalent
from cranium.errors import (
    DisagreementError,
    InvalidArgumentError,
    PlanError,
    UnknownNameError,
    shorten,
)
from cranium.languages import Language, describe, near_misses, shortest_words

__all__ = ["Attempt", "Reading", "Specification", "Verdict", "specify", "specify_plan"]

TRIES_OF_ONE_PLAN = 2
"""How often a model is asked in one conversation: after that, a new one is more promising."""
WARM = 0.8
"""The temperature of everything but the first conversation."""
MAX_DESCRIPTION = 20_000


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer of a model.

    Attributes:
        plan: The plan in it; None if there was none.
        language: What it means, as text; empty if it means nothing.
        complaints: What spoke against it; nothing, if it passed.

    Example:
        >>> Attempt(None, "", ("the answer is not JSON",)).complaints
        ('the answer is not JSON',)
    """

    plan: TaskPlan | None
    language: str
    complaints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """One way in which a description was understood.

    Attributes:
        checked: The plan and its machine.
        votes: How many samples agreed on it.
        differs: A sequence of events that this reading and the first one judge differently.

    Example:
        >>> from cranium.assist import PlanStep
        >>> plan = TaskPlan(steps=[PlanStep(events=["mail"])])
        >>> Reading(check_plan(plan, "Get mail.", {"mail": ""}), votes=2).votes
        2
    """

    checked: Checked
    votes: int
    differs: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a description became a machine, or did not.

    Attributes:
        attempts: The answers, in the order in which they came.
        readings: The ways in which it was understood, the commonest first.
        remarks: What a person should look at.

    Example:
        >>> Verdict(()).unanimous
        True
    """

    attempts: tuple[Attempt, ...]
    readings: tuple[Reading, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def unanimous(self) -> bool:
        """Whether all samples that passed mean the same."""
        return len(self.readings) <= 1


@dataclass(frozen=True)
class Specification:
    """A task that was given in words, as a machine that passed the checks.

    Attributes:
        description: The words.
        events: The events and their meanings.
        plan: What the model made of it.
        language: What the plan means.
        machine: The machine that our own code made.
        examples: What it was checked against.
        verdict: How it came about.
        transcript: The conversation.

    Example:
        >>> from cranium.assist import RECORDED, specify
        >>> task = specify(
        ...     "Collect one item of mail and deliver it to a person. Never break a decoration.",
        ...     {"M": "mail is collected", "P": "mail is delivered", "D": "a decoration breaks"},
        ...     {"accept": ["M P"], "reject": ["M M P", "M D P"]},
        ...     transcript=RECORDED / "mail.jsonl",
        ...     mode="replay",
        ... )
        >>> task.accepted(), task.rejected(most=2)
        ([('M', 'P')], [('P',), ('M',)])
        >>> len(task.transcript), task.verdict.attempts[0].language
        (1, 'M P never D')
    """

    description: str
    events: Mapping[str, str]
    plan: TaskPlan
    language: Language
    machine: CountingRewardAutomaton
    examples: tuple[Example, ...]
    verdict: Verdict
    transcript: tuple[Exchange, ...] = field(repr=False, default=())

    @property
    def restatement(self) -> str:
        """What the machine does, in English that our own code made from it."""
        return f"{describe(self.language)}\n{restate(self.machine)}"

    def accepted(self, most: int = 5) -> list[tuple[str, ...]]:
        """The shortest sequences of events that are accepted."""
        return shortest_words(self.language, most)

    def rejected(self, most: int = 5) -> list[tuple[str, ...]]:
        """Sequences that are rejected although little is missing."""
        longest = max((len(word) for word in self.accepted()), default=0)
        return near_misses(self.language, longest, most)


def specify(
    description: str,
    events: Mapping[str, str],
    examples: Any = None,
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
    watch: Callable[[str], None] | None = None,
) -> Specification:
    """Turn a description into a machine that passes the checks, or say what could not be agreed.

    A language model fills a small form, the plan; our own code makes the machine from it, checks
    it, and sends what is wrong back to the model, a bounded number of times. Nothing that the model
    says is ever run. Only ``examples`` check it against what was meant: without any, 9 of 24 tasks
    with a small model were accepted and wrong, so read the restatement.

    Args:
        description: The task, in plain words.
        events: The names of the events, and what they mean.
        examples: Sequences of events to accept and to reject: ``{"accept": ["mail person"],
            "reject": ["person"]}``. Every second one is held back from the model, unless
            ``"held_back"`` says which.
        model: Who is asked, by default :class:`~cranium.assist.OpenAIModel`; or a
            :class:`~cranium.assist.Transcript` that goes on.
        samples: How many plans are asked for. If they mean different things, the commonest is
            taken, and the others are told; if there is none, it is an error.
        attempts: How many answers are tried for each of them.
        first: Reward the first completion, if a complete task could go on.
        ignored: Events that may happen at any time, although the description speaks of them.
        lenient: Whether what is only guessed from the words (an event that they speak of, a number,
            points) is told, but not held against a plan.
        name: What the machine is called; left out, its language.
        seed: For the answers that are drawn.
        transcript: The file in which the conversation is kept.
        mode: ``"record"`` into the file, the default if there is one; ``"replay"`` from the file,
            with no model; or ``"live"``, without a file.
        watch: Is told what goes on.

    Raises:
        DisagreementError: No plan was right; its ``verdict`` has all of them.
        ModelError: The model could not be reached, or refused.

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
    settings = {"first": first, "ignored": ignored, "name": name}
    job = _Job(description, events, examples, attempts, seed, watch, settings, lenient=lenient)
    check_count("samples", samples)
    conversation = _conversation(model, transcript, mode)
    before = len(conversation.exchanges)
    passed = [found for n in range(samples) if (found := job.sample(conversation, n)) is not None]
    readings = _readings(passed)
    verdict = Verdict(tuple(job.attempts), readings, _remarks(readings, lenient=lenient))
    chosen = _choose(verdict, description)
    assert chosen.language is not None  # it has passed
    assert chosen.machine is not None
    told = (chosen.plan, chosen.language, chosen.machine, job.examples, verdict)
    return Specification(description, job.events, *told, tuple(conversation.exchanges[before:]))


def _conversation(
    model: Model | None, transcript: str | Path | None, mode: Mode | None
) -> Transcript:
    if isinstance(model, Transcript) and transcript is None:
        return model  # somebody keeps it already
    where = None if transcript is None else Path(transcript)
    how: Mode = mode or ("live" if where is None else "record")
    return Transcript(model or (None if how == "replay" else OpenAIModel()), where, how)


def specify_plan(
    task: Specification, plan: TaskPlan, *, first: bool = False, ignored: Iterable[str] = ()
) -> Specification:
    """The same task with another plan, as somebody has edited it; it has to pass the checks, too.

    What only guesses at the meaning of the words is no more than a remark: a person knows better.

    Example:
        >>> from cranium.assist import RECORDED
        >>> task = specify(
        ...     "Collect one item of mail and deliver it to a person. Never break a decoration.",
        ...     {"M": "mail is collected", "P": "mail is delivered", "D": "a decoration breaks"},
        ...     {"accept": ["M P"], "reject": ["M M P", "M D P"]},
        ...     transcript=RECORDED / "mail.jsonl",
        ...     mode="replay",
        ... )
        >>> found = specify_plan(task, task.plan.model_copy(update={"success": 5.0}))
        >>> found.machine.run("M P").total_reward, found.verdict.remarks
        (5.0, ('the plan pays points, of which the description does not speak',))
    """
    checked = check_plan(
        plan, task.description, task.events, task.examples, first=first, ignored=ignored
    )
    if checked.certain or checked.language is None or checked.machine is None:
        problem = DisagreementError(f"the plan did not pass: {'; '.join(checked.certain)}")
        problem.verdict = task.verdict
        raise problem
    remarks = (*checked.doubts, *checked.remarks)
    verdict = replace(task.verdict, readings=(Reading(checked, 1),), remarks=remarks)
    return replace(
        task,
        plan=checked.plan,
        language=checked.language,
        machine=checked.machine,
        verdict=verdict,
    )


def _remarks(readings: Sequence[Reading], *, lenient: bool) -> tuple[str, ...]:
    if not readings:
        return ()
    checked = readings[0].checked
    return (*(checked.doubts if lenient else ()), *checked.remarks)


def _is_broken(text: str) -> bool:
    """Whether a text has half a character in it, which cannot be sent."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


class _Job:
    """What is asked for, and what was tried."""

    def __init__(
        self,
        description: str,
        events: Mapping[str, str],
        examples: Any,
        most: int,
        seed: int,
        watch: Callable[[str], None] | None,
        settings: dict[str, Any],  # of the checks
        *,
        lenient: bool,
    ) -> None:
        if not isinstance(description, str) or not description.strip() or _is_broken(description):
            raise InvalidArgumentError(f"a description is a text, not {shorten(description)}")
        if len(description) > MAX_DESCRIPTION:
            raise InvalidArgumentError(
                f"a description has at most {MAX_DESCRIPTION:,} characters, "
                f"not {len(description):,}"
            )
        self.description = description
        self.events = check_events(events)
        self.examples = as_examples(examples, self.events)
        self.most = check_count("attempts", most)
        self.settings = {**settings, "ignored": self.known(settings["ignored"])}
        self.seed = check_count("the seed", int(seed), least=0)
        self.lenient = lenient
        self.watch = watch or (lambda _: None)
        self.attempts: list[Attempt] = []
        rewards = spoken_rewards(description)
        self.schema = plan_schema(self.events, rewards)
        self.opening = plan_messages(description, self.events, self.examples, rewards)

    def known(self, names: Iterable[str]) -> tuple[str, ...]:
        """Events that are to be ignored."""
        given = (names,) if isinstance(names, str) else tuple(names)
        for name in given:
            if name not in self.events:
                raise UnknownNameError.of("event", name, self.events)
        return given

    def sample(self, conversation: Transcript, number: int) -> Checked | None:
        """One plan that passes; None if there is none."""
        messages = list(self.opening)
        for tried in range(self.most):
            if tried and tried % TRIES_OF_ONE_PLAN == 0:
                messages = with_warning(self.opening, self.attempts[-1].complaints)
            warm = number > 0 or tried >= TRIES_OF_ONE_PLAN
            request = Request(
                tuple(messages),
                self.schema,
                temperature=WARM if warm else 0.0,
                seed=self.seed + 1000 * number + tried,
            )
            self.watch(f"asking {conversation.name}, answer {tried + 1} of at most {self.most}")
            answer = conversation.ask(request)
            checked, complaints = self.check(answer)
            plan = None if checked is None else checked.plan
            language = "" if checked is None else str(checked.language or "")
            self.attempts.append(Attempt(plan, language, complaints))
            conversation.judge("; ".join(complaints) or "passed")
            if not complaints:
                return checked
            self.watch(f"{language or 'no plan'}: {complaints[0]}")
            messages += [{"role": "assistant", "content": answer.text}, repair(complaints)]
        return None

    def check(self, answer: Answer) -> tuple[Checked | None, tuple[str, ...]]:
        """The plan in an answer, and what speaks against it."""
        if answer.truncated:
            return None, ("the answer was cut off: it is too long",)
        try:
            plan = parse_plan(answer.text, self.events)
        except PlanError as problem:
            return None, (problem.message,)
        if plan.ignored:
            return None, ("the plan leaves events out, which only a person may",)
        checked = check_plan(plan, self.description, self.events, self.examples, **self.settings)
        return checked, checked.certain if self.lenient else checked.complaints


def _readings(passed: Sequence[Checked]) -> tuple[Reading, ...]:
    """Plans that mean the same are one reading: the languages are compared, not the words."""
    groups: list[list[Checked]] = []
    for one in passed:
        for group in groups:
            if equivalent(_machine(group[0]), _machine(one)):
                group.append(one)
                break
        else:
            groups.append([one])
    groups.sort(key=len, reverse=True)
    found = []
    for group in groups:
        answer = equivalent(_machine(groups[0][0]), _machine(group[0]))
        found.append(Reading(group[0], len(group), answer.word or ()))
    return tuple(found)


def _machine(checked: Checked) -> CountingRewardAutomaton:
    assert checked.machine is not None  # only plans that passed are compared
    return checked.machine


def _choose(verdict: Verdict, description: str) -> Checked:
    readings = verdict.readings
    if not readings:
        problem = DisagreementError(
            f"no plan for {shorten(description)} passed the checks, after {len(verdict.attempts)} "
            f"answers; the last was {_last(verdict)}",
            fix="say it in other words, give more examples, or write the language yourself: "
            "cranium compile",
        )
    elif len(readings) > 1 and readings[0].votes == readings[1].votes:
        word = " ".join("".join(label) for label in readings[1].differs)
        problem = DisagreementError(
            f"{shorten(description)} was understood in {len(readings)} ways: "
            f"{readings[0].checked.language}, and {readings[1].checked.language}; they differ on "
            f"{word!r}",
            fix="say which by an example that has to be accepted or rejected",
        )
    else:
        return readings[0].checked
    problem.verdict = verdict
    raise problem


def _last(verdict: Verdict) -> str:
    last = verdict.attempts[-1]
    what = last.language or ("a plan without a language" if last.plan else "no plan")
    return f"{what}, but {'; '.join(last.complaints)}"
