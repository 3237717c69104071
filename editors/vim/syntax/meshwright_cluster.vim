" SPDX-License-Identifier: GPL-3.0-or-later
" Written by editors/generate.
if exists('b:current_syntax')
  finish
endif
syn match meshwright_clusterComment '#.*$' contains=@Spell
syn keyword meshwright_clusterSection cluster device gemm host node network like
syn keyword meshwright_clusterType f32 bf16 i32 bool i64 i8 u8 f16
syn keyword meshwright_clusterType tf32 e4m3 e5m2 fp8
syn keyword meshwright_clusterConstant cpu cuda
syn match meshwright_clusterKey '\v<(backend|nodes|devices_per_node|node_price|memory|bandwidth|vector|row_sum|launch|capability|price|units|collective_units|attention|attention_grad|conv|conv_transpose|conv_filter_grad|peak|rate|sizes|rates|masked_attention|latency|update|call|switch|device_bandwidth|all_reduce|all_gather|reduce_scatter|all_to_all|ring_shift|ring_shift_back|mirror)>((\s+[0-9]+)?\s*\=)@='
syn match meshwright_clusterUnit '\v<(GFLOP\/s|MFLOP\/s|PFLOP\/s|TFLOP\/s|GFLOP|GiB\/s|KFLOP|MFLOP|TFLOP|USD\/h|FLOP|GB\/s|Gb\/s|KB\/s|MB\/s|Mb\/s|TB\/s|GiB|KiB|MiB|GB|KB|MB|TB|kB|ms|ns|us|B|s)>'
syn match meshwright_clusterNumber '\v<[0-9]+\.?[0-9]*([eE][+-]?[0-9]+)?'
hi def link meshwright_clusterComment Comment
hi def link meshwright_clusterNumber Number
hi def link meshwright_clusterSection Statement
hi def link meshwright_clusterType Type
hi def link meshwright_clusterConstant Constant
hi def link meshwright_clusterKey Identifier
hi def link meshwright_clusterUnit Special
let b:current_syntax = 'meshwright_cluster'
