"""What processes of :mod:`tests.forked` are forked from: everything is loaded, and kernels have run once."""

import gc

import distributed.scheduler
import distributed.worker  # noqa: F401 (for schedulers and workers of a cluster)

import engine.cli.sweep  # noqa: F401 (for commands)
from engine.sweeps.sweep import open_sweep
from tests.engine.small_studies import RAW, plan_of

opened = open_sweep(RAW, plan_of(), None)
opened.run(workers=1)
opened.study.close()
gc.collect()
gc.freeze()
