/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The front end where golden files do not reach: texts made up by the program, the graph's own
 * data, and texts in memory. */
#include "base/text.h"
#include "frontend/frontend.h"
#include "frontend/functions/functions.h"
#include "ir/print.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

#include <string.h>

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwGraph *graph; /* NULL after errors */
} Parsed;

static Parsed parse_bytes(const char *text, size_t bytes, const MwDefine *defines, int count)
{
    Parsed parsed = {.arena = mw_arena_new()};
    parsed.diags = mw_diags_new(parsed.arena);
    MwSource *source = MW_NEW(parsed.arena, MwSource, 1);
    *source = (MwSource){"t.graph", mw_arena_strndup(parsed.arena, text, bytes), bytes};
    parsed.graph = mw_graph_parse(parsed.arena, mw_interner_new(parsed.arena), source, defines,
                                  count, parsed.diags);
    return parsed;
}

static Parsed parse(const char *text)
{
    return parse_bytes(text, strlen(text), NULL, 0);
}

/* The names of other libraries, what messages say of them, and the functions that these mention. */
static const struct {
    const char *name, *function, *text;
} foreign[] = {
#define FOREIGN(name, function, call) {#name, #function, "here it is " call},
#define PHRASE(name, sentence) {#name, NULL, sentence},
#define INITIALISER(name, sentence) {#name, NULL, sentence},
#include "frontend/terms/foreign.def"
};

/* What people write who come from PyTorch, JAX or NumPy, and a part of what they are told. */
static const struct {
    const char *line, *says;
} newcomers[] = {
    {"y = nn.Linear(x)", "x @ w + b"},
    {"y = nn.Conv1d(x)", "conv(x, filter"},
    {"y = nn.Conv2d(x)", "conv(x, filter"},
    {"y = nn.ConvTranspose2d(x)", "conv_transpose(x, filter"},
    {"y = nn.BatchNorm2d(x)", "batch_norm(x) * scale"},
    {"y = nn.LayerNorm(x)", "layer_norm(x) * scale"},
    {"y = nn.GroupNorm(x)", "group_norm(x, groups)"},
    {"y = nn.InstanceNorm2d(x)", "group_norm(x, channels)"},
    {"y = nn.RMSNorm(x)", "rms_norm(x) * scale"},
    {"y = batch_norm(x, momentum = 0.1)",
     "batch_norm has no parameter 'momentum': running averages are states"},
    {"y = layer_norm(x, elementwise_affine = false)", "scale and shift are weights of the model"},
    {"y = layer_norm(x, normalized_shape = [16])", "sizes are those of x, and are not given"},
    {"y = layer_norm(x, [16])",
     "'eps' of layer_norm is a number below 1, not a list of 1: sizes are those of x, and are not "
     "given"},
    {"y = rms_norm(x, 16)", "'eps' of rms_norm is a number below 1, not the number 16"},
    {"y = group_norm(reshape(x, [2, 2]), 2, 16)",
     "'eps' of group_norm is a number below 1, not the number 16"},
    {"y = nn.Embedding(x)", "did you mean 'embedding'?"},
    {"y = nn.EmbeddingBag(x)", "sum(embedding(ids, table)"},
    {"y = nn.Dropout(x)", "did you mean 'dropout'?"},
    {"y = nn.Linear(4, 8)(x)", "what a call gives is not called"},
    {"size half = 4", "sizes stand outside of blocks"},
    {"y = nn.Dropout2d(x)", "dropout(constant(1.0"},
    {"y = nn.ReLU(x)", "did you mean 'relu'?"},
    {"y = nn.GELU(x)", "did you mean 'gelu'?"},
    {"y = nn.LeakyReLU(x)", "did you mean 'leaky_relu'?"},
    {"y = nn.PReLU(x)", "where(x > 0, x, slope * x)"},
    {"y = nn.SELU(x)", "elu(x"},
    {"y = nn.Hardtanh(x)", "clip(x, -1, 1)"},
    {"y = nn.LogSigmoid(x)", "-softplus(-x)"},
    {"y = nn.Softmax(x)", "did you mean 'softmax'?"},
    {"y = nn.LogSoftmax(x)", "did you mean 'log_softmax'?"},
    {"y = nn.GLU(x)", "a * sigmoid(b)"},
    {"y = nn.LSTM(x)", "'scan"},
    {"y = nn.GRUCell(x)", "'scan"},
    {"y = nn.RNN(x)", "'scan"},
    {"y = nn.MultiheadAttention(x)", "sdpa(q, k, v"},
    {"y = nn.Transformer(x)", "models/t5.graph"},
    {"y = nn.TransformerEncoderLayer(x)", "models/blocks.graph"},
    {"y = nn.MaxPool2d(x)", "max_pool(x, window"},
    {"y = nn.AvgPool1d(x)", "avg_pool(x, window"},
    {"y = nn.AdaptiveAvgPool2d(x)", "adaptive_avg_pool(x, sizes)"},
    {"y = nn.Upsample(x)", "resize(x, sizes"},
    {"y = nn.PixelShuffle(x)", "reshape(transpose("},
    {"y = nn.ZeroPad2d(x)", "pad(x, axis"},
    {"y = nn.Flatten(x)", "reshape(x, [batch, -1])"},
    {"y = nn.Identity(x)", "did you mean 'identity'?"},
    {"y = nn.Sequential(x)", "second(first(x))"},
    {"y = nn.ModuleList(x)", "'repeat COUNT as i"},
    {"y = nn.Module(x)", "'block NAME(x)"},
    {"y = nn.Parameter(x)", "'weight NAME: TYPE"},
    {"y = nn.CrossEntropyLoss(x)", "cross_entropy(logits, targets)"},
    {"y = nn.NLLLoss(x)", "pick(log_probabilities"},
    {"y = nn.MSELoss(x)", "mse(x, y)"},
    {"y = nn.L1Loss(x)", "mean(abs(x - y))"},
    {"y = nn.SmoothL1Loss(x)", "where(d < 1"},
    {"y = nn.HuberLoss(x)", "where(d < 1"},
    {"y = nn.BCELoss(x)", "of logits and not of their sigmoid"},
    {"y = nn.BCEWithLogitsLoss(x)", "binary_cross_entropy(logits"},
    {"y = nn.KLDivLoss(x)", "kl_divergence(log_p"},
    {"y = nn.CosineEmbeddingLoss(x)", "mean(1 - s)"},
    {"y = nn.TripletMarginLoss(x)", "relu(near - far"},
    {"y = nn.CTCLoss(x)", "there is none here"},
    {"y = nn.utils.clip_grad_norm_(x)", "clip_norm = 1"},
    {"y = nn.init.xavier_uniform_(x)", "uniform(sqrt(6.0"},
    {"y = nn.init.kaiming_normal_(x)", "normal(sqrt(2.0"},
    {"y = F.linear(x)", "x @ w + b"},
    {"y = F.conv2d(x)", "conv(x, filter"},
    {"y = F.cross_entropy(x)", "did you mean 'cross_entropy'?"},
    {"y = F.nll_loss(x)", "pick(log_probabilities"},
    {"y = F.mse_loss(x)", "mse(x, y)"},
    {"y = F.binary_cross_entropy_with_logits(x)", "binary_cross_entropy(logits"},
    {"y = F.layer_norm(x)", "layer_norm(x) * scale"},
    {"y = F.normalize(x)", "rsqrt(sum(x * x"},
    {"y = F.cosine_similarity(x)", "rsqrt(sum(x * x"},
    {"y = F.gumbel_softmax(x)", "log(-log(uniform("},
    {"y = F.scaled_dot_product_attention(x)", "sdpa(q, k, v"},
    {"y = F.interpolate(x)", "resize(x, sizes"},
    {"y = F.unfold(x)", "slices of pad"},
    {"y = F.one_hot(x)", "did you mean 'one_hot'?"},
    {"y = F.pad(x)", "did you mean 'pad'?"},
    {"y = F.max_pool2d(x)", "max_pool(x, window"},
    {"y = torch.bmm(x)", "a @ b"},
    {"y = torch.mv(x)", "a @ b"},
    {"y = torch.matmul(x)", "a @ b"},
    {"y = torch.addmm(x)", "x + a @ b"},
    {"y = torch.einsum(x)", "did you mean 'einsum'?"},
    {"y = torch.cat(x)", "concat(a, b"},
    {"y = torch.chunk(x)", "split(x, parts"},
    {"y = torch.unbind(x)", "unstack(x"},
    {"y = torch.unsqueeze(x)", "expand_dims(x, axis)"},
    {"y = torch.flatten(x)", "reshape(x"},
    {"y = torch.permute(x)", "transpose(x, perm)"},
    {"y = torch.t(x)", "transpose(x, [1, 0])"},
    {"y = torch.movedim(x)", "transpose(x, perm)"},
    {"y = torch.index_select(x)", "gather(x, ids"},
    {"y = torch.scatter(x)", "scatter_add(x"},
    {"y = torch.nonzero(x)", "where(condition, x, 0)"},
    {"y = torch.topk(x)", "top_k(x, k)"},
    {"y = torch.argmax(x)", "did you mean 'argmax'?"},
    {"y = torch.norm(x)", "sqrt(sum(x * x))"},
    {"y = torch.cumprod(x)", "exp(cumsum(log(x)))"},
    {"y = torch.log2(x)", "log(x) / log(2)"},
    {"y = torch.atan(x)", "atan2(x, 1)"},
    {"y = torch.sinh(x)", "exp(-x)"},
    {"y = torch.clamp(x)", "clip(x, low, high)"},
    {"y = torch.clamp_min(x)", "maximum(x, low)"},
    {"y = torch.isinf(x)", "abs(x) == inf"},
    {"y = torch.isfinite(x)", "abs(x) < inf"},
    {"y = torch.nan_to_num(x)", "where(isnan(x), 0, x)"},
    {"y = torch.zeros(x)", "constant(0.0, shape)"},
    {"y = torch.full_like(x)", "constant(value, shape)"},
    {"y = torch.eye(x)", "iota([n, n], 0) == iota"},
    {"y = torch.diag(x)", "where(iota"},
    {"y = torch.arange(x)", "iota(count)"},
    {"y = torch.linspace(x)", "iota([count]"},
    {"y = torch.tensor(x)", "constant(value)"},
    {"y = torch.randn(x)", "normal(shape)"},
    {"y = torch.randint(x)", "floor(uniform("},
    {"y = torch.randperm(x)", "argsort(uniform("},
    {"y = torch.multinomial(x)", "argmax(logits"},
    {"y = torch.triu(x)", "where(iota"},
    {"y = torch.tril(x)", "where(iota"},
    {"y = torch.meshgrid(x)", "iota(shape, axis)"},
    {"y = torch.repeat_interleave(x)", "tile(expand_dims"},
    {"y = torch.median(x)", "sort(x, axis)"},
    {"y = torch.no_grad(x)", "stop_gradient(x)"},
    {"y = torch.compile(x)", "always compiled"},
    {"y = torch.utils.checkpoint.checkpoint(x)", "remat = true"},
    {"y = torch.autocast(x)", "'precision bf16'"},
    {"y = torch.fft.fft(x)", "there is none here"},
    {"y = torch.linalg.svd(x)", "there is none here"},
    {"y = x.view(x)", "reshape(x, shape)"},
    {"y = x.permute(x)", "transpose(x, perm)"},
    {"y = x.contiguous(x)", "left out"},
    {"y = x.expand(x)", "broadcast(x, shape)"},
    {"y = x.repeat(x)", "tile(x, counts)"},
    {"y = x.size(x)", "a 'size' names one"},
    {"y = x.item(x)", "'show NAME"},
    {"y = x.detach(x)", "stop_gradient(x)"},
    {"y = x.masked_fill(x)", "where(mask, value, x)"},
    {"y = x.masked_fill_(x)", "where(mask, value, x)"},
    {"y = x.float(x)", "cast(x, f32)"},
    {"y = x.long(x)", "cast(x, i64)"},
    {"y = x.cuda(x)", "the compiler decides"},
    {"y = x.backward(x)", "'train LOSS"},
    {"y = x.mean(x)", "did you mean 'mean'?"},
    {"y = self.register_buffer(x)", "'state NAME"},
    {"y = jnp.einsum(x)", "did you mean 'einsum'?"},
    {"y = jnp.dot(x)", "a @ b"},
    {"y = jnp.concatenate(x)", "concat(a, b"},
    {"y = jnp.take(x)", "gather(x, ids"},
    {"y = jnp.take_along_axis(x)", "take_along(x, ids)"},
    {"y = jnp.square(x)", "x * x"},
    {"y = jnp.linalg.norm(x)", "sqrt(sum(x * x))"},
    {"y = jnp.moveaxis(x)", "transpose(x, perm)"},
    {"y = jax.nn.gelu(x)", "did you mean 'gelu'?"},
    {"y = jax.nn.swish(x)", "silu(x)"},
    {"y = jax.nn.log_sigmoid(x)", "-softplus(-x)"},
    {"y = jax.nn.standardize(x)", "layer_norm(x)"},
    {"y = jax.nn.initializers.he_normal(x)", "normal(sqrt(2.0"},
    {"y = jax.nn.dot_product_attention(x)", "sdpa(q, k, v"},
    {"y = jax.lax.scan(x)", "'scan"},
    {"y = jax.lax.fori_loop(x)", "'scan COUNT as t"},
    {"y = jax.lax.while_loop(x)", "'scan COUNT as t"},
    {"y = jax.lax.cond(x)", "where(condition, a, b)"},
    {"y = jax.lax.dynamic_slice(x)", "slice(x, axis"},
    {"y = jax.lax.psum(x)", "of the whole batch"},
    {"y = jax.lax.with_sharding_constraint(x)", "'with spec"},
    {"y = jax.vmap(x)", "all of a batch"},
    {"y = jax.jit(x)", "always compiled"},
    {"y = jax.grad(x)", "did you mean 'grad'?"},
    {"y = torch.autograd.grad(x, w)", "did you mean 'grad'?"},
    {"y = jax.value_and_grad(x)", "grad(y, x)"},
    {"y = x.grad", "grad(y, x)"},
    {"y = jax.checkpoint(x)", "remat = true"},
    {"y = jax.ops.segment_sum(x)", "scatter_add(x"},
    {"y = jax.random.categorical(x)", "argmax(logits"},
    {"y = jax.random.PRNGKey(x)", "--seed"},
    {"y = optax.softmax_cross_entropy_with_integer_labels(x)", "cross_entropy(logits, targets)"},
    {"y = optax.clip_by_global_norm(x)", "clip_norm = 1"},
    {"y = ClipLoss(x)", "contrastive(a, b"},
    {"y = info_nce(x)", "contrastive(a, b"},
    {"y = print(x)", "'show NAME"},
    {"y = x.shape", "a 'size' names one"},
    {"y = x.T @ x", "transpose(x, [1, 0])"},
    {"y = self.x", "did you mean 'x'?"},
    {"y = math.pi", "did you mean 'pi'?"},
    {"y = where(True, x, x)", "did you mean 'true'?"},
    {"y = clip(x, None, 1)", "is left out"},
    {"y = cast(x, torch.float64)", "f32, bf16 and f16"},
    {"input z: float32[4]", "here it is f32"},
    {"input z: int64[4]", "here it is i64"},
    {"y = softmax(x, dim = 0)", "here it is 'axis'"},
    {"y = sum(x, keepdim = true)", "here it is 'keep'"},
    {"y = max_pool(x, kernel_size = 2)", "here it is 'window'"},
    {"y = dropout(x, p = 0.1)", "here it is 'rate'"},
    {"y = sdpa(x, x, x, is_causal = true)", "here it is 'causal'"},
    {"y = transpose(x, dims = [0])", "here it is 'perm'"},
    {"y = gather(x, x, index = x)", "here it is 'ids'"},
    {"y = resize(x, output_size = 4)", "here it is 'sizes'"},
    {"train mean(x) with AdamW(lr = 1)", "did you mean 'adamw'?"},
    {"train mean(x) with optim.SGD(lr = 1)", "did you mean 'sgd'?"},
    {"train mean(x) with sgd(learning_rate = 1)", "here it is 'lr'"},
    {"train mean(x) with adam(lr = 1, beta1 = 0)", "here it is 'betas'"},
    {"weight w: f32[4] = xavier_uniform()", "uniform(sqrt(6.0"},
    {"weight w: f32[4] = nn.init.zeros_", "did you mean 'zeros'?"},
    {"weight w: f32[4] = trunc_normal(0.02)", "without a limit"},
    {"weight w: f32[4] = normal", "'normal' is written normal(deviation)"},
    {"weight w: f32[4] = normal(std = 0.02)", "here it is 'deviation'"},
    {"y = x if true else x", "where(condition, a, b) chooses"},
    {"for i in 3 { x = x }", "'repeat COUNT"},
    {"x += 1", "x = x + 1"},
    {"show mean(x)", "show accuracy = mean(x)"},
    {"output x @ x", "show accuracy = mean(x)"},
    {"y = sum(x, axis = [0, -1])", "sum has axis 0 twice"},
    {"y = reshape(x, 2, 2, 1)", "too many arguments: reshape takes x, shape"},
    {"y = rope(x, 10000, x, 3, 4)", "too many arguments"},
    {"train mean(x) with sgd", "as in sgd(lr = 0.1)"},
    {"y = normal(0, 1, [4])", "the shape comes first"},
    {"y = where(x, x, x)", "where needs bool"},
    {"y = x && x", "'and' joins"},
    {"y = !x", "'not' negates"},
    {"y = x ^ 2", "'**' is the power"},
    {"y = 'a'", "double quotes"},
};

static MwValueId value_named(const Parsed *parsed, const char *name)
{
    MwValueId value = mw_graph_find(parsed->graph, mw_intern(parsed->graph->interner, name));
    ck_assert_msg(mw_has_value(value), "no value '%s'", name);
    return value;
}

#define MODEL(body) "model m {\n  input x: f32[4]\n" body "  output x\n}\n"

START_TEST(hostile_texts_end_with_one_error)
{
    static const struct {
        const char *begin, *part;
        int parts;
        const char *end, *error;
    } cases[] = {
        {"size a = ", "(", 100000, "", "brackets are nested more than 200 deep"},
        {"size a = ", "[", 100000, "", "brackets are nested more than 200 deep"},
        {"model m {", "repeat 1 {", 100000, "", "brackets are nested more than 200 deep"},
        {"size a = ", "-", 100000, "1\n" MODEL(""), "this is nested too deeply"},
        {"size a = ", "not ", 3000, "true\n" MODEL(""), "nested more than 1000 deep"},
        {"size a = 1", " + 1", 100000, "\n" MODEL(""), "nested more than 1000 deep"},
        {"size a = 1", " ** 1", 3000, "\n" MODEL(""), "nested more than 1000 deep"},
        {"model m {", "if true {", 100000, "", "brackets are nested more than 200 deep"},
        {"model m { if true { x = 1 }", " else if true { x = 1 }", 5000, "\n}\n",
         "this is nested too deeply"},
        {"model m { if false { x = 1 }", " else if false { x = 1 }", 3000, "\n}\n",
         "nested more than 1000 deep"},
        {"size a = [1]", "[0]", 100000, "\n" MODEL(""), "nested more than 1000 deep"},
        {"size a = ", "[for i in 3: ", 100000, "", "brackets are nested more than 200 deep"},
        {"size a = [for i in 2000: [for j in 2000: 1]]\n" MODEL(""), "", 0, "",
         "the model is too large"},
        {"size a = [for i in 9000000000: 1]\n" MODEL(""), "", 0, "", "the model is too large"},
        {MODEL("  repeat 1000000000 {\n    x = x\n  }\n"), "", 0, "", "cannot repeat 1000000000"},
        {MODEL("  repeat 2000 {\n  repeat 2000 {\n    y = 1\n  }\n  }\n"), "", 0, "",
         "the model is too large"},
        {MODEL("  repeat 1000000 {\n    x = x + 1\n  }\n"), "", 0, "",
         "more than 131072 operators"},
        {"model m {\n  input x: f32[1000000000]\n  output y = split(x, 1000000000)\n}\n", "", 0, "",
         "the model is too large"},
        {"model m {\n  input x: f32[1]\n", "  x = concat(x, x, axis = 0)\n", 100, "  output x\n}\n",
         "too many elements"},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwArena *arena = mw_arena_new();
        MwText text = {.arena = arena};
        mw_text_add(&text, cases[i].begin);
        for (int k = 0; k < cases[i].parts; k++)
            mw_text_add(&text, cases[i].part);
        mw_text_add(&text, cases[i].end);
        Parsed parsed = parse(text.at);
        ck_assert_ptr_null(parsed.graph);
        const char *shown = diags_text(parsed.arena, parsed.diags);
        ck_assert_msg(strstr(shown, cases[i].error) != NULL, "case %d: %.300s", i, shown);
        ck_assert_msg(mw_diags_error_count(parsed.diags) == 1, "case %d has %d errors", i,
                      mw_diags_error_count(parsed.diags));
        mw_arena_free(&parsed.arena);
        mw_arena_free(&arena);
    }
}
END_TEST

/* Each block calls the one before twice: 2^60 expansions. */
START_TEST(blocks_that_double_end_with_an_error)
{
    MwArena *arena = mw_arena_new();
    MwText text = {.arena = arena};
    mw_text_add(&text, "block b0(x) {\n  return x\n}\n");
    for (int i = 1; i <= 60; i++)
        mw_text_printf(&text, "block b%d(x) {\n  return b%d(b%d(x))\n}\n", i, i - 1, i - 1);
    mw_text_add(&text, MODEL("  y = b60(x)\n"));
    Parsed parsed = parse(text.at);
    ck_assert_ptr_null(parsed.graph);
    ck_assert_ptr_nonnull(strstr(diags_text(parsed.arena, parsed.diags), "the model is too large"));
    mw_arena_free(&parsed.arena);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(any_byte_is_read)
{
    static const char nul[] = "model m {\n  input x: f32[4]\n  y = x \0 + 1\n  output x\n}\n";
    Parsed parsed = parse_bytes(nul, sizeof nul - 1, NULL, 0);
    ck_assert_str_eq(diags_text(parsed.arena, parsed.diags),
                     "t.graph:3:9: error: unexpected byte 0x00\n"
                     "    3 |   y = x   + 1\n"
                     "      |         ^\n");
    mw_arena_free(&parsed.arena);

    parsed = parse("model m {\r\n  input x: f32[4]\r\n  output x\r\n}\r\n");
    ck_assert_str_eq(diags_text(parsed.arena, parsed.diags), "");
    ck_assert_ptr_nonnull(parsed.graph);
    mw_arena_free(&parsed.arena);

    parsed = parse("size caf\xc3\xa9 = 1\n" MODEL(""));
    ck_assert_ptr_nonnull(strstr(diags_text(parsed.arena, parsed.diags),
                                 "t.graph:1:9: error: unexpected '\xc3\xa9'"));
    mw_arena_free(&parsed.arena);

    static const char *const utf16[] = {"\xff\xfem\0o\0d", "\xfe\xff\0m\0o", "m\0o\0d\0",
                                        "\0m\0o\0d"};
    for (int i = 0; i < MW_COUNT(utf16); i++) {
        parsed = parse_bytes(utf16[i], 6, NULL, 0);
        ck_assert_str_eq(diags_text(parsed.arena, parsed.diags),
                         "meshwright: error: t.graph: the file is UTF-16; save it as UTF-8\n");
        mw_arena_free(&parsed.arena);
    }

    parsed = parse("size a = \xc3");
    ck_assert_ptr_nonnull(strstr(diags_text(parsed.arena, parsed.diags),
                                 "t.graph:1:10: error: unexpected byte 0xc3"));
    mw_arena_free(&parsed.arena);

    parsed = parse("\xef\xbb\xbfmodel m { input x: f32[4]\n output x }");
    ck_assert_str_eq(diags_text(parsed.arena, parsed.diags), "");
    mw_arena_free(&parsed.arena);
    parsed = parse("model m { input x: f32[4]\xef\xbb\xbf\n output x }");
    ck_assert_ptr_nonnull(
        strstr(diags_text(parsed.arena, parsed.diags), "t.graph:1:26: error: unexpected mark"));
    mw_arena_free(&parsed.arena);

    parsed = parse("model m { input x: f32[4]\n output x }");
    ck_assert_ptr_nonnull(parsed.graph);
    mw_arena_free(&parsed.arena);

    parsed = parse("");
    ck_assert_str_eq(diags_text(parsed.arena, parsed.diags),
                     "meshwright: error: t.graph has no model\n");
    mw_arena_free(&parsed.arena);
}
END_TEST

/* The text that a node's span covers. */
static const char *span_text(const Parsed *parsed, const char *value)
{
    MwSpan span = mw_value_node(parsed->graph, value_named(parsed, value))->origin.span;
    return mw_arena_strndup(parsed->arena, span.source->text + span.begin, span.end - span.begin);
}

START_TEST(nodes_know_their_source)
{
    Parsed parsed = parse("block f(x) {\n  weight w: f32[4] = ones\n  return x * w + 1\n}\n" MODEL(
        "  repeat 2 as l {\n    y = f(relu( x ))\n  }\n"));
    ck_assert_str_eq(diags_text(parsed.arena, parsed.diags), "");
    static const struct {
        const char *value, *text, *scope;
        int iteration;
    } cases[] = {
        {"l.1.relu", "relu( x )", "l.1", 1},         {"l.0.f.mul", "x * w", "l.0.f", 0},
        {"l.1.f", "x * w + 1", "l.1.f", 1},          {"l.1.f.constant", "x * w + 1", "l.1.f", 1},
        {"l.0.f.w", "w: f32[4] = ones", "l.0.f", 0}, {"x", "x: f32[4]", "", -1},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        const MwOrigin *origin =
            &mw_value_node(parsed.graph, value_named(&parsed, cases[i].value))->origin;
        ck_assert_str_eq(span_text(&parsed, cases[i].value), cases[i].text);
        ck_assert_str_eq(origin->scope, cases[i].scope);
        ck_assert_int_eq(origin->repeat, cases[i].iteration < 0 ? -1 : 0);
        ck_assert(cases[i].iteration < 0 || origin->iteration == cases[i].iteration);
    }
    mw_arena_free(&parsed.arena);
}
END_TEST

START_TEST(defines_override_sizes)
{
    static const char text[] = "size n = 4, twice = 2 * n, rate = 0.5, third = n / 4, on = true\n"
                               "model m {\n  input x: f32[n, twice]\n"
                               "  output y = where(on, x * rate, x)\n}\n";
    static const struct {
        MwDefine define;
        const char *error; /* "": none */
        int64_t rows, columns;
        double rate;
    } cases[] = {
        {{"n", "8"}, "", 8, 16, 0.5},
        {{"twice", "3"}, "", 4, 3, 0.5},
        {{"rate", "2"}, "", 4, 8, 2},
        {{"rate", "1e-3"}, "", 4, 8, 1e-3},
        {{"n", "2"}, "t.graph:1:48: error: 2 is not divisible by 4", 0, 0, 0},
        {{"n", "0.5"}, "must be a whole number", 0, 0, 0},
        {{"n", "0"}, "must be at least 1, not 0", 0, 0, 0},
        {{"n", "4x"}, "error: -D n=4x: '4x' is not a number", 0, 0, 0},
        {{"n", ""}, "error: -D n=: '' is not a number", 0, 0, 0},
        {{"n", "99999999999999999999"}, "must be a whole number", 0, 0, 0},
        {{"rate", "inf"}, "'inf' is not a number", 0, 0, 0},
        {{"m", "4"}, "the model has no size 'm'", 0, 0, 0},
        {{"tiwce", "4"}, "the model has no size 'tiwce'; did you mean 'twice'?", 0, 0, 0},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        Parsed parsed = parse_bytes(text, sizeof text - 1, &cases[i].define, 1);
        const char *shown = diags_text(parsed.arena, parsed.diags);
        ck_assert_msg(strstr(shown, cases[i].error) != NULL, "case %d: %s", i, shown);
        ck_assert((parsed.graph == NULL) == (*cases[i].error != '\0'));
        if (parsed.graph) {
            const MwTensor *x = mw_value_tensor(parsed.graph, value_named(&parsed, "x"));
            const MwNode *rate = mw_value_node(parsed.graph, value_named(&parsed, "constant"));
            ck_assert_int_eq(x->dim[0], cases[i].rows);
            ck_assert_int_eq(x->dim[1], cases[i].columns);
            ck_assert(mw_node_float(rate, MW_ATTR_VALUE) == cases[i].rate);
        }
        mw_arena_free(&parsed.arena);
    }
}
END_TEST

START_TEST(the_last_define_of_a_size_counts)
{
    static const MwDefine defines[] = {{"n", "8"}, {"n", "3"}};
    static const char text[] = "size n = 4\nmodel m {\n  input x: f32[n]\n  output x\n}\n";
    Parsed parsed = parse_bytes(text, sizeof text - 1, defines, 2);
    ck_assert_int_eq(mw_value_tensor(parsed.graph, value_named(&parsed, "x"))->dim[0], 3);
    mw_arena_free(&parsed.arena);
}
END_TEST

/* A model of the folder models/, with short text for "-D" sizes: "layers=2 width=8". */
static Parsed load_model(const char *name, const MwDefine *defines, int count)
{
    Parsed parsed = {.arena = mw_arena_new()};
    parsed.diags = mw_diags_new(parsed.arena);
    parsed.graph = mw_graph_load(parsed.arena, mw_interner_new(parsed.arena),
                                 mw_arena_printf(parsed.arena, "%s/models/%s", SOURCE_ROOT, name),
                                 defines, count, parsed.diags);
    ck_assert_str_eq(diags_text(parsed.arena, parsed.diags), "");
    return parsed;
}

/* These are the names in checkpoints: a change here breaks the users' files. */
START_TEST(weights_of_gpt_keep_their_names)
{
    static const char *const names[] = {"wte",
                                        "wpe",
                                        "layers.0.norm.scale",
                                        "layers.0.norm.shift",
                                        "layers.0.attention.wqkv",
                                        "layers.0.attention.bqkv",
                                        "layers.0.attention.wo",
                                        "layers.0.attention.bo",
                                        "layers.0.norm.1.scale",
                                        "layers.0.norm.1.shift",
                                        "layers.0.mlp.w1",
                                        "layers.0.mlp.b1",
                                        "layers.0.mlp.w2",
                                        "layers.0.mlp.b2",
                                        "norm.scale",
                                        "norm.shift"};
    static const MwDefine one_layer = {"layers", "1"};
    Parsed parsed = load_model("gpt.graph", &one_layer, 1);
    int found = 0;
    for (int i = 0; i < parsed.graph->values.count; i++) {
        if (mw_value_node(parsed.graph, (MwValueId){i})->op != MW_OP_WEIGHT)
            continue;
        ck_assert_int_lt(found, MW_COUNT(names));
        ck_assert_str_eq(parsed.graph->values.at[i].name, names[found++]);
    }
    ck_assert_int_eq(found, MW_COUNT(names));
    mw_arena_free(&parsed.arena);
}
END_TEST

/* Layers are alike: node k of each has the same operator, and its scope differs in the number. */
START_TEST(iterations_of_a_repeat_are_alike)
{
    static const MwDefine layers = {"layers", "5"};
    Parsed parsed = load_model("llama.graph", &layers, 1);
    const MwGraph *graph = parsed.graph;
    int first = 0, count = 0;
    while (graph->nodes.at[first].origin.repeat < 0)
        first++;
    while (graph->nodes.at[first + count].origin.iteration == 0 &&
           graph->nodes.at[first + count].origin.repeat == 0)
        count++;
    ck_assert_int_gt(count, 20);
    ck_assert_int_eq(graph->repeats.count, 1);
    ck_assert_str_eq(graph->repeats.at[0].name, "layers");
    ck_assert_int_eq(graph->repeats.at[0].count, 5);
    for (int i = 0; i < 5 * count; i++) {
        const MwNode *node = &graph->nodes.at[first + i],
                     *like = &graph->nodes.at[first + i % count];
        ck_assert_int_eq(node->op, like->op);
        ck_assert_int_eq(node->origin.repeat, 0);
        ck_assert_int_eq(node->origin.iteration, i / count);
        ck_assert_str_eq(node->origin.scope + strlen("layers.0"),
                         like->origin.scope + strlen("layers.0"));
    }
    mw_arena_free(&parsed.arena);
}
END_TEST

START_TEST(every_model_dumps_and_reads_back)
{
    static const char *const models[] = {"mlp.graph",  "gpt.graph", "llama.graph",
                                         "bert.graph", "vit.graph", "resnet.graph"};
    for (int i = 0; i < MW_COUNT(models); i++) {
        Parsed parsed = load_model(models[i], NULL, 0);
        MwText dump = {.arena = parsed.arena}, again = {.arena = parsed.arena};
        mw_graph_print(&dump, parsed.graph);
        Parsed copy = parse(dump.at);
        ck_assert_str_eq(diags_text(copy.arena, copy.diags), "");
        mw_graph_print(&again, copy.graph);
        ck_assert_str_eq(again.at, dump.at);
        mw_arena_free(&copy.arena);
        mw_arena_free(&parsed.arena);
    }
}
END_TEST

/* What a random number generator or a checkpoint depends on must not hang on the order of calls in
 * other places: dropout keys count calls, in order. */
START_TEST(each_dropout_has_its_own_key)
{
    Parsed parsed = parse(MODEL("  repeat 3 {\n    x = dropout(dropout(x, 0.1), 0)\n  }\n"
                                "  x = dropout(x, 0.1, key = 1)\n  x = dropout(x, 0.2)\n"));
    static const int64_t keys[] = {0, 1, 2, 1, 3};
    int found = 0;
    for (int i = 0; i < parsed.graph->nodes.count; i++)
        if (parsed.graph->nodes.at[i].op == MW_OP_DROPOUT)
            ck_assert_int_eq(mw_node_int(&parsed.graph->nodes.at[i], MW_ATTR_KEY), keys[found++]);
    ck_assert_int_eq(found, MW_COUNT(keys));
    mw_arena_free(&parsed.arena);
}
END_TEST

START_TEST(names_that_meet_stay_apart)
{
    /* The weight keeps its name though an operator of that name comes first; a name with a dot that
     * a source chooses does not clash with one that is made up. */
    Parsed parsed = parse(MODEL("  a = x + x\n  x.1 = x * 2\n  x = x * 3\n  x = x * 4\n"
                                "  weight add: f32[4] = ones\n  b = (x + x) * add\n"));
    ck_assert_str_eq(diags_text(parsed.arena, parsed.diags), "");
    ck_assert_int_eq(mw_value_node(parsed.graph, value_named(&parsed, "add"))->op, MW_OP_WEIGHT);
    ck_assert_int_eq(mw_value_node(parsed.graph, value_named(&parsed, "add.1"))->op, MW_OP_ADD);
    ck_assert_int_eq(mw_value_node(parsed.graph, value_named(&parsed, "x.2"))->op, MW_OP_MUL);
    ck_assert_int_eq(mw_value_node(parsed.graph, value_named(&parsed, "x.3"))->op, MW_OP_MUL);
    mw_arena_free(&parsed.arena);
}
END_TEST

START_TEST(names_of_other_libraries_lead_to_functions)
{
    const char *name = foreign[_i].name, *function = foreign[_i].function;
    MwArena *arena = mw_arena_new();
    ck_assert_msg(!mw_function_exists(name), "'%s' is a function of the language", name);
    ck_assert_msg(!function || mw_function_exists(function), "there is no '%s'", function);
    Parsed parsed = parse(mw_arena_printf(arena, MODEL("  y = torch.%s(x)\n"), name));
    const char *says = diags_text(parsed.arena, parsed.diags);
    ck_assert_msg(strstr(says, foreign[_i].text) != NULL, "%s", says);
    mw_arena_free(&parsed.arena);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(newcomers_are_told_how_it_is_here)
{
    MwArena *arena = mw_arena_new();
    Parsed parsed = parse(mw_arena_printf(arena, MODEL("  %s\n"), newcomers[_i].line));
    const char *says = diags_text(parsed.arena, parsed.diags);
    ck_assert_msg(strstr(says, newcomers[_i].says) != NULL, "%s", says);
    mw_arena_free(&parsed.arena);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frontend");
    TCase *tests = tcase_create("frontend");
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, hostile_texts_end_with_one_error);
    tcase_add_test(tests, blocks_that_double_end_with_an_error);
    tcase_add_test(tests, any_byte_is_read);
    tcase_add_test(tests, nodes_know_their_source);
    tcase_add_test(tests, defines_override_sizes);
    tcase_add_test(tests, the_last_define_of_a_size_counts);
    tcase_add_test(tests, weights_of_gpt_keep_their_names);
    tcase_add_test(tests, iterations_of_a_repeat_are_alike);
    tcase_add_test(tests, every_model_dumps_and_reads_back);
    tcase_add_test(tests, each_dropout_has_its_own_key);
    tcase_add_loop_test(tests, names_of_other_libraries_lead_to_functions, 0, MW_COUNT(foreign));
    tcase_add_loop_test(tests, newcomers_are_told_how_it_is_here, 0, MW_COUNT(newcomers));
    tcase_add_test(tests, names_that_meet_stay_apart);
    return run_suite(suite);
}
