"""Fit the memory's reuse check: ``python -m experiments.fit_reuse [--out FILE]``; tested on held-out frames.

The train probes choose weights and threshold; the held-out ones, with other subjects and wordings, only say
how it does. Exit status: 0 written, 2 wrong usage or data.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from faultline.errors import FaultlineError
from faultline.memory.reuse import FEATURES, FILE

TAU = 0.75
"""Lower than the paper's .87: the check decides, and the cosine only says which requests it looks at."""
SHARE = 0.008
"""Of the near misses that may pass in cross-validation; at most 1 % is asked for."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(prog="python -m experiments.fit_reuse", description="Fit the reuse check.")
    out.add_argument("--out", type=Path, default=FILE, metavar="FILE", help="where it is written")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """The console entry point; returns the exit status."""
    given = parser().parse_args(arguments)
    import numpy as np
    import orjson
    import pandas as pd

    from faultline.charm.guard_models import embedded
    from faultline.memory.fit_reuse import fit, table
    from faultline.memory.probes import KINDS, probes
    from faultline.reporting.console import Terminal
    from faultline.stats import wilson
    from faultline.store import write_file

    terminal = Terminal()
    try:
        encode = embedded().embedder.encode
        check = fit(probes("train"), encode, TAU, SHARE)
        content = {"features": FEATURES, "weights": check.weights, "intercept": check.intercept}
        content |= {"threshold": check.threshold, "tau": check.tau}
        write_file(given.out, orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
        held = probes("held_out")
        rows, cosines, _ = table(held, encode)
        near = cosines >= check.tau
        passed = near & (check.probability(rows) >= check.threshold)
        lines = []
        for kind in KINDS:
            of = np.array([p.kind == kind for p in held])
            asked = of if kind == "paraphrase" else of & near
            rate = wilson(int(passed[of].sum()), int(asked.sum()))
            lines.append(
                {"kind": kind, "n": rate.n, "reused": rate.value, "low": rate.low, "high": rate.high}
            )
        wrong = np.array([not p.same for p in held])
        rate = wilson(int(passed[wrong].sum()), int((wrong & near).sum()))
        lines.append(
            {"kind": "near misses", "n": rate.n, "reused": rate.value, "low": rate.low, "high": rate.high}
        )
        terminal.table(
            f"held-out probes, tau {TAU}: reused (near misses: of those above tau)", pd.DataFrame(lines)
        )
        terminal.print(given.out)
    except FaultlineError as error:
        terminal.error(str(error))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
