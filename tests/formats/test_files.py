"""Files: round trips, what errors say, and what hostile input meets."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

import cranium
from cranium import RewardMachine, Transition
from cranium.errors import (
    AutomatonError,
    CounterRuleError,
    CraniumError,
    FileAccessError,
    FileFormatError,
    FormulaSyntaxError,
    InvalidArgumentError,
    RewardError,
    SilentLoopError,
    UnknownNameError,
)
from cranium.formats.documents import read_yaml
from cranium.io import write_bytes, write_stream

GOOD = """\
name: A^N B
propositions: [A, B]
counters: [n]
initial: counting
terminal: [done]
accepting: [done]
transitions:
  - {from: counting, when: A & !B, add: {n: 1}}
  - {from: counting, when: B & !A, if: n > 0, to: done, reward: 1}
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", cranium.library.names())
@pytest.mark.parametrize("suffix", ["yaml", "yml", "json"])
def test_a_round_trip_through_a_file_is_identical(tmp_path, name, suffix):
    machine = cranium.library.load(name)
    path = tmp_path / f"m.{suffix}"
    cranium.save(machine, path)
    assert cranium.load(path) == machine
    first = path.read_text()
    cranium.save(cranium.load(path), path)
    assert path.read_text() == first
    assert list(tmp_path.iterdir()) == [path], "no drafts are left behind"


def test_strange_but_allowed_names_survive():
    machine = RewardMachine(
        name='a "name": with, {everything} # in it',
        propositions=["on", "no", "n", "y", "null_", "été"],
        initial="true",
        states=[
            "true",
            "1",
            "1e5",
            "null",
            "~",
            "- x",
            "a: b",
            "#",
            "'",
            '"',
            "!tag",
            "&a",
            "*a",
            "0x1f",
            "é",
        ],
        terminal=["{}", "[]"],
        accepting=["[]"],
        transitions=[Transition(source="true", guard="!on & no", target="1e5", reward=1e300)],
    )
    for form in ("yaml", "json"):
        assert cranium.loads(cranium.dumps(machine, form=form), form=form) == machine


def test_what_we_write_other_yaml_readers_read_alike():
    for name in cranium.library.names():
        text = cranium.dumps(cranium.library.load(name))
        assert yaml.safe_load(text) == read_yaml(text).data
        assert yaml.safe_load(text) == json.loads(
            cranium.dumps(cranium.library.load(name), form="json")
        )


def test_yaml_words_of_1_1_are_names_and_defaults_are_defaults():
    machine = cranium.loads(
        "propositions: [on, off]\ninitial: yes\ntransitions: [{from: yes, when: on}]"
    )
    assert machine.propositions == ("on", "off")
    assert machine.initial == "yes"
    assert machine.otherwise == "stay"
    assert machine.transitions[0].target == "yes"


def test_zero_tests_can_be_written_in_several_ways():
    def pattern(tests):
        text = GOOD.replace("counters: [n]", "counters: [n, m]").replace("n > 0", tests)
        return cranium.loads(text).transitions[1].zero_pattern

    assert {pattern(t) for t in ("n > 0", "n >= 1", "n != 0", "[n > 0]")} == {"1*"}
    assert {
        pattern(t) for t in ('"n > 0, m == 0"', "n>0 & m=0", "n > 0 and m == 0", "[n > 0, m == 0]")
    } == {"10"}


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        ("when: A & !B", "when: A & & B", "& B, add", "a formula expects a proposition"),
        ("when: A & !B", "when: 'A & & B'", "& B', add", "a formula expects a proposition"),
        ("when: A & !B", "whn: A & !B", "whn", "no such key: 'whn'"),
        ("initial: counting", "initial: 3", "3", "initial: input should be a valid string, not 3"),
        (
            "initial: counting",
            "initial: cuonting",
            "cuonting",
            "no such state for 'initial': 'cuonting'",
        ),
        ("initial: counting\n", "", "name", "the key 'initial' is missing"),
        ("to: done", "to: dne", "dne", "no such state: 'dne'"),
        ("when: A & !B", "when: A & !C", "A & !C", "no such proposition: 'C'"),
        ("if: n > 0", "if: n > 1", "n > 1", "can only be tested for zero"),
        ("if: n > 0", "if: m > 0", "m > 0", "no such counter: 'm'"),
        ("if: n > 0", "if: [n > 0, n == 0]", "[n > 0", "tested both ways"),
        ("add: {n: 1}", "add: {m: 1}", "m: 1", "no such counter: 'm'"),
        ("add: {n: 1}", "add: {n: 1.5}", "1.5", "valid integer"),
        ("add: {n: 1}", "add: {n: -1}", "{n: -1}", "takes 1 from the counter 'n'"),
        ("reward: 1", "reward: .nan", ".nan", "a reward is a finite number"),
        ("reward: 1", "reward: 1e999", "1e999", "finite number"),
        ("when: B & !A", "when: A", "A, if", "both enabled"),
        ("counters: [n]", "counters: [n, n]", "n]", "declared twice"),
        ("counters: [n]", "counters: n", "n\ninitial", "valid list, not 'n'"),
        ("accepting: [done]", "accepting: [dun]", "[dun]", "no such terminal state"),
        ("terminal: [done]", "terminal: [done, stay]", "[done, stay]", "cannot be called 'stay'"),
        ("name: A^N B", "otherwise: sty", "sty", "no such choice"),
        ("name: A^N B", "silent_limit: 0", "0", "greater than or equal to 1"),
        ("name: A^N B", "name: &x A", "&x", r"anchors \(&x\) are not allowed"),
        ("name: A^N B", "name: *x", "*x", r"aliases \(\*x\) are not allowed"),
        ("name: A^N B", "name: !!python/name:os.system x", "!!", "tags .* are not allowed"),
        ("name: A^N B", "name: x\nname: y", "name: y", "the key 'name' stands here twice"),
        ("name: A^N B", "[1, 2]: x", "[1, 2]", "a key is a name"),
        ("name: A^N B", "name: {{a}: b}", "{a}", "a key is a name"),
        ("name: A^N B", "name: [", ":", "this is not YAML"),
        ("name: A^N B", "name: " + "9" * 5000, "999", "an integer has at most"),
        ("transitions:", "---\ntransitions:", "---", "a second document begins"),
    ],
)
def test_an_error_says_file_line_and_column(old, new, at, message):
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    with pytest.raises(CraniumError, match=message) as caught:
        cranium.loads(text, file="task.yaml")
    place = caught.value.place
    assert place is not None
    assert place.file == "task.yaml"
    if message != "this is not YAML":  # where, is PyYAML's to say
        offset = text.index(at)
        assert place.line == text.count("\n", 0, offset) + 1
        assert place.column == offset - (text.rfind("\n", 0, offset) + 1) + 1
        line, caret = caught.value.excerpt.splitlines()
        assert line[caret.index("^")] == at[0]


def test_the_same_errors_come_with_places_from_json(tmp_path):
    data = json.loads(cranium.dumps(cranium.loads(GOOD), form="json"))
    data["transitions"][1]["when"] = "B &"
    text = json.dumps(data, indent="\t")
    with pytest.raises(FormulaSyntaxError) as caught:
        cranium.loads(text, form="json", file="t.json")
    line = next(i for i, row in enumerate(text.splitlines(), 1) if '"B &"' in row)
    assert (
        str(caught.value.place) == f"t.json:{line}:{text.splitlines()[line - 1].index('B &') + 4}"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this is not JSON"),
        ("[1, 2]", "a machine is a mapping"),
        ("null", "not nothing"),
        ('{"initial": NaN}', "'NaN' is not a number of reasonable size"),
        ('{"a": 1, "a": 2}', "stands here twice"),
        ('{"silent_limit": ' + "1" * 5000 + "}", "is not a number of reasonable size"),
        ("[" * 100000, "nested more than 10 deep"),
        ('{"a":' * 100000, "nested more than 10 deep"),
        ('{"\\ud800": 1}', "a key: input should be a valid string"),
    ],
)
def test_json_that_is_refused(text, message):
    with pytest.raises(FileFormatError, match=message):
        cranium.loads(text, form="json")


def bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        bomb(),
        "a: " + "[" * 100_000,
        "a: " + "{a: " * 50_000,
        "- " * 50_000 + "a",
        "propositions: [" + "x" * 2_000_000 + "]",
        GOOD.replace("counting", "c" * 2_000_000),
        GOOD.replace("A & !B", "A & " * 500_000 + "B"),
        GOOD.replace("A & !B", '"' + "(" * 90_000 + 'A"'),
        GOOD.replace("A^N B", "x\x00y"),
        GOOD.replace("A^N B", "x\x07y"),
        GOOD.replace("A^N B", '"x\\0y"'),
        GOOD.replace("done", '"\\ud800"'),
        "? " * 10_000,
        "\t\t\t",
        "%YAML 9.9\n---\na: b",
        "!!binary x",
        "",
        "just words",
        "- a\n- b",
        "a: b\n--- \nc: d",
        "transitions: " + "- " * 1000,
        "a: |\n" + " x\n" * 100_000,
    ],
    ids=range(22),
)
def test_hostile_yaml_ends_in_a_clear_error(text):
    with pytest.raises(CraniumError) as caught:
        cranium.loads(text, file="evil.yaml")
    assert len(str(caught.value)) < 1500


def test_hostile_bytes_end_in_a_clear_error(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_bytes(b"name: x\ninitial: \xff\xfe")
    with pytest.raises(FileFormatError, match=r"m.yaml:2:10: this is not UTF-8: byte 0xff"):
        cranium.load(path)
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert cranium.load(path).name == "A^N B"
    with path.open("wb") as stream:
        stream.truncate(65 * 2**20)
    with pytest.raises(FileFormatError, match="more than 8 MiB"):
        cranium.load(path)
    with pytest.raises(FileFormatError, match="more than 8 Mi characters"):
        cranium.loads("x" * (9 * 2**20))


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(FileAccessError, match="No such file"):
        cranium.load(tmp_path / "none.yaml")
    with pytest.raises(FileAccessError, match=r"does not end in one of \.yaml"):
        cranium.load(tmp_path / "none.toml")
    (tmp_path / "dir.yaml").mkdir()
    with pytest.raises(FileAccessError, match="directory"):
        cranium.load(tmp_path / "dir.yaml")
    machine = cranium.library.load("anbcn")
    with pytest.raises(FileAccessError, match="does not end in one of"):
        cranium.save(machine, tmp_path / "m.txt")
    with pytest.raises(FileAccessError, match="cannot write"):
        cranium.save(machine, tmp_path / "no" / "m.yaml")
    with pytest.raises(UnknownNameError, match="form of file: 'xml'"):
        cranium.dumps(machine, form="xml")
    with pytest.raises(UnknownNameError, match="form of file: 'xml'"):
        cranium.loads("", form="xml")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # closed late
def test_a_write_interrupted_anywhere_leaves_the_old_file_or_the_new_one_and_no_draft(tmp_path):
    path, lines = tmp_path / "m.yaml", 0

    def interrupt(frame, event, _):
        nonlocal lines
        if frame.f_code not in (write_bytes.__code__, write_stream.__code__):
            return None
        lines += event == "line"
        if lines == stop:
            lines += 1
            raise KeyboardInterrupt
        return interrupt

    seen, before = [], sys.gettrace()
    for stop in range(1, 100):
        path.write_text("old")
        lines = 0
        sys.settrace(interrupt)
        try:
            write_bytes(path, b"new", durable=True)
        except KeyboardInterrupt:
            seen.append(path.read_text())
        else:
            break
        finally:
            sys.settrace(before)
        assert [p.name for p in tmp_path.iterdir()] == ["m.yaml"], f"at line {stop}"
    assert path.read_text() == "new"
    assert len(seen) > 5
    assert set(seen) <= {"old", "new"}


def test_reward_functions_are_named_in_the_file_and_given_by_the_caller():
    text = GOOD.replace("reward: 1", "reward: distance")
    with pytest.raises(UnknownNameError, match=r"rewards=\{'distance': function\}"):
        cranium.loads(text)

    def distance(s, a, s2):
        return s2 - s

    machine = cranium.loads(text, rewards={"distance": distance})
    assert machine.run("A B", experiences=[(0, 0, 0), (1, 0, 4)]).total_reward == 3.0
    assert cranium.loads(cranium.dumps(machine), rewards={"distance": distance}) == machine
    assert "reward: distance" in cranium.dumps(machine)


@pytest.mark.slow
def test_the_json_schema_is_published_valid_and_accepts_what_we_write():
    schema = cranium.automaton_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    published = Path(__file__).parents[2] / "docs" / "automaton.schema.json"
    assert json.loads(published.read_text()) == schema, "run: make pictures"
    for name in cranium.library.names():
        machine = cranium.library.load(name)
        jsonschema.validate(json.loads(cranium.dumps(machine, form="json")), schema)
        jsonschema.validate(yaml.safe_load(cranium.library.text(name)), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"initial": "u", "propositions": [], "transitions": [{}]}, schema)


@pytest.mark.slow
def test_a_large_file_is_read_too_and_its_errors_have_places(tmp_path):
    unrolled = cranium.unroll(cranium.library.load("office"), 100)
    for suffix in ("yaml", "json"):
        path = tmp_path / f"large.{suffix}"
        cranium.save(unrolled, path)
        assert path.stat().st_size > 1_000_000
        assert cranium.load(path) == unrolled
        lines = path.read_text().splitlines()
        wrong = next(i for i, line in enumerate(lines) if i > 9000 and "failed" in line)
        lines[wrong] = lines[wrong].replace("failed", "faild")
        path.write_text("\n".join(lines))
        with pytest.raises(UnknownNameError, match="'faild'"):
            cranium.load(path)


# Toro Icarte's format

TXT = """0 # initial state
[2] # terminal state
(0,0,'!f&!n',ConstantRewardFunction(0))
(0,1,'f&!n',ConstantRewardFunction(0))
(1,1,'!g&!n',ConstantRewardFunction(0))
(1,2,'g&!n',ConstantRewardFunction(1))
"""


def test_toro_icarte_machines_are_read(tmp_path):
    path = tmp_path / "t1.txt"
    path.write_text(TXT)
    machine = cranium.load(path)
    assert isinstance(machine, RewardMachine)
    assert machine.propositions == ("f", "g", "n")
    assert machine.run("f {} g").accepted
    assert machine.run("f n").configurations[-1].state == "failed"
    assert machine.transitions[0].place.line == 3
    assert cranium.check(machine) == ()
    more = TXT + "(2,2,'true',ConstantRewardFunction(0))\n"
    assert cranium.loads(more, form="toro-icarte") == machine, "the end of the episode is the end"


def test_toro_icarte_reward_functions_and_machines_without_end():
    text = "0\n[]\n(0,0,'!c',RewardControl())\n(0,1,'c',RewardControl())\n(1,1,'!d',RewardControl())\n(1,0,'d',ConstantRewardFunction(1000))"
    with pytest.raises(UnknownNameError, match="'RewardControl'"):
        cranium.loads(text, form="toro-icarte")
    machine = cranium.loads(
        text, form="toro-icarte", rewards={"RewardControl": lambda s, a, s2: -0.1}
    )
    assert machine.terminal == ()
    assert machine.otherwise == "stay"
    assert machine.run("c d", experiences=[(0, 0, 0)] * 2).total_reward == pytest.approx(999.9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a line with the initial state"),
        ("0", "expected a line with the initial state"),
        ("x\n[1]", "expected the initial state"),
        ("0\n1", "expected the terminal states"),
        (
            TXT.replace("(0,1", "(0,__import__('os').system('true')"),
            "line 4, column 1: expected a transition",
        ),
        (
            TXT.replace("ConstantRewardFunction(1)", "ConstantRewardFunction(exit())"),
            "line 6, .*expected a transition",
        ),
        (
            TXT.replace("ConstantRewardFunction(1)", "ConstantRewardFunction(x)"),
            "'x' is not a constant reward",
        ),
        (
            TXT.replace("ConstantRewardFunction(1)", "ConstantRewardFunction(inf)"),
            "'inf' is not a constant reward",
        ),
        (TXT.replace("'g&!n'", "'g&&&n'"), "a formula expects"),
        (TXT.replace("'g&!n'", "'!n'"), "both enabled"),
        (TXT + "(0,0,'a'" * 5000, "line 7"),
    ],
)
def test_toro_icarte_files_that_are_refused(text, message):
    with pytest.raises(CraniumError, match=message):
        cranium.loads(text, form="toro-icarte")


# What reviewers found


def test_line_ends_that_only_yaml_knows_do_not_confuse_the_places():
    text = "propositions: [A]\rinitial: u\rtransitions:\r  - {from: u, when: A &}"
    with pytest.raises(FormulaSyntaxError, match="the text ends"):
        cranium.loads(text)
    data = json.loads(cranium.dumps(cranium.loads(GOOD), form="json"))
    data["name"], data["transitions"][0]["when"] = "a\u2028b", "A &"
    with pytest.raises(FormulaSyntaxError, match="the text ends"):
        cranium.loads(json.dumps(data, ensure_ascii=False), form="json")


def test_crlf_is_a_line_end():
    with pytest.raises(UnknownNameError) as caught:
        cranium.loads(GOOD.replace("to: done", "to: dun").replace("\n", "\r\n"))
    assert caught.value.place.line == 9


def test_an_endless_string_in_json_is_refused_in_linear_time():
    with pytest.raises(FileFormatError, match="this is not JSON"):
        cranium.loads('{"a": "' + '\\"' * 500_000, form="json")


def test_guards_that_are_too_hard_to_compare_are_refused():
    holes, pigeons = range(11), range(12)
    each = " & ".join("(" + " | ".join(f"p{i}_{j}" for j in holes) + ")" for i in pigeons)
    apart = " & ".join(
        f"(!p{i}_{j} | !p{k}_{j})" for j in holes for i in pigeons for k in pigeons if i < k
    )
    names = ", ".join(f"p{i}_{j}" for i in pigeons for j in holes)
    text = f"propositions: [{names}]\ninitial: u\ntransitions:\n  - {{from: u, when: '{each}'}}\n  - {{from: u, when: '{apart}'}}"
    with pytest.raises(CraniumError, match="too hard to decide"):
        cranium.loads(text)


@pytest.mark.parametrize("test", ["n == 0000000005", "n == 5", "n > 00", "n == -1", "n == 0.0"])
def test_zero_tests_are_not_guessed(test):
    with pytest.raises(CraniumError, match="can only be tested for zero"):
        cranium.loads(GOOD.replace("n > 0", test))


@pytest.mark.parametrize("test", ["n ≥ 1", "n ≠ 0", "n != 0", "n >= 1", "n>0"])
def test_every_spelling_of_not_zero(test):
    assert cranium.loads(GOOD.replace("n > 0", test)) == cranium.loads(GOOD)


@pytest.mark.parametrize("test", ["n = 0", "n <= 0", "n < 1", "n ≤ 0", "n == 0"])
def test_every_spelling_of_zero(test):
    assert cranium.loads(GOOD.replace("n > 0", test)).transitions[1].zero_pattern == "0"


@pytest.mark.parametrize("empty", ["to:", "to: ''", "to: ~"])
def test_an_empty_target_is_not_a_self_loop(empty):
    with pytest.raises(FileFormatError, match="transition 1, to"):
        cranium.loads(f"propositions: [A]\ninitial: u\ntransitions:\n  - from: u\n    {empty}\n")


def test_a_guard_as_deep_as_the_parser_takes_can_be_checked_and_converted():
    guard = "!(A & " * 49 + "B" + ")" * 49
    machine = RewardMachine(
        propositions=["A", "B"],
        initial="u",
        terminal=["end"],
        accepting=["end"],
        transitions=[Transition(source="u", guard=guard, target="end")],
    )
    assert cranium.check(machine) == ()
    assert cranium.equivalent(machine, cranium.minimise(cranium.unroll(machine, 1)))
    assert cranium.dumps(machine, form="hoa")


@pytest.mark.parametrize(
    "reward", [".nan", "-.inf", "inf", "1_000", "−1", "1/2", "'1'", "10%", "''"]
)
def test_what_looks_like_a_number_is_no_reward_function(reward):
    anything = {reward.strip("'"): lambda s, a, s2: 0.0}
    with pytest.raises(CraniumError, match="reward"):
        cranium.loads(GOOD.replace("reward: 1", f"reward: {reward}"), rewards=anything)


def test_reward_functions_that_a_file_could_not_tell_apart_are_refused():
    def machine(*rewards):
        return RewardMachine(
            propositions=["A"],
            initial="u",
            transitions=[
                Transition(source="u", guard=guard, reward=reward)
                for guard, reward in zip(["A", "!A"], rewards, strict=True)
            ],
        )

    with pytest.raises(RewardError, match="two reward functions are called '<lambda>'"):
        cranium.dumps(machine(lambda s, a, s2: 1.0, lambda s, a, s2: 2.0))
    text = cranium.dumps(cranium.as_cra(machine(1.0000001, 1.0000002)))
    assert "f_1.0000001" in text
    assert "f_1.0000002" in text

    def f(s, a, s2):
        return 0.0

    given = {"distance": cranium.RewardFunction("other", f)}
    loaded = cranium.loads(GOOD.replace("reward: 1", "reward: distance"), rewards=given)
    assert "reward: distance" in cranium.dumps(loaded)
    for wrong in [("", f), (3, f), ("a\nb", f), ("f", 3)]:
        with pytest.raises(RewardError):
            cranium.RewardFunction(*wrong)


@pytest.mark.slow
def test_places_in_a_large_file_and_with_escapes_are_right():
    data = json.loads(cranium.dumps(cranium.loads(GOOD), form="json"))
    data["name"] = "\N{GRINNING FACE}"
    data["transitions"][1]["to"] = "dun"
    text = json.dumps(data, indent=1)
    with pytest.raises(UnknownNameError) as caught:
        cranium.loads(text, form="json")
    assert text.splitlines()[caught.value.place.line - 1].strip() == '"to": "dun",'
    many = "".join(f"  - {{from: s{i}, when: A, to: counting}}\n" for i in range(40_000))
    with pytest.raises(CraniumError, match="both enabled") as caught:
        cranium.loads(GOOD + many + "  - {from: s7, when: A & B}\n")
    assert caught.value.place.line == 40_010
    assert cranium.loads(GOOD + many).transitions[-1].place.line == 40_009


@pytest.mark.parametrize(
    "guard", ["|\n      A & & B", ">-\n      A &\n      & B", '"A \\\n      & & B"']
)
def test_a_guard_over_several_lines_is_pointed_at_where_it_begins(guard):
    text = GOOD.replace(
        "{from: counting, when: A & !B, add: {n: 1}}", f"from: counting\n    when: {guard}"
    )
    with pytest.raises(FormulaSyntaxError) as caught:
        cranium.loads(text, file="f.yaml")
    assert (caught.value.place.file, caught.value.place.line) == ("f.yaml", 9)
    assert "^" in caught.value.excerpt


def test_a_misspelt_key_is_named_before_the_one_that_is_missing():
    with pytest.raises(FileFormatError, match="no such key: 'propositons'") as caught:
        cranium.loads(GOOD.replace("propositions:", "propositons:"))
    assert str(caught.value.place) == "line 2, column 1"
    assert "'propositions'" in caught.value.fix


def test_a_guard_that_begins_with_a_bang_says_how_to_quote_it():
    with pytest.raises(FileFormatError, match="put it in quotes"):
        cranium.loads(GOOD.replace("when: A & !B", "when: !A"))


def test_writing_keeps_links_modes_and_pipes(tmp_path):
    machine = cranium.loads(GOOD)
    target, link = tmp_path / "target.yaml", tmp_path / "link.yaml"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    cranium.save(machine, link)
    assert link.is_symlink()
    assert cranium.load(target) == machine
    assert target.stat().st_mode & 0o777 == 0o600


def test_files_that_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "fifo.yaml")
    with pytest.raises(FileAccessError, match="not a regular file"):
        cranium.load(tmp_path / "fifo.yaml")
    with pytest.raises(FileAccessError, match="cannot read"):
        cranium.load("a\0.yaml")
    with pytest.raises(FileAccessError, match="is a directory"):
        cranium.load(tmp_path)


def test_what_could_not_be_read_again_is_not_written(tmp_path, monkeypatch):
    machine = cranium.loads(GOOD)
    monkeypatch.setattr("cranium.formats.files.MAX_BYTES", 100)
    with pytest.raises(FileFormatError, match="could not be read again"):
        cranium.save(machine, tmp_path / "m.yaml")


def test_toro_icarte_details_of_the_original():
    ends = TXT + "(0,-1,'n',ConstantRewardFunction(0))\n"
    machine = cranium.loads(ends, form="toro-icarte")
    assert machine.run("n").ended
    assert not machine.run("n").succeeded
    with pytest.raises(UnknownNameError, match=r"'Ctl\(2\)'"):
        cranium.loads(
            "0\n[]\n(0,0,'a',Ctl(1))\n(0,0,'!a',Ctl(2))",
            form="toro-icarte",
            rewards={"Ctl(1)": lambda s, a, s2: 1.0},
        )
    with pytest.raises(FileFormatError, match="line 1, column 1: the initial state 0 is terminal"):
        cranium.loads("0\n[0]", form="toro-icarte")
    with pytest.raises(FormulaSyntaxError) as caught:
        cranium.loads(TXT.replace("'g&!n'", "'g&&&n'"), form="toro-icarte")
    assert str(caught.value.place) == "line 6, column 10"


AT_RESET = """\
propositions: [A]
counters: [n, m]
initial: u
states: [u, v, w]
terminal: [end]
{more}
transitions:
  - {{from: w, when: A, to: end}}
  - {{from: u, silent: true, if: n == 0, to: v, add: {{n: 1}}}}
  - {last}
"""


@pytest.mark.parametrize(
    ("last", "at", "more", "said"),
    [
        (
            "{from: v, silent: true, to: end}",
            "end",
            "",
            "lead to the terminal state 'end' at reset",
        ),
        ("{from: v, silent: true, to: w, reward: 2}", "2", "", "would pay 2.0 at reset"),
        ("{from: v, silent: true, if: n > 0, add: {n: -2}}", "{n: -2", "", "at reset, .* to -1"),
        ("{from: v, silent: true, if: n > 0, add: {n: 1}}", "true", "", "repeat for ever from"),
        (
            "{from: v, silent: true, to: w}",
            "true",
            "silent_limit: 1",
            "at reset, more than 1 silent",
        ),
    ],
)
def test_an_error_at_reset_points_at_the_silent_transition(last, at, more, said):
    text = AT_RESET.format(last=last, more=more)
    with pytest.raises(CraniumError, match=said) as refused:
        cranium.loads(text, file="task.yaml")
    problem = refused.value
    assert (problem.place.line, problem.place.column) == (10, last.index(at) + 5)
    assert problem.excerpt.splitlines()[0].strip() == f"- {last}"
    assert problem.fix
    data = json.dumps(yaml.safe_load(text), indent=1)
    with pytest.raises(CraniumError, match=said) as refused:
        cranium.loads(data, form="json")
    assert refused.value.place.line > data[: data.rindex('"from": "v"')].count("\n")


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch):
    for name in ("m.yaml", "m.json", "m.txt"):
        with (tmp_path / name).open("wb") as stream:
            stream.truncate(60 * 10**6)  # no bytes are written: nothing but its size can be read
        with pytest.raises(FileFormatError, match="has more than 8 MiB") as refused:
            cranium.load(tmp_path / name)
        assert refused.value.fix
    with pytest.raises(FileFormatError, match="has more than 8 Mi characters"):
        cranium.loads("#" * (8 * 2**20 + 1))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_small_file_with_too_many_values_is_refused(form):
    start = '{"propositions": ["A"], "initial": "u", "transitions": ['
    for many in ("1," * 900_000, '{"from":"u"},' * 450_000, "[]," * 450_000):
        with pytest.raises(FileFormatError, match="there are more than 400,000 values"):
            cranium.loads(start + many + '{"from": "u"}]}', form=form)
    with pytest.raises(FileFormatError, match="there are more than 800,000 lines"):
        cranium.loads("\n" * 800_001, form=form)


def test_what_has_too_many_values_is_not_written(tmp_path, monkeypatch):
    machine = cranium.loads(GOOD)
    data = json.loads(cranium.dumps(machine, form="json"))

    def count(value):
        inside = (
            value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        )
        return 1 + sum(count(one) for one in inside)

    for form in ("yaml", "json"):
        least = count(data)
        monkeypatch.setattr("cranium.formats.files.MAX_VALUES", least)
        monkeypatch.setattr("cranium.formats.documents.MAX_VALUES", least)
        cranium.save(machine, tmp_path / f"m.{form}")
        assert cranium.load(tmp_path / f"m.{form}") == machine
        monkeypatch.setattr("cranium.formats.files.MAX_VALUES", least - 1)
        with pytest.raises(FileFormatError, match="values, and could not be read again"):
            cranium.save(machine, tmp_path / f"m.{form}")


RUNS = """\
propositions: [A]
counters: [n]
initial: u
states: [u, v]
terminal: [end]
silent_limit: {limit}
transitions:
  - {{from: u, when: A, to: v, add: {{n: 1000000000}}}}
  - {{from: v, silent: true, if: n > 0, add: {{n: -1}}}}
  - {{from: v, silent: true, if: n == 0, to: end}}
"""


def test_a_silent_run_of_a_thousand_million_steps_ends_at_its_limit():
    with pytest.raises(SilentLoopError, match="more than 1,000 silent transitions"):
        cranium.loads(RUNS.format(limit=1000)).run("A")
    for limit in (10**6 + 1, 10**12):
        with pytest.raises(
            FileFormatError, match=r"silent_limit: .* less than or equal to 1000000"
        ):
            cranium.loads(RUNS.format(limit=limit))
    machine = cranium.loads(RUNS.format(limit=10**6))
    with pytest.raises(InvalidArgumentError, match="silent_limit is at most 1,000,000"):
        machine.replace(silent_limit=10**9)


def test_a_machine_has_no_more_counters_or_transitions_than_can_be_compared():
    many = [f"n{i}" for i in range(301)]
    data = {**json.loads(cranium.dumps(cranium.loads(GOOD), form="json")), "counters": many}
    with pytest.raises(FileFormatError, match="at most 300 items"):
        cranium.loads(json.dumps(data), form="json")
    with pytest.raises(CounterRuleError, match="at most 300 counters, not 301"):
        cranium.CountingRewardAutomaton(
            propositions=["A"], initial="u", counters=many, transitions=[Transition(source="u")]
        )
    rows = "".join("  - {from: u, when: false}\n" for _ in range(1001))
    with pytest.raises(
        AutomatonError, match="more than 1,000 transitions leave the state 'u'"
    ) as no:
        cranium.loads(f"propositions: [A]\ninitial: u\ntransitions:\n{rows}")
    assert no.value.place.line == 1004
