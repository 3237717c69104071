# SPDX-License-Identifier: GPL-3.0-or-later
"""Test cases in Python: each is a function that raises Failed; TAP on standard output."""
import concurrent.futures
import sys
import traceback


class Failed(Exception):
    """What was wrong, for the reader of the log."""


def outcome(check, *args):
    """Whether check(*args) raised nothing; what it returned, or what was wrong."""
    try:
        return True, check(*args)
    except Failed as trouble:
        return False, str(trouble)
    except Exception:  # a case that breaks must not end those after it
        return False, traceback.format_exc()


class Report:
    """Runs cases and prints their lines."""

    def __init__(self):
        self.count = self.failed = 0

    def case(self, name, check, *args):
        """Runs check(*args); True if it raised nothing. What it returns is shown as a remark."""
        return self.show(name, *outcome(check, *args))

    def together(self, cases, at_once):
        """Runs cases (name, check, *args) that wait more than they work, and share nothing that they
        change, so many at once."""
        with concurrent.futures.ThreadPoolExecutor(at_once) as threads:
            outcomes = [threads.submit(outcome, *case[1:]) for case in cases]
            for case, done in zip(cases, outcomes):
                self.show(case[0], *done.result())

    def show(self, name, good, remark):
        """Prints the lines of a case."""
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
