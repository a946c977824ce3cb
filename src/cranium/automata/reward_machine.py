"""Reward machines: the k = 0 case of counting reward automata."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.reward import Reward, as_reward
from cranium.automata.satisfiability import is_satisfiable
from cranium.automata.transition import Transition, otherwise_guard
from cranium.errors import CounterRuleError, Path, Place, RewardError, UnknownNameError

__all__ = ["RewardMachine"]


class RewardMachine(CountingRewardAutomaton):
    """A reward machine ⟨U, u₀, F, δ_u, δ_r⟩: no counters, no silent transitions.

    Rewards stand either on the transitions (Toro Icarte et al., δ_r: U × U → reward) or on the
    states (the paper, δ_r: U → reward): ``state_rewards`` gives every step out of a state the same
    reward, whichever label is read, also when no transition is enabled and the machine stays.

    Args:
        propositions: P.
        initial: u₀.
        transitions: δ_u, and δ_r unless ``state_rewards`` is given.
        states: U; left out, the states that a transition leaves.
        terminal: F.
        accepting: Those terminal states that mean success.
        state_rewards: δ_r on states; states left out pay 0.
        otherwise: ``"stay"``, ``"error"`` or a terminal state.
        name: What the machine is called.
        places: The positions of the machine's parts in the text it was read from, for messages.

    Example:
        Mail, then the office, with the reward on the transition and on the state:

        >>> from dataclasses import replace
        >>> steps = [
        ...     Transition(source="no mail", guard="mail", target="mail"),
        ...     Transition(source="mail", guard="office", target="done", reward=1),
        ... ]
        >>> task = dict(propositions=["mail", "office"], initial="no mail", terminal=["done"])
        >>> machine = RewardMachine(**task, accepting=["done"], transitions=steps)
        >>> machine.run("mail {} office").rewards
        (0.0, 0.0, 1.0)
        >>> costs = RewardMachine(
        ...     **task,
        ...     transitions=[replace(step, reward=0) for step in steps],
        ...     state_rewards={"no mail": -2, "mail": -1},
        ... )
        >>> costs.run("{} mail {} office").rewards
        (-2.0, -2.0, -1.0, -1.0)
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        propositions: Iterable[str],
        initial: str,
        transitions: Iterable[Transition],
        states: Iterable[str] | None = None,
        terminal: Iterable[str] = (),
        accepting: Iterable[str] = (),
        state_rewards: Mapping[str, Reward | Callable[[Any, Any, Any], float]] | None = None,
        otherwise: str = "stay",
        name: str = "",
        places: Mapping[Path, Place] | None = None,
    ) -> None:
        transitions = list(transitions)
        for number, transition in enumerate(transitions, 1):
            if transition.silent or transition.change or transition.zero_pattern:
                raise CounterRuleError(
                    f"transition {number} of a reward machine is silent or has counters: "
                    f"{transition}",
                    place=transition.place,
                    fix="use CountingRewardAutomaton",
                )
        if state_rewards is not None:
            ends = tuple(terminal)
            known = (
                states if states is not None else self.implied_states(initial, ends, transitions)
            )
            states, terminal = tuple(known), ends
            transitions = _pay_on_states(transitions, states, state_rewards, otherwise)
        super().__init__(
            propositions=propositions,
            initial=initial,
            transitions=transitions,
            states=states,
            terminal=terminal,
            accepting=accepting,
            otherwise=otherwise,
            name=name,
            places=places,
        )

    def as_cra(self, counters: Iterable[str] = ()) -> CountingRewardAutomaton:
        """Theorem 1.2: a CRA with as many states and transitions that emulates this machine.

        Its counters, if any are asked for, stay at zero, and every transition tests for that.

        Example:
            >>> machine = RewardMachine(
            ...     propositions=["A"], initial="u", terminal=["end"],
            ...     transitions=[Transition(source="u", guard="A", target="end", reward=1)],
            ... )
            >>> cra = machine.as_cra(counters=["n"])
            >>> cra.size.transitions == machine.size.transitions, cra.run("A").configurations[-1]
            (True, Configuration(state='end', counters=(0,)))
        """
        names = tuple(counters)
        transitions = [
            replace(t, zero_pattern="0" * len(names), change=(0,) * len(names))
            for t in self.transitions
        ]
        return CountingRewardAutomaton(
            **{**super()._arguments(), "counters": names, "transitions": transitions}
        )

    def _arguments(self) -> dict[str, Any]:
        absent = ("counters", "silent_limit")
        return {name: v for name, v in super()._arguments().items() if name not in absent}


def _pay_on_states(
    transitions: list[Transition],
    states: tuple[str, ...],
    state_rewards: Mapping[str, Reward | Callable[[Any, Any, Any], float]],
    otherwise: str,
) -> list[Transition]:
    """Move δ_r(u) to every transition out of u; missing transitions become explicit."""
    for state in state_rewards:
        if state not in states:
            raise UnknownNameError.of("state for a reward", state, states)
    pays = {state: as_reward(state_rewards.get(state, 0.0)) for state in states}
    result: list[Transition] = []
    for number, transition in enumerate(transitions, 1):
        if transition.reward != 0:
            raise RewardError(
                f"transition {number} pays {transition.reward}, "
                "but rewards stand on the states here",
                place=transition.place,
                fix="give either state_rewards or rewards on transitions",
            )
        result.append(replace(transition, reward=pays.get(transition.source, 0.0)))
    leaving: dict[str, list[Transition]] = {state: [] for state in states}
    for transition in transitions:
        leaving.setdefault(transition.source, []).append(transition)
    for state in states:
        rest = otherwise_guard(leaving[state])
        if pays[state] != 0 and otherwise != "error" and is_satisfiable(rest):
            target = state if otherwise == "stay" else otherwise
            result.append(Transition(source=state, target=target, guard=rest, reward=pays[state]))
    return result
