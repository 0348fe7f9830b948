"""Reports on a recommendation: memo, tables and slides for the board, an annex for its chair, one for the analyst."""

from __future__ import annotations

from engine.report.write import write_analyst, write_chair, write_member

__all__ = ["write_analyst", "write_chair", "write_member"]
