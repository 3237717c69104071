" SPDX-License-Identifier: GPL-3.0-or-later
" Written by editors/generate.
if exists('b:current_syntax')
  finish
endif
syn match meshwright_graphComment '#.*$' contains=@Spell
syn keyword meshwright_graphDeclaration size import block model input state output
syn keyword meshwright_graphControl repeat scan collect as if else for in
syn keyword meshwright_graphControl return show assign precision train with
syn keyword meshwright_graphOperator and or not
syn keyword meshwright_graphConstant true false
syn keyword meshwright_graphType f32 bf16 i32 bool i64 i8 u8 f16
syn keyword meshwright_graphType tf32 e4m3 e5m2 fp8
syn match meshwright_graphInitialiser '\v<(zeros|ones|normal|uniform|constant)>'
syn match meshwright_graphFunction '\v<(abs|accumulate|accumulate_max|adafactor|adagrad|adam|adamw|adaptive_avg_pool|adaptive_max_pool|add|add_rows|all)>(\s*\()@='
syn match meshwright_graphFunction '\v<(any|argmax|argmin|argsort|atan2|avg_pool|batch_norm|bernoulli|binary_cross_entropy|broadcast|cast|cast_stochastic)>(\s*\()@='
syn match meshwright_graphFunction '\v<(ceil|clip|concat|constant|contrastive|conv|conv_filter_grad|conv_transpose|cos|cross_entropy|cumsum|div)>(\s*\()@='
syn match meshwright_graphFunction '\v<(dropout|einsum|elu|embedding|embedding_grad|eq|erf|exp|expand_dims|expm1|first_equal|flip)>(\s*\()@='
syn match meshwright_graphFunction '\v<(floor|floor_div|gather|ge|gelu|gelu_grad|gelu_tanh|gelu_tanh_grad|grad|group_norm|gt|hard_sigmoid)>(\s*\()@='
syn match meshwright_graphFunction '\v<(hard_swish|identity|iota|isnan|kl_divergence|lamb|layer_norm|layer_norm_grad|le|leaky_relu|len|linear_scan)>(\s*\()@='
syn match meshwright_graphFunction '\v<(lion|log|log1p|log_softmax|log_softmax_grad|logsumexp|logsumexp_grad|lt|max|max_pool|max_pool_grad|max_pool_pick)>(\s*\()@='
syn match meshwright_graphFunction '\v<(maximum|mean|min|minimum|mish|mod|mse|mul|muon|ne|neg|normal)>(\s*\()@='
syn match meshwright_graphFunction '\v<(one_hot|ones|pad|pick|pick_grad|pow|prod|put_rows|receive|reduce_max|reduce_sum|relu)>(\s*\()@='
syn match meshwright_graphFunction '\v<(reshape|resize|rms_norm|rms_norm_grad|rmsprop|roll|rope|round|rsqrt|run_after|scale_to|scan_carry)>(\s*\()@='
syn match meshwright_graphFunction '\v<(scan_in|scan_next|scan_out|scatter_add|sdpa|sdpa_grad|sdpa_mask_grad|sdpa_masked|sdpa_masked_grad|select|send|sgd)>(\s*\()@='
syn match meshwright_graphFunction '\v<(shard|sigmoid|sign|silu|silu_grad|sin|slice|softmax|softmax_grad|softplus|sort|split)>(\s*\()@='
syn match meshwright_graphFunction '\v<(sqrt|squeeze|stack|std|step|stop_gradient|sub|sum|sum_pool|sum_pool_grad|take_along|take_along_grad)>(\s*\()@='
syn match meshwright_graphFunction '\v<(tan|tanh|tile|to_device|to_host|top_k|transpose|uniform|unstack|var|weight|where)>(\s*\()@='
syn match meshwright_graphFunction '\v<(zeros)>(\s*\()@='
syn match meshwright_graphAnnotation '\v<(spec|ring|stage|remat|phase|scope|repeat|layer|batch)>(\.[0-9]+)?(\s*\=[^=])@='
syn region meshwright_graphString start='"' skip='\\["\\]' end='"' oneline
syn match meshwright_graphNumber '\v<[0-9]+\.?[0-9]*([eE][+-]?[0-9]+)?'
hi def link meshwright_graphComment Comment
hi def link meshwright_graphNumber Number
hi def link meshwright_graphDeclaration Statement
hi def link meshwright_graphControl Keyword
hi def link meshwright_graphOperator Operator
hi def link meshwright_graphConstant Boolean
hi def link meshwright_graphType Type
hi def link meshwright_graphFunction Function
hi def link meshwright_graphInitialiser Constant
hi def link meshwright_graphAnnotation PreProc
hi def link meshwright_graphString String
let b:current_syntax = 'meshwright_graph'
