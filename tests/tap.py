# SPDX-License-Identifier: GPL-3.0-or-later
"""Test cases in Python: each is a function that raises Failed; TAP on standard output."""
import sys
import traceback


class Failed(Exception):
    """What was wrong, for the reader of the log."""


class Report:
    """Runs cases one by one and prints their lines."""

    def __init__(self):
        self.count = self.failed = 0

    def case(self, name, check, *args):
        """Runs check(*args); True if it raised nothing. What it returns is shown as a remark."""
        good = False
        try:
            remark = check(*args)
            good = True
        except Failed as trouble:
            remark = str(trouble)
        except Exception:  # a case that breaks must not end those after it
            remark = traceback.format_exc()
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}")
        for line in (remark or "").splitlines():
            print("# " + line)
        sys.stdout.flush()
        return good

    def skip(self, name, reason):
        """Says that a case cannot be run here."""
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {reason}", flush=True)

    def end(self):
        """Prints the plan; the exit status."""
        print(f"1..{self.count}")
        return 1 if self.failed else 0
