" SPDX-License-Identifier: GPL-3.0-or-later
au BufNewFile,BufRead *.graph setf meshwright_graph
au BufNewFile,BufRead *.cluster setf meshwright_cluster
