"""The commands on what leaves a study: export, replay, verify, apply."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from engine.common.errors import UsageError
from engine.common.output import say


def _say(text: str) -> None:
    say(text, file=sys.stderr, flush=True)


def _formats(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "csv,parquet").split(",") if name.strip())


def run_export(args: argparse.Namespace) -> None:
    """Write one release as bundles."""
    from engine.bundle import export
    from engine.plan.samples import open_data
    from engine.study.study import Study

    raw, _ = open_data(args.data)
    with Study.open(args.study) as study:
        out = export(
            study,
            raw,
            args.candidate,
            args.out,
            tier=args.tier,
            formats=_formats(args.formats),
            key_file=args.key_file,
            include=args.include,
            allow_partial=args.allow_partial,
            same_order_as=args.same_order_as,
            tell=_say,
        )
    if args.tier == "all":
        say(f"wrote {out}: one folder each for analyst, chair, member and public; only the last may be published")
    elif args.tier == "analyst":
        say(f"wrote {out}: the analyst's bundle must stay inside, it can undo the swap")
    else:
        readers = {"chair": "the chair of the board", "member": "the members of the board", "public": "the public"}
        say(f"wrote {out}: the bundle for {readers[args.tier]}")


def run_replay(args: argparse.Namespace) -> int:
    """Remake an exported release; exit code 1 when it differs."""
    from engine.bundle import replay
    from engine.plan.samples import open_data

    found = replay(args.manifest, open_data(args.data)[0], args.out)
    for name in found.same:
        say(f"{name}: the same, bit for bit")
    for text in found.differs:
        say(text)
    return 1 if found.differs else 0


def run_verify(args: argparse.Namespace) -> int:
    """Check a bundle; exit code 1 when something is wrong with it."""
    from engine.bundle.verify import verify

    found = verify(args.bundle, args.study)
    for one in found:
        say(f"{one.tier:8} {'wrong' if one.problems else 'open ' if one.note else 'holds'}  {one.what}")
        if one.note:
            say(f"{'':16}{one.note}")
        for text in one.problems[:20]:
            say(f"{'':16}{text}")
        if len(one.problems) > 20:
            say(f"{'':16}... {len(one.problems) - 20:,} more")
    return 1 if any(one.problems for one in found) else 0


def run_apply(args: argparse.Namespace) -> None:
    """Bring another file of the same records in line with a release."""
    from engine.bundle.apply import apply
    from engine.plan.samples import open_data

    blocks: dict[str, list[str]] = {}
    for text in args.block:
        attribute, sign, names = text.partition("=")
        if not sign or not names.strip():
            raise UsageError(f"--block '{text}' must read ATTRIBUTE=COLUMN,COLUMN")
        blocks.setdefault(attribute.strip(), []).extend(name.strip() for name in names.split(","))
    raw, _ = open_data(args.data)
    out = Path(args.out) if args.out else Path(args.bundle).absolute().parent / "linked"
    done = apply(args.bundle, raw, args.id, out, blocks=blocks, formats=_formats(args.formats))
    say(f"wrote {out}: {done.n_records:,} records with new ids, in the order of the release")
    say(f"exchanged: {', '.join(done.exchanged) or 'no column of this file'}")
    if done.dropped:
        say(f"left out, as the plan says: {', '.join(done.dropped)}")
