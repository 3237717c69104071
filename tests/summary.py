# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the cases of Meson's JSON logs that failed, with the remarks after them, and adds up all:
'N passed, M failed[, K skipped]'.

Every test program prints TAP, one line a case. A program that died or failed without a failing
case, or that ran no case at all, counts as one failure, and so does a log that is missing, empty or cut
off. Exits 1 if anything failed."""
import json
import re
import sys

CASE = re.compile(r"^(not )?ok\b(.*)$")


def cases(run, show=print):
    passed = failed = skipped = 0
    is_of_failed = False
    for line in run.get("stdout", "").splitlines():
        match = CASE.match(line)
        is_of_failed = bool(match and match.group(1)) or (is_of_failed and line.startswith("#"))
        if is_of_failed:
            show(f"{run['name']}: {line}")
        if not match:
            continue
        if re.search(r"#\s*skip", match.group(2), re.IGNORECASE):
            skipped += 1
        elif match.group(1):
            failed += 1
        else:
            passed += 1
    bad = run["result"] not in ("OK", "SKIP")
    if (bad and not failed) or passed + failed + skipped == 0:
        failed += 1
    return passed, failed, skipped


def cases_of_log(log):
    runs = []
    try:
        with open(log) as lines:
            for line in lines:
                runs.append(cases(json.loads(line)))
    except (OSError, ValueError) as trouble:
        print(f"{log}: {trouble}", file=sys.stderr)
        runs.append((0, 1, 0))
    return runs or [(0, 1, 0)]


def main(logs):
    passed, failed, skipped = map(sum, zip(*(run for log in logs for run in cases_of_log(log))))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
