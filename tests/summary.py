# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds up the test cases of Meson's JSON logs: 'N passed, M failed[, K skipped]'.

Every test program prints TAP, one line a case. A program that died or failed without a failing
case, or that ran no case at all, counts as one failure. Exits 1 if anything failed."""
import json
import re
import sys

CASE = re.compile(r"^(not )?ok\b(.*)$")


def cases(run):
    passed = failed = skipped = 0
    for line in run.get("stdout", "").splitlines():
        match = CASE.match(line)
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


def main(logs):
    total = [0, 0, 0]
    for log in logs:
        with open(log) as lines:
            for line in lines:
                total = [a + b for a, b in zip(total, cases(json.loads(line)))]
    passed, failed, skipped = total
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
