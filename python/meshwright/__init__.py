# SPDX-License-Identifier: GPL-3.0-or-later
"""PyTorch modules to parallel executables: export, plan, compile, run, and load what was trained.

Only `export` and `load` need PyTorch, and they import it when they are called."""
from meshwright.errors import ExportError, MeshwrightError, RunError, ToolError
from meshwright.exporting import Exported, export
from meshwright.loading import load
from meshwright.plans import Plan, Program, Report, compile, inspect, plan
from meshwright.runs import Run, Step, run
from meshwright.tools import find_tool

__all__ = ["ExportError", "Exported", "MeshwrightError", "Plan", "Program", "Report", "Run",
           "RunError", "Step", "ToolError", "compile", "export", "find_tool", "inspect", "load",
           "plan", "run"]
