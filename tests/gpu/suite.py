# SPDX-License-Identifier: GPL-3.0-or-later
"""The test suite `gpu`, of a build and of a bundle of one, without Meson's runner."""
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import processes  # noqa: E402
import summary  # noqa: E402

LISTED = ROOT / "tests/gpu/tests.json"  # of a bundle, with commands from its folder `build`
# A case of Check takes a process, and in it a context of CUDA of some tenths of a second; where one
# breaks off, so do those after it.
TOGETHER = {"CK_FORK": "no"}


def of_build(build):
    """The tests of a build folder, as in a bundle, with commands to be run in that folder."""
    listed = subprocess.run(["meson", "introspect", "--tests", build], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    return [{"name": test["name"], "timeout_s": test["timeout"], "environment": test["env"],
             "command": test["cmd"]} for test in json.loads(listed)
            if any(suite.endswith(":gpu") for suite in test["suite"])]


def tests(build):
    """Of a bundle or of a build."""
    return json.loads(LISTED.read_text()) if LISTED.exists() else of_build(build)


def run(test, build, limit_s=None, **environment):
    """A record as Meson's log has them, which summary.py adds up, with the seconds that it took."""
    begun = time.monotonic()
    result, printed = outcome(test, build, min(limit_s or test["timeout_s"], test["timeout_s"]),
                              {**os.environ, **test["environment"], "CK_TIMEOUT_MULTIPLIER": "8",
                               **environment})
    return {"name": test["name"], "result": result, "stdout": printed,
            "seconds": time.monotonic() - begun}


def outcome(test, build, limit_s, environment):
    try:
        # A test of Check that a signal ends, ends all of its group.
        done = processes.run(test["command"], limit_s, cwd=build, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace", env=environment,
                             start_new_session=True)
        return "FAIL" if done.returncode else "OK", done.stdout
    except subprocess.TimeoutExpired as late:
        return "TIMEOUT", (late.stdout or b"").decode(errors="replace")
    except OSError as trouble:
        return "ERROR", str(trouble)


def line_of(record):
    """What is said of a test, and of its cases that failed."""
    passed, failed, skipped = counts(record)
    line = (f"{record['result']:8}{record['name']:20}{record['seconds']:7.1f} s  {passed} passed, "
            f"{failed} failed, {skipped} skipped")
    return "\n".join([line, *failures(record)] if failed else [line])


def counts(record):
    return summary.cases(record, lambda line: None)


def failures(record):
    """The lines of what failed; where no case did, the last that were printed."""
    lines = []
    summary.cases(record, lines.append)
    return lines or record["stdout"].splitlines()[-12:]
