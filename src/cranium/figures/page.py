"""An HTML report of experiments: one self-contained file."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cranium.errors import format_count
from cranium.experiments.manifest import StudyManifest
from cranium.experiments.records import Record, Store
from cranium.experiments.results import (
    Group,
    StudyResults,
    format_number,
    format_share,
    format_summary,
    number_columns,
    read_final_success,
    read_number,
)
from cranium.figures.kinds import find_kind
from cranium.figures.page_tables import (
    explain_columns,
    make_contrast_table,
    make_failure_table,
    make_side_by_side,
    make_table,
)
from cranium.figures.studies import draw_study
from cranium.io import write_bytes

__all__ = ["write_report"]

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1c1c1c; background: #fff;
       max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { margin: 3rem 0 .6rem; font-size: 1.3rem; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
summary { margin: .6rem 0; cursor: pointer; }
nav a { margin-right: 1rem; } a { color: #00558c; }
figure { margin: 1rem 0; } img { display: block; width: 100%; height: auto; }
.plot { overflow-x: auto; } .plot img { min-width: 36rem; }
figure.machine { border: 1px solid #ddd; padding: .5rem; }
figcaption, .small { font-size: .9rem; color: #444; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; }
th, td { padding: .25rem .7rem; text-align: right; white-space: nowrap;
         border-bottom: 1px solid #e4e4e4; }
th:nth-child(-n+2), td:nth-child(-n+2), .texts td, .texts th { text-align: left; }
.texts td { white-space: normal; min-width: 6rem; vertical-align: top; }
.pairs td { line-height: 1.35; }
.pairs th:nth-child(2), .pairs td:nth-child(2) { text-align: right; }
pre { background: #f5f5f5; padding: .7rem; overflow-x: auto; font-size: .85rem; }
.note { border-left: 4px solid #d55e00; padding: .3rem .8rem; background: #fdf3ec; }
"""


def write_report(
    studies: Sequence[StudyResults], path: Path, *, follow_links: bool = False
) -> None:
    """Write a page with the figures, tables, machines and settings of studies.

    Args:
        studies: The studies.
        path: The page.
        follow_links: Whether it may be written through a symbolic link, or into a pipe.

    Example:
        >>> import cranium, tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> study = cranium.Study("a", {"b": ("Letter", "A B")}, {"c": "cql"}, seeds=2, steps=100)
        >>> _ = study.run(folder, workers=1)
        >>> write_report([study.results()], folder / "report.html")
        >>> "<figure" in (folder / "report.html").read_text()
        True
    """
    marks = [f"study-{number}" for number in range(len(studies))]  # several may have one name
    links = "".join(
        f'<a href="#{mark}">{_(study.config.heading)}</a> '
        for mark, study in zip(marks, studies, strict=True)
    )
    sections = [_make_section(study, mark) for mark, study in zip(marks, studies, strict=True)]
    body = "\n".join([*make_side_by_side(studies), *sections])
    text = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Cranium: results</title><style>{STYLE}</style></head><body>\n"
        "<h1>Results</h1>\n"
        f"<nav>{links}</nav>\n{body}\n</body></html>\n"
    )
    write_bytes(path, text.encode(), follow_links=follow_links)


_ = html.escape


def _make_section(study: StudyResults, mark: str) -> str:
    config = study.config
    parts = [f'<section id="{mark}"><h2>{_(config.heading)}</h2>']
    if study.missing:
        told = format_count(study.missing, "trial")
        are = "is" if study.missing == 1 else "are"
        parts.append(f'<p class="note">{told} {are} still to be run.</p>')
    if study.failed:
        told = format_count(len(study.failed), "trial")
        parts.append(f'<p class="note">{told} failed, and no number includes what failed.</p>')
    parts += _make_figures(study)
    if not config.columns:
        groups = (*study.groups, *study.sums)
        parts.append(f"<h3>In numbers: {_(config.measure)}</h3>")
        rows = [(group.method, group.case, *format_summary(group)) for group in groups]
        parts.append(make_table(("method", "case", *number_columns(config)), rows))
        parts.append(explain_columns(study))
        parts += make_contrast_table(study)
        parts += _make_seed_tables(study)
        parts.append("<h3>Settings</h3>")
        rows = [(g.method, g.case, _format_settings(g)) for g in study.groups]
        parts.append(make_table(("method", "case", "settings"), rows, "texts"))
    parts += _make_tuning_table(study)
    parts += make_failure_table(study)
    parts.append(_describe_run(study))
    parts.append("</section>")
    return "\n".join(parts)


def _make_seed_tables(study: StudyResults) -> list[str]:
    """Tables with the result of every seed, which can be unfolded."""
    wanted = max((group.wanted for group in study.groups), default=0)
    columns = ("method", "case", *(f"seed {seed}" for seed in range(wanted)))
    measures: dict[str, Callable[[Record], str]] = {
        study.config.measure: lambda record: format_number(study.config.value_of(record)),
        "success of the greedy policy at the end": lambda record: format_share(
            read_final_success(record)
        ),
    }
    parts = []
    for name, measure in measures.items():
        rows = []
        for group in study.groups:
            found = {r.seed: measure(r) if r.done else "failed" for r in group.records}
            rows.append((group.method, group.case, *(found.get(s, "") for s in range(wanted))))
        if any(set(row[2:]) - {"–", "", "failed"} for row in rows):
            told = f"<summary>Seed by seed: {_(name)}</summary>"
            parts.append(f"<details>{told}{make_table(columns, rows)}</details>")
    return parts


def _make_figures(study: StudyResults) -> list[str]:
    """Draw the figures from the records; returns them with their captions as HTML."""
    parts = []
    machines = {shown.name: shown.title for shown in find_kind(study).machines(study)}
    with tempfile.TemporaryDirectory() as folder:
        for path in draw_study(study, Path(folder), ["svg"]):
            code = base64.b64encode(path.read_bytes()).decode()
            text = path.with_suffix(".md")
            told = text.read_text(encoding="utf-8") if text.exists() else path.stem
            title = machines.get(path.stem, path.stem)
            alt = _(told.split("**")[1] if "**" in told else title)
            image = f'<img alt="{alt}" src="data:image/svg+xml;base64,{code}">'
            if text.exists():
                caption = f"<figcaption>{_mark_up(told)}</figcaption>"
                parts.append(f'<figure><div class="plot">{image}</div>{caption}</figure>')
            else:
                parts.append(f"<h3>{_(title)}</h3>")
                parts.append(f'<figure class="machine">{image}</figure>')
    return parts


def _mark_up(text: str) -> str:
    """Convert the markup of captions, **bold** and *emphasis*, to HTML."""
    found = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", _(text.strip(), quote=False))
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", found)


def _format_settings(group: Group) -> str:
    """Format the settings of a learner, tuned ones included."""
    return _format_setting_values(group.config.get("settings", {}))


def _format_setting_values(found: Mapping[str, Any]) -> str:
    parts = []
    for name, value in found.items():
        if isinstance(value, dict) and {"first", "last", "over", "unit"} <= set(value):
            first, last, over = (
                format_number(read_number(value, each)) for each in ("first", "last", "over")
            )
            told = f"{first} to {last} over {over} {value['unit']}"
        elif isinstance(value, dict):
            told = ", ".join(f"{key} {each}" for key, each in value.items())
        else:
            told = str(value)
        parts.append(f"{name.replace('_', ' ')} {told}")
    return ", ".join(parts) or "its defaults"


def _describe_run(study: StudyResults) -> str:
    """Describe the versions, the CPU time, and how to run the experiment again."""
    config = study.config
    records = [record for group in study.groups for record in group.records]
    cpu = sum(record.cpu for record in records)
    told = f"{format_count(len(records), 'trial')} in the figure"
    told += f", {study.tuning:,} more to choose settings" if study.tuning else ""
    made = ""
    if records:
        names = dict.fromkeys(key for record in records for key in record.versions)
        found = {
            key: sorted({record.versions.get(key, "?") for record in records}) for key in names
        }
        versions = ", ".join(f"{key} {' and '.join(values)}" for key, values in found.items())
        made = f"<p class='small'>{_(told)}; {cpu:,.0f} s of CPU time for those in the figure. "
        made += f"Made with {_(versions)} on {_(records[0].platform)}.</p>"
    return f"<h3>How to run it again</h3>{made}{_describe_command(config, study.folder)}"


def _describe_command(config: StudyManifest, folder: Path) -> str:
    """The command that runs it again, and what it needs."""
    if config.command:
        where, command = shlex.quote(str(folder.parent)), config.command
        table = "\n".join(f"{key} = {_format_toml(value)}" for key, value in config.options.items())
        return (
            f"<pre># experiments.toml\n[{_(config.study)}]\n{_(table)}</pre>"
            f"<pre>{_(command)} --config experiments.toml --dir {_(where)}</pre>"
        )
    quick = " --quick" if config.is_quick else ""
    where = shlex.quote(str(folder))
    return f"<pre>cranium run MY_STUDY.py{quick} --dir {_(where)}</pre>"


def _format_value(config: StudyManifest, record: Record | None) -> str:
    if record is None:
        return "missing"
    return format_number(config.value_of(record)) if record.done else "failed"


def _make_tuning_table(study: StudyResults) -> list[str]:
    """A table of the settings that were tried, which can be unfolded."""
    config = study.config
    if not any(row.stage == "tuning" for row in config.rows):
        return []
    store, rows = Store(study.folder), []
    for row in config.rows:
        if row.stage == "tuning":
            found = [store.find(job) for job in config.jobs_of(row)]
            values = ", ".join(_format_value(config, each) for each in found)
            rows.append((row.method, row.case, _format_setting_values(row.settings), values))
    columns = ("method", "case", "settings", f"{config.measure}, seed by seed")
    told = f"<summary>What was tried: {format_count(len(rows), 'setting')}</summary>"
    return [f"<p>{_(config.tuning)}</p><details>{told}{make_table(columns, rows)}</details>"]


def _format_toml(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_format_toml(each) for each in value) + "]"
    return json.dumps(value)
