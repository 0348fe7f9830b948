"""The options and commands that remedy errors, which the engine's own sentences never name."""

from __future__ import annotations

from engine.common.errors import EngineError, Remedy

OPTIONS = {
    Remedy.ADD_MEASURE: "`frontier measure {study} --data DATA --measures '{measure}'`",
    Remedy.ADD_SAMPLE: "`frontier datasets add cps8d --from FILE`",
    Remedy.APPROVAL: "`frontier decide`, or --tier analyst",
    Remedy.APPROVED_CANDIDATE: "leave --candidate out",
    Remedy.ATTRIBUTES: "--attributes A,B",
    Remedy.ATTRIBUTES_AND_CUTS: "--attributes A,B and --cut COLUMN=EDGE,EDGE",
    Remedy.CANCEL: "`frontier cancel {study}`",
    Remedy.CANDIDATE: "--candidate ID",
    Remedy.CANDIDATE_OR_CHOICE: "--candidate ID, or `frontier choose`",
    Remedy.CUT: '--cut "{column}={edges}"',
    Remedy.DESPITE: "--despite TEXT",
    Remedy.DEVIATION: "--deviation TEXT --by NAME",
    Remedy.DROP: "--drop {column}",
    Remedy.EARLIER: "--after STUDY, --after-all, or --unrelated WHY",
    Remedy.EXTEND: "--extend",
    Remedy.FAILED_RUNS: "--allow-partial",
    Remedy.FEWER_SWAPS: "--swap A,B or --search",
    Remedy.FIRST_PLAN: "`frontier plan init DATA`",
    Remedy.ID_COLUMN: "--id {column}, --carry {column} or --drop {column}",
    Remedy.IN_MEMORY: "--no-stream",
    Remedy.KEYS: "--keys A,B",
    Remedy.KEY_FILE: "--key-file PATH",
    Remedy.LOCK: "`frontier plan lock`",
    Remedy.MECHANISMS: "`frontier mechanisms`",
    Remedy.NAME: "--by NAME",
    Remedy.NEW_STUDY: "`frontier sweep DATA --study {study}`",
    Remedy.NO_CLUSTER: "leave --cluster out",
    Remedy.NUMBER: "--number NO",
    Remedy.NUMERIC_COLUMN: '--cut "{column}={edges}", --carry {column} or --drop {column}',
    Remedy.ONE_WORKER: "--workers 1",
    Remedy.OUTPUT: "--out",
    Remedy.REASON: "--why TEXT",
    Remedy.RECHECK: "`frontier recheck {study} --data DATA --candidate {candidate}`",
    Remedy.RECOMMEND: "`frontier choose`",
    Remedy.RENAME: "`frontier plan propose DATA --plan PLAN --accept name --out NEW`",
    Remedy.REPLICATES: "`frontier sweep ... --replicates 20 --extend`",
    Remedy.RULE: "--candidate ID, --max-risk A or --slope A",
    Remedy.SETTLE_COLUMNS: "`frontier plan check PLAN DATA --fix new=carry --out NEW`",
    Remedy.SMALLER_SPACE: "--search, --fix, --change, --swap or --swap-sizes",
    Remedy.SPACE: "--spec, --swap-sizes or --all-specs",
    Remedy.STREAM: "--stream",
    Remedy.SWEEP: "`frontier sweep`",
    Remedy.TAKE_BACK: "`frontier decide --state returned`",
}


def error_text(error: EngineError) -> str:
    """The sentence of an error, and after it the option or command that remedies it, where there is one."""
    return str(error) if error.remedy is None else f"{error} ({OPTIONS[error.remedy].format(**error.values)})"
