" SPDX-License-Identifier: GPL-3.0-or-later
" Two columns for each bracket that is open.
if exists('b:did_indent')
  finish
endif
let b:did_indent = 1
setlocal indentexpr=MeshwrightIndent() indentkeys=0{,0},0],0),!^F,o,O
setlocal shiftwidth=2 expandtab commentstring=#\ %s

if exists('*MeshwrightIndent')
  finish
endif

" How many more brackets the line opens than it closes; those that it begins with closing are not counted.
function! s:Opened(text)
  let text = substitute(substitute(a:text, '"\([^"\\]\|\\.\)*"', '', 'g'), '#.*$', '', '')
  let text = substitute(text, '^[[:space:]\])}]*', '', '')
  return len(substitute(text, '[^[({]', '', 'g')) - len(substitute(text, '[^])}]', '', 'g'))
endfunction

function! MeshwrightIndent()
  let before = prevnonblank(v:lnum - 1)
  if before == 0
    return 0
  endif
  let indent = indent(before) + shiftwidth() * s:Opened(getline(before))
  if getline(v:lnum) =~ '^\s*[])}]'
    let indent -= shiftwidth()
  endif
  return max([indent, 0])
endfunction
