# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong, each with one message for the user."""


class MeshwrightError(Exception):
    """Any error of this package."""


class ToolError(MeshwrightError):
    """A tool is not there, or refused what it was given; the message is the tool's own."""


class RunError(MeshwrightError):
    """A run ended with a fault. `status` is its exit status."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


class ExportError(MeshwrightError):
    """A module cannot be expressed in the language. `problems` has a line for each cause."""

    def __init__(self, message: str, problems: list[str] | None = None):
        self.problems = problems or []
        super().__init__("\n  ".join([message, *self.problems]))
