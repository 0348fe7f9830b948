"""Bundles of a release for analyst, board and public: export, leak scan, verification, replay.

An export remakes one realisation, writes each reader's bundle from an allow-list, attacks the public one itself and
searches all bytes for secrets before anything is there.
"""

from __future__ import annotations

from engine.bundle.export import export
from engine.bundle.folder import sha256
from engine.bundle.manifest import MANIFEST, read_manifest
from engine.bundle.readers import ALL, TIERS
from engine.bundle.released_files import FORMATS
from engine.bundle.replay import Replay, replay

__all__ = ["ALL", "FORMATS", "MANIFEST", "TIERS", "Replay", "export", "read_manifest", "replay", "sha256"]
