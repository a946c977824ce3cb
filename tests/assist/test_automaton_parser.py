"""Reading automata from the answers of models: transition functions, arrows, tables, sentences."""

from __future__ import annotations

import cProfile

import pytest

import cranium
from cranium.assist import parse_automaton
from cranium.errors import PlanError

EVENTS = ["M", "P", "D"]

# What ChatGPT answered in Appendix G.
LATEX = r"""
Here's the description of the automaton:
States:
 \(q_0\): Initial state
 \(q_1\): Mail collected state
 \(q_2\): Mail delivered state (Accepting state)
The only accepting state is \(q_2\) (mail delivered state).
\begin{align*}
\delta(q_0, M) &\rightarrow q_1 \\
\delta(q_0, P) &\rightarrow q_{\text{trap}} \\
\delta(q_0, D) &\rightarrow q_{\text{trap}} \\
\delta(q_1, M) &\rightarrow q_{\text{trap}} \\
\delta(q_1, P) &\rightarrow q_2 \\
\delta(q_1, D) &\rightarrow q_{\text{trap}} \\
\delta(q_2, M) &\rightarrow q_{\text{trap}} \\
\delta(q_2, P) &\rightarrow q_{\text{trap}} \\
\delta(q_2, D) &\rightarrow q_{\text{trap}} \\
\delta(q_{\text{trap}}, M) &\rightarrow q_{\text{trap}} \\
\delta(q_{\text{trap}}, P) &\rightarrow q_{\text{trap}} \\
\delta(q_{\text{trap}}, D) &\rightarrow q_{\text{trap}}
\end{align*}
"""
PROSE = r"""
1. **States:**
   - \(q_0\): Initial state
   - \(q_2\): Mail delivered state (Accepting state)
2. **Transition function:**
   - Transition from the initial state \(q_0\):
     - On input \(M\), move to state \(q_1\) (mail collected).
     - On input \(P\) or \(D\), go to a trap state \(q_{\text{trap}}\) (a non-accepting state).
   - Transition from the mail collected state \(q_1\):
     - On input \(P\), move to state \(q_2\) (mail delivered, accepting state).
     - On input \(M\) or \(D\), go to \(q_{\text{trap}}\).
3. The only accepting state is \(q_2\).
"""
TABLE = """
| State | M | P | D |
|-------|---|---|---|
| q0 | q1 | q3 | q3 |
| q1 | q3 | q2 | q3 |
| q2 | q3 | q3 | q3 |
Initial state: q0. Accepting states: {q2}
"""
ARROWS = """
The start state is S0 and the accepting state is S2.
S0 --M--> S1
S1 --P--> S2
"""
BACKWARDS = """
1. **State 0**: Initial state.
2. **State 1**: This state is reached from State 0 when the input is "M".
3. **State 2** (accepting): This state is reached from State 1 when the input is "P".
"""
ASIDE = """
δ(q0, M) = q1, δ(q1, P) = q2, which is the accepting state. The initial state is q0.
"""
FORMAL = """
Q = {q0, q1, failed, q2}, F = {q2}. δ(q0, M) = q1; δ(q0, P) = failed; δ(q1, P) = q2
"""
TRIPLES = """
| Current State | Input | Next State |
|---|---|---|
| `q0` | M | `q1` |
| `q1` | P | `q2` |
The final state is q2.
"""


@pytest.mark.parametrize("text", [LATEX, PROSE, TABLE, ARROWS, TRIPLES, BACKWARDS, ASIDE, FORMAL])
def test_ways_of_writing_one_automaton(text):
    machine = parse_automaton(text, EVENTS)
    answer = cranium.equivalent(machine, cranium.compile_language("M P never D"))
    assert answer, (answer.word, answer.reason)


def test_it_can_be_saved_in_our_own_format(tmp_path):
    machine = parse_automaton(LATEX, EVENTS)
    cranium.save(machine, tmp_path / "theirs.yaml")
    assert cranium.equivalent(cranium.load(tmp_path / "theirs.yaml"), machine)


def test_an_automaton_that_is_wrong_is_read_as_it_is():
    wrong = LATEX.replace(
        r"\delta(q_0, P) &\rightarrow q_{\text{trap}}", r"\delta(q_0, P) &\rightarrow q_2"
    )
    machine = parse_automaton(wrong, EVENTS)
    difference = cranium.equivalent(cranium.compile_language("M P never D"), machine)
    assert not difference
    assert difference.word == (("P",),)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "State 1 is reached from State 0 ",
        "q",  # one word
        "q1",
        "M, ",
        "on ",
        "-> ",
        "if M -> q ",
        "reached from q input M ",
        "\\text{",
        "(q1, M or ",
    ],
)
def test_long_answers_are_read_in_linear_time(piece):
    with pytest.raises(PlanError, match=r"transition function|does not say which"):
        parse_automaton(piece * (20_000 // len(piece)), EVENTS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "q{",  # without the marks it is one word
        "accept\\text{q",
        "q1{",
        "in {q",
        "q reached from q input ",
        "(q, M or M",
        "q--M--",
        "|M|q",
        "not an ",
    ],
)
def test_the_work_grows_with_the_length_of_an_answer_and_not_with_its_square(piece, monkeypatch):
    monkeypatch.setattr("cranium.assist.automaton_parser.MAX_TEXT", 2**18)

    def work(length):
        """How many functions are called, those in C too, to read an answer of a length."""
        profile = cProfile.Profile()
        with pytest.raises(PlanError), profile:
            parse_automaton(piece * (length // len(piece)), EVENTS)
        return sum(each.callcount for each in profile.getstats())

    assert work(2**16) < 5 * work(2**14) + 1000


def test_an_answer_that_is_far_too_long_is_refused():
    with pytest.raises(PlanError, match="at most 20,000 characters, this has 20,001"):
        parse_automaton("q" * 20_001, EVENTS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no transition function"),
        ("The automaton has states q0 and q1.", "no transition function"),
        ("δ(q0, M) = q1", "does not say which"),
        ("δ(q0, M) = q1, δ(q0, M) = q2. Accepting: q2", "leads to q1, and to q2"),
        ("δ(q0, M) = q0. The accepting state is q0.", "accepts at once"),
        ("δ(q0, X) = q1. Accepting state: q1", "no transition function"),
    ],
)
def test_what_is_no_automaton_is_refused(text, said):
    with pytest.raises(PlanError, match=said):
        parse_automaton(text, EVENTS)
