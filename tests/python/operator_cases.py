# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls of PyTorch's functions, by subject: each is {name: function of the inputs}, and what it
returns is compared. Dimension 0 of all inputs is the batch."""
import torch
import torch.nn.functional as F

BATCH = 4


def inputs() -> dict[str, torch.Tensor]:
    """The inputs by name."""
    generator = torch.Generator().manual_seed(1)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(BATCH, *shape, generator=generator)

    return {"a": normal(6, 8), "b": normal(6, 8), "m": normal(8, 5), "v": normal(8),
            "img": normal(6, 9, 9), "line": normal(6, 10), "box": normal(2, 5, 6, 4),
            "ids": torch.randint(0, 6, (BATCH, 3), generator=generator),
            "rows": torch.randint(0, 6, (BATCH, 6, 8), generator=generator),
            "n": torch.randint(-9, 9, (BATCH, 7), generator=generator),
            "p": torch.rand(BATCH, 6, 8, generator=generator),
            "mask": torch.rand(BATCH, 6, 8, generator=generator) < 0.5}


ELEMENTWISE = {
    "arithmetic": lambda i: i["a"] + i["b"] * 2 - i["a"] / 3,
    "alpha": lambda i: torch.add(i["a"], i["b"], alpha=0.5) + torch.sub(i["a"], i["b"], alpha=2),
    "rsub": lambda i: 1 - i["a"],
    "integers": lambda i: i["n"] * 3 - 1,
    "promoted": lambda i: i["n"] * 0.5 + i["v"][:, :7],
    "divided": lambda i: i["n"] / 3,
    "floored": lambda i: i["n"] // 4,
    "remainder": lambda i: i["n"] % 4,
    "truncated": lambda i: torch.div(i["n"], 4, rounding_mode="trunc"),
    "float truncated": lambda i: torch.div(i["a"] * 9, 2.0, rounding_mode="trunc"),
    "broadcast": lambda i: i["a"] * i["v"][:, None, :],
    "powers": lambda i: i["a"] ** 2 + i["a"] ** 3 + i["p"] ** 0.5 + i["p"] ** 1.7 + 2 ** i["a"],
    "exp": lambda i: torch.exp(i["a"]) + torch.expm1(i["a"]) + torch.log(i["p"] + 1),
    "log1p": lambda i: torch.log1p(i["p"]) + torch.rsqrt(i["p"] + 1) + torch.sqrt(i["p"]),
    "trigonometry": lambda i: torch.sin(i["a"]) + torch.cos(i["b"]) + torch.tan(i["p"]),
    "atan2": lambda i: torch.atan2(i["a"], i["b"]),
    "tanh": lambda i: torch.tanh(i["a"]) + torch.erf(i["a"]) + torch.sigmoid(i["a"]),
    "rounding": lambda i: torch.floor(i["a"]) + torch.ceil(i["b"]) + torch.round(i["a"] * 3),
    "sign": lambda i: torch.sign(i["a"]) + torch.abs(i["b"]) - torch.neg(i["a"]),
    "relu": lambda i: F.relu(i["a"]) + F.relu6(i["a"] * 5) + F.leaky_relu(i["a"], 0.2),
    "gelu": lambda i: F.gelu(i["a"]) + F.gelu(i["b"], approximate="tanh"),
    "silu": lambda i: F.silu(i["a"]) + F.mish(i["b"]) + F.softplus(i["a"]) + F.elu(i["b"]),
    "hard": lambda i: F.hardswish(i["a"] * 3) + F.hardsigmoid(i["b"] * 3) + F.hardtanh(i["a"]),
    "selu": lambda i: F.selu(i["a"]) + F.logsigmoid(i["b"]) + F.softplus(i["a"], beta=2),
    "glu": lambda i: F.glu(i["a"]),
    "prelu": lambda i: F.prelu(i["a"], torch.tensor([0.25])),
    "clamp": lambda i: i["a"].clamp(-0.5, 0.7) + i["b"].clamp(min=0) + i["b"].clamp(max=0.1),
    "maximum": lambda i: torch.maximum(i["a"], i["b"]) - torch.minimum(i["a"], i["b"]),
    "comparisons": lambda i: (i["a"] > i["b"]) & (i["a"] <= 0.5) | ~(i["b"] != 0) ^ i["mask"],
    "compared types": lambda i: i["n"] > 0.5,
    "where": lambda i: torch.where(i["mask"], i["a"], 0.5) + torch.where(i["a"] > 0, 1.0, i["b"]),
    "where numbers": lambda i: torch.where(i["mask"], 1.0, 2.0),
    "masked_fill": lambda i: i["a"].masked_fill(i["mask"], float("-inf")).softmax(-1),
    "lerp": lambda i: torch.lerp(i["a"], i["b"], 0.3) + torch.addcmul(i["a"], i["b"], i["p"]),
    "casts": lambda i: i["a"].to(torch.int32) + i["mask"].long() + i["n"].float()[:, :6, None],
    "inverse": lambda i: torch.reciprocal(i["p"] + 1) + torch.square(i["a"]),
    "nan": lambda i: torch.isnan(i["a"] / 0 * 0) | torch.isinf(i["a"] / 0),
    "in place": lambda i: i["a"].clone().add_(1).mul_(i["b"]).relu_(),
}

REDUCTIONS = {
    "sum": lambda i: i["a"].sum(-1) + i["a"].sum(dim=(1, 2))[:, None],
    "sum of truths": lambda i: i["mask"].sum(-1),
    "total": lambda i: i["a"].sum() + i["b"].mean(),
    "mean": lambda i: i["a"].mean(1, keepdim=True) + i["b"].mean(dim=(1, 2), keepdim=True),
    "moved": lambda i: i["a"].transpose(1, 2).sum(1)
    + i["img"].permute(0, 2, 3, 1).mean((1, 3))[:, :6],
    "max": lambda i: i["a"].max(dim=2).values + i["a"].amin(2) + i["a"].max(),
    "places": lambda i: i["a"].max(dim=1).indices + i["a"].argmin(1) + i["b"].argmax(dim=1),
    "all places": lambda i: i["v"][:, :].argmax(),
    "products": lambda i: i["a"].prod(2),
    "all": lambda i: i["mask"].all(2) | i["mask"].any(1)[:, :6],
    "var": lambda i: i["a"].var(1) + i["a"].std(dim=1, unbiased=False)
    + i["a"].var((1, 2))[:, None],
    "softmax": lambda i: i["a"].softmax(1) + i["b"].log_softmax(-1) + i["a"].logsumexp(2, True),
    "cumsum": lambda i: i["a"].cumsum(1) + i["rows"].cumsum(2),
    "norm": lambda i: i["a"].norm(dim=-1) + torch.linalg.vector_norm(i["a"], dim=2),
    "normalize": lambda i: F.normalize(i["a"], dim=-1)
    + F.cosine_similarity(i["a"], i["b"], dim=2)[..., None],
    "topk": lambda i: torch.topk(i["a"], 3).values + torch.topk(i["a"], 3, largest=False).values,
    "topk places": lambda i: torch.topk(i["a"], 2, dim=1).indices,
    "sort": lambda i: i["a"].sort(-1, descending=True).values + i["a"].argsort(1),
}

SHAPES = {
    "views": lambda i: i["a"].view(4, 48).reshape(4, 2, 24).flatten(1).unflatten(1, (3, 16)),
    "unsqueeze": lambda i: i["a"].unsqueeze(1).squeeze(1) + i["v"].unsqueeze(1),
    "permute": lambda i: i["img"].permute(0, 2, 3, 1) * 2 + 1,
    "transposes": lambda i: i["a"].transpose(1, 2).contiguous().view(4, 48) + i["a"].mT.flatten(1),
    "expand": lambda i: i["v"][:, None].expand(4, 6, 8) + i["a"].repeat(1, 1, 1),
    "repeat": lambda i: i["v"].repeat(1, 3) + i["v"].repeat_interleave(3, dim=1),
    "parts": lambda i: i["a"][:, 1:5:2, -3:] + i["a"][:, 0:2, :3],
    "selects": lambda i: i["a"][:, -1] + i["a"][:, 2] + i["a"][..., 3][:, :1],
    "split": lambda i: torch.cat(i["a"].split([1, 2, 3], dim=1)[::-1], dim=1) + i["b"],
    "chunk": lambda i: sum(i["a"].chunk(2, dim=-1)) * i["b"].split(4, -1)[0],
    "uneven": lambda i: i["a"].split(4, 1)[1] + i["a"].chunk(4, 1)[2],
    "unbind": lambda i: sum(i["a"].unbind(1)) + torch.stack(i["b"].unbind(1), dim=2).sum(2),
    "stack": lambda i: torch.stack([i["a"], i["b"]], dim=-1),
    "cat moved": lambda i: torch.cat([i["a"].transpose(1, 2), i["b"].transpose(1, 2)], dim=1),
    "pad": lambda i: F.pad(i["a"], (1, 2)) .sum(-1)
    + F.pad(i["a"], (-1, 0, 2, 1), value=3.0).sum((1, 2))[:, None],
    "flip": lambda i: i["a"].flip(1) + i["a"].roll(2, dims=2) + i["b"].roll((1, -1), dims=(1, 2)),
    "movedim": lambda i: i["img"].movedim(1, -1).movedim(-1, 2),
    "assigned": lambda i: assigned(i["a"], i["b"]),
    "triangles": lambda i: i["img"].tril() + i["img"].triu(1),
    "diagonal": lambda i: i["img"].diagonal(dim1=2, dim2=3),
    "shuffle": lambda i: F.pixel_shuffle(i["img"][:, :4], 2),
}


def assigned(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Assignments to parts of a tensor."""
    x = x.clone()
    x[:, 1:3] = y[:, 3:5]
    x[:, 0] = 7.0
    x[:, :, -1] += 1
    return x


CONTRACTIONS = {
    "linear": lambda i: F.linear(i["a"], i["m"][0].T.contiguous())
    + F.linear(i["a"], i["m"][0].T, torch.ones(5)),
    "matmul": lambda i: i["a"] @ i["m"] + torch.bmm(i["a"], i["m"]),
    "moved": lambda i: i["a"].transpose(1, 2) @ i["b"] + torch.matmul(i["a"].mT, i["b"]),
    "many": lambda i: i["img"] @ i["img"].transpose(-1, -2),
    "vector": lambda i: i["a"] @ i["v"][0] + torch.mv(i["a"][:, 0], i["v"][0])[:, None],
    "broadcast": lambda i: i["img"] @ i["img"][0, 0],
    "einsum": lambda i: torch.einsum("bsw,bwf->bsf", i["a"], i["m"]),
    "einsum of three": lambda i: torch.einsum("bsw, bw, bsw -> bs", i["a"], i["v"], i["b"]),
    "einsum implied": lambda i: torch.einsum("bsw,bwf", i["a"], i["m"]),
    "einsum dots": lambda i: torch.einsum("...sw,...wf->...fs", i["a"], i["m"]),
    "addmm": lambda i: torch.addmm(i["m"][0, 0], i["a"][:, 0], i["m"][0], beta=0.5, alpha=2),
    "baddbmm": lambda i: torch.baddbmm(i["a"][:, :, :5], i["a"], i["m"]),
    "outer": lambda i: torch.outer(i["v"][:, 0], i["v"][0]),
}

INDEXING = {
    "embedding": lambda i: F.embedding(i["ids"], i["a"][0]),
    "padding": lambda i: F.embedding(i["ids"], i["a"][0], padding_idx=2),
    "index_select": lambda i: i["a"].index_select(1, i["ids"][0]),
    "index": lambda i: i["a"][0][i["ids"]] + i["a"][:, i["ids"][0]].sum()
    + i["b"][0, i["ids"], i["ids"]][..., None],
    "gather": lambda i: i["a"].gather(1, i["rows"]) + i["a"].gather(2, i["rows"]),
    "one_hot": lambda i: F.one_hot(i["ids"], 6).float() * 2,
    "index_add": lambda i: torch.zeros(6, 8).index_add(0, i["ids"][:, 0], i["v"]),
    "scatter_add": lambda i: torch.zeros(4, 6, 8).scatter_add(1, i["rows"], i["a"]),
    "scatter": lambda i: torch.zeros(4, 6, 8).scatter(1, i["a"].argsort(1), i["a"]),
    "scatter a number": lambda i: torch.zeros(4, 6, 8).scatter(1, i["rows"], 1.0),
    "index_put": lambda i: torch.zeros(6, 8).index_put((i["ids"][:, 0],), i["v"], accumulate=True),
    "arange": lambda i: i["v"] + torch.arange(8) + torch.arange(1, 9, 1) + torch.arange(0, 4, 0.5),
    "made": lambda i: i["v"] * torch.full((8,), 2.0) + torch.ones_like(i["v"]) + torch.eye(8)[0]
    + torch.linspace(0, 1, 8) + torch.zeros(8) + i["v"].new_ones(8),
    "causal": lambda i: torch.ones(8, 8).tril().bool() & torch.ones(8, 8).triu(-2).bool(),
    "constants": lambda i: i["v"] * torch.tensor([1.5, 2, 3, 4, 5, 6, 7, 8.5]) + torch.tensor(2.0),
}

LAYERS = {
    "layer_norm": lambda i: F.layer_norm(i["a"], (8,))
    + F.layer_norm(i["b"], (6, 8), i["p"][0], i["a"][0]),
    "rms_norm": lambda i: F.rms_norm(i["a"], (8,), i["v"][0]) + F.rms_norm(i["b"], (8,), eps=1e-3),
    "group_norm": lambda i: F.group_norm(i["img"], 3, i["a"][0, :, 0], i["a"][0, :, 1])
    + F.instance_norm(i["img"]),
    "group_norm of rows": lambda i: F.group_norm(i["v"], 2),
    "batch_norm": lambda i: F.batch_norm(i["img"], i["a"][0, :, 0], i["p"][0, :, 1],
                                         training=False),
    "batch statistics": lambda i: F.batch_norm(i["line"], None, None, training=True),
    "attention": lambda i: F.scaled_dot_product_attention(*heads(i)),
    "causal attention": lambda i: F.scaled_dot_product_attention(*heads(i), is_causal=True,
                                                                 scale=0.3),
    "masked attention": lambda i: F.scaled_dot_product_attention(
        *heads(i), attn_mask=i["mask"][:, None, :, :6])
    + F.scaled_dot_product_attention(*heads(i), attn_mask=i["a"][:, None, :, :6]),
    "attention of one": lambda i: F.scaled_dot_product_attention(i["a"], i["b"], i["p"]),
    "grouped attention": lambda i: F.scaled_dot_product_attention(
        heads(i)[0], heads(i)[1][:, :1], heads(i)[2][:, :1], enable_gqa=True),
}


def heads(i: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    """Queries, keys and values [batch, heads, sequence, head]."""
    return [i[name].view(4, 6, 2, 4).transpose(1, 2) for name in ("a", "b", "p")]


def filters(*shape: int) -> torch.Tensor:
    """Filters whose elements all differ."""
    count = torch.Size(shape).numel()
    return torch.sin(torch.arange(count, dtype=torch.float32)).view(shape)


WINDOWS = {
    "conv1d": lambda i: F.conv1d(i["line"], filters(4, 6, 3), filters(4), padding=1),
    "conv2d": lambda i: F.conv2d(i["img"], filters(5, 6, 3, 3), stride=2, padding=1),
    "conv3d": lambda i: F.conv3d(i["box"], filters(3, 2, 2, 3, 1), padding=(0, 1, 0)),
    "grouped": lambda i: F.conv2d(i["img"], filters(6, 3, 3, 3), groups=2)
    + F.conv2d(i["img"], filters(6, 1, 3, 3), groups=6),
    "dilated": lambda i: F.conv2d(i["img"], filters(4, 6, 3, 2), dilation=(2, 1), padding=(2, 0)),
    "same": lambda i: F.conv2d(i["img"], filters(4, 6, 3, 2), padding="same"),
    "transposed": lambda i: F.conv_transpose2d(i["img"], filters(6, 4, 3, 3), filters(4),
                                               stride=2, padding=1, output_padding=1),
    "transposed line": lambda i: F.conv_transpose1d(i["line"], filters(6, 2, 4), stride=2),
    "max_pool": lambda i: F.max_pool2d(i["img"], 3, 2, 1) + F.max_pool2d(i["img"], 2)[..., :1, :1],
    "avg_pool": lambda i: F.avg_pool2d(i["img"], 3, 2, 1)
    + F.avg_pool2d(i["img"], 3, 2, 1, count_include_pad=False),
    "line pool": lambda i: F.max_pool1d(i["line"], 2) + F.avg_pool1d(i["line"], 2),
    "adaptive": lambda i: F.adaptive_avg_pool2d(i["img"], 1).flatten(1)
    + F.adaptive_avg_pool2d(i["img"], (2, 3)).sum((2, 3)),
    "adaptive max": lambda i: F.adaptive_max_pool2d(i["img"], (2, 3)),
    "nearest": lambda i: F.interpolate(i["img"], scale_factor=2)
    + F.interpolate(i["img"], size=(18, 18), mode="bilinear"),
    "chain": lambda i: F.max_pool2d(F.relu(
        F.conv2d(i["img"], filters(4, 6, 3, 3)) * filters(4, 1, 1)), 2).mean((2, 3)),
}

LOSSES = {
    "cross_entropy": lambda i: F.cross_entropy(i["v"], i["ids"][:, 0]),
    "of sequences": lambda i: F.cross_entropy(i["a"].transpose(1, 2)[..., :3], i["ids"],
                                              reduction="sum"),
    "smooth": lambda i: F.cross_entropy(i["v"], i["ids"][:, 0], label_smoothing=0.1,
                                        reduction="none"),
    "ignored": lambda i: F.cross_entropy(i["v"], i["ids"][:, 0], ignore_index=int(2)),
    "weighted": lambda i: F.cross_entropy(i["v"], i["ids"][:, 0], weight=torch.arange(1.0, 9.0)),
    "distributions": lambda i: F.cross_entropy(i["v"], i["a"][:, 0].softmax(-1),
                                               label_smoothing=0.2),
    "nll_loss": lambda i: F.nll_loss(i["v"].log_softmax(-1), i["ids"][:, 0])
    + F.nll_loss(i["a"].transpose(1, 2)[..., :3].log_softmax(1), i["ids"], ignore_index=1),
    "mse_loss": lambda i: F.mse_loss(i["a"], i["b"]) + F.mse_loss(i["a"], i["b"], reduction="sum"),
    "l1_loss": lambda i: F.l1_loss(i["a"], i["b"]) + F.smooth_l1_loss(i["a"], i["b"], beta=0.5)
    + F.huber_loss(i["a"], i["b"], delta=0.7),
    "binary": lambda i: F.binary_cross_entropy_with_logits(i["a"], i["p"])
    + F.binary_cross_entropy(i["p"], i["mask"].float()),
    "binary weighted": lambda i: F.binary_cross_entropy_with_logits(
        i["a"], i["p"], weight=i["p"], pos_weight=torch.full((8,), 2.0)),
    "kl_div": lambda i: F.kl_div(i["a"].log_softmax(-1), i["b"].softmax(-1), reduction="batchmean")
    + F.kl_div(i["a"].log_softmax(-1), i["b"].log_softmax(-1), reduction="sum", log_target=True),
    "margins": lambda i: F.margin_ranking_loss(i["v"], i["a"][:, 0], torch.ones(4, 8))
    + F.hinge_embedding_loss(i["v"], torch.ones(4, 8)),
}

SUBJECTS = {"element-wise functions": ELEMENTWISE, "reductions": REDUCTIONS, "shapes": SHAPES,
            "contractions": CONTRACTIONS, "indexing": INDEXING, "layers": LAYERS,
            "windows": WINDOWS, "losses": LOSSES}
