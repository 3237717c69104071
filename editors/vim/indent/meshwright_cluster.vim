" SPDX-License-Identifier: GPL-3.0-or-later
runtime! indent/meshwright_graph.vim
