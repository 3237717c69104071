# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the package share: where it is, the tools of a build, how losses compare."""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]
from runs import QUICK_CC  # noqa: E402
from tap import Failed  # noqa: E402

TOLERANCE = 1e-5  # relative, of f32 against PyTorch's f32, after ten steps
RANKS = (1, 2)
SEARCH = {"solve_time": 0.1}  # seconds; any plan serves


def use_build(build):
    """Has the package find the tools of a build folder, and compile kernels in little time."""
    os.environ["MESHWRIGHT"] = str(pathlib.Path(build).resolve() / "tools")
    os.environ.update(QUICK_CC)


def same_losses(expected, found):
    """Fails unless the losses of all steps agree. Says how far apart they are."""
    if len(expected) != len(found):
        raise Failed(f"{len(found)} steps, expected {len(expected)}")
    errors = [abs(a - b) / abs(a) for a, b in zip(expected, found)]
    wrong = [f"step {step}: {b:.9g}, expected {a:.9g}"
             for step, (a, b, error) in enumerate(zip(expected, found, errors), 1)
             if not error <= TOLERANCE]
    if wrong:
        raise Failed("\n".join(wrong))
    return f"losses differ by {max(errors):.1e}"


def refused(kind, part, function, *args, **how):
    """Fails unless the call raises an exception of that kind whose message has the part."""
    try:
        function(*args, **how)
    except kind as trouble:
        if part not in str(trouble):
            raise Failed(f"'{trouble}', expected '{part}'") from None
        return
    raise Failed(f"no {kind.__name__}, expected '{part}'")
