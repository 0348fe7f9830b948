"""Remedies of errors on the pages: what to click or to type, which the engine's own sentences never name."""

from __future__ import annotations

from collections.abc import Mapping

from engine.common.errors import EngineError, Remedy
from engine.common.output import Message

_COMMAND_LINE = "Only the command line can do that: ask the person who started the dashboard."
_COLUMNS = "On the page File, under “Columns”,"

STEPS = {
    Remedy.ADD_SAMPLE: _COMMAND_LINE,
    Remedy.APPROVAL: "On the page Recommend, submit the recommendation and record the approval; or on the page Export, "
    "choose “Analyst”.",
    Remedy.ATTRIBUTES: f"{_COLUMNS} choose “attribute” as the decision on at least one column.",
    Remedy.ATTRIBUTES_AND_CUTS: f"{_COLUMNS} choose “attribute” as the decision on the columns that count; then cut "
    "numeric ones under “Levels”.",
    Remedy.CANCEL: "On the page Sweep or Recommend, wait for the runs or click “Stop”.",
    Remedy.CANDIDATE: "On the page Recommend, choose “A candidate that I name” and pick one of them.",
    Remedy.CANDIDATE_OR_CHOICE: "On the page Recommend, click “Record the recommendation”.",
    Remedy.CLEAN_NAMES: "On the page File, open the file and click “Open it with clean names”.",
    Remedy.CUT: "On the page File, under “Levels”, choose {column} and type {edges} as “Edges of the levels”.",
    Remedy.DESPITE: "On the page Recommend, fill in “Why it is submitted all the same”.",
    Remedy.DEVIATION: "On the page Sweep, fill in “Why the plan departs from its approval” and “Your name”; or on the "
    "page Plan, click “Go back to what was approved”.",
    Remedy.DROP: f"{_COLUMNS} choose “drop” as the decision on {{column}}.",
    Remedy.EXTEND: "On the page Sweep, click “Add this to the study”.",
    Remedy.FAILED_RUNS: "On the page Explore, under “More”, switch on “Count failed runs too”.",
    Remedy.FEWER_SWAPS: "On the page Plan, pick fewer attributes under “My attributes only”, or choose “Search”.",
    Remedy.ID_COLUMN: f"{_COLUMNS} choose “id”, “carry” or “drop” as the decision on {{column}}.",
    Remedy.KEYS: f"{_COLUMNS} untick “known” at some attributes, or choose “carry” as the decision on a column.",
    Remedy.KEY_FILE: "Put the file with the key beside the study, under the name that it had.",
    Remedy.LOCK: "Take the section [lock] out of the file; on the page Plan, “Lock the plan” writes it anew.",
    Remedy.MECHANISMS: "The page Plan lists all mechanisms under “1. How the data are protected”.",
    Remedy.NAME: "Fill in the name beside the button.",
    Remedy.NEW_STUDY: "On the page Sweep, click “Start the sweep”.",
    Remedy.NUMBER: "Fill in “Approval number”.",
    Remedy.NUMERIC_COLUMN: "On the page File, cut {column} under “Levels”, for instance at {edges}; or choose “carry” "
    "or “drop” as the decision on it under “Columns”.",
    Remedy.ONE_WORKER: "Close other programs; then on the page Sweep, click “Resume the sweep”.",
    Remedy.OUTPUT: "Make room on the disk; then on the page Export, write the bundle again.",
    Remedy.REASON: "Fill in the reason above the button.",
    Remedy.RECHECK: "On the page Recommend, click “Run on fresh replicates”.",
    Remedy.RECOMMEND: "On the page Recommend, click “Record the recommendation” under the new one.",
    Remedy.RENAME: "On the page File, accept the name under “Suggestions”, or type another one under “Columns”.",
    Remedy.REPLICATES: "On the page Plan, raise “Replicates of each”; then on the page Sweep, click “Add this to the "
    "study”.",
    Remedy.RULE: "On the page Recommend, choose one rule under “How it is chosen”.",
    Remedy.SETTLE_COLUMNS: "On the page File, decide on each column that the plan does not name.",
    Remedy.SMALLER_SPACE: "On the page Plan, choose “Search” or “One and two attributes”, or give attributes one part.",
    Remedy.SPACE: "On the page Plan, choose “One and two attributes”, “Complete space” or “Other numbers”.",
    Remedy.SWEEP: "On the page Sweep, open another study or start a new one.",
    Remedy.TAKE_BACK: "On the page Recommend, click “Record the return”; then submit it again.",
}
"""What mends an error on the pages, with the values of the error in braces.

Remedies that no page can need are left out: the pages name no cluster, no file of a plan and no other candidate.
"""


def error_text(error: EngineError) -> str:
    """The sentence of an error, and behind it what to do on which page, where that mends it."""
    return _with_step(str(error), error.remedy, error.values)


def message_text(message: Message) -> str:
    """The same of the error with which a process that a page started ended."""
    remedy = Remedy[message.remedy] if message.remedy in Remedy.__members__ else None
    return _with_step(message.text, remedy, message.values)


def _with_step(sentence: str, remedy: Remedy | None, values: Mapping[str, str]) -> str:
    if remedy not in STEPS:
        return sentence
    return f"{sentence.rstrip('.')}. {STEPS[remedy].format(**values)}"
