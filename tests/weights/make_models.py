#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes NAME/model.safetensors, in bf16, and NAME.json: tiny models of Hugging Face's transformers with
random weights, an input, and the logits that transformers computes from them in f32. Run it, with
torch and transformers installed, when a map is added:

    make_models.py

What is here was made with transformers 5.24.0 and PyTorch 2.15.0."""
import json
import pathlib

import torch
import transformers as hf

HERE = pathlib.Path(__file__).resolve().parent
BATCH, SEQ, VOCAB, WIDTH, HEADS, LAYERS = 4, 8, 24, 16, 4, 2
SIZES = {"batch": BATCH, "layers": LAYERS, "width": WIDTH, "heads": HEADS}
TEXT = {**SIZES, "seq": SEQ, "vocab": VOCAB}
NAMES = {"vocab_size": VOCAB, "hidden_size": WIDTH, "num_hidden_layers": LAYERS,
         "num_attention_heads": HEADS}


def save(name, graph, model, sizes, inputs, run):
    """Writes the model, whose weights are rounded to bf16 first, and what it makes of the inputs."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_((weight + 0.1 * torch.randn_like(weight)).to(torch.bfloat16))
        logits = run(model.eval())
    model.to(torch.bfloat16).save_pretrained(HERE / name)
    for path in (HERE / name).iterdir():
        if path.name not in ("model.safetensors", "config.json"):
            path.unlink()
    case = {"graph": graph, "sizes": sizes,
            "inputs": {key: value.flatten().tolist() for key, value in inputs.items()},
            "shapes": {key: list(value.shape) for key, value in inputs.items()},
            "logits": [float(f"{x:.6g}") for x in logits.flatten().tolist()]}
    (HERE / f"{name}.json").write_text(json.dumps(case) + "\n")


def main():
    torch.manual_seed(1)
    ids = torch.randint(0, VOCAB, (BATCH, SEQ))
    text = {"tokens": ids, "targets": ids}
    save("hf-gpt2", "gpt", hf.GPT2LMHeadModel(hf.GPT2Config(
        vocab_size=VOCAB, n_positions=SEQ, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
        bos_token_id=0, eos_token_id=0)), {**TEXT, "tanh": "true"}, text,
        lambda model: model(ids).logits)
    rotary = dict(NAMES, intermediate_size=40, num_key_value_heads=2, rms_norm_eps=1e-5,
                  max_position_embeddings=SEQ)
    kv = {**TEXT, "kv_heads": 2, "hidden": 40}
    save("hf-llama", "llama", hf.LlamaForCausalLM(hf.LlamaConfig(**rotary)), kv, text,
         lambda model: model(ids).logits)
    save("hf-mixtral", "mixtral", hf.MixtralForCausalLM(hf.MixtralConfig(
        **rotary, num_local_experts=4, rope_theta=10000.0)), {**kv, "experts": 4}, text,
        lambda model: model(ids).logits)
    save("hf-bert", "bert", hf.BertForMaskedLM(hf.BertConfig(
        **NAMES, intermediate_size=32, max_position_embeddings=SEQ)),
        {**TEXT, "hidden": 32, "mask_rate": 1e-9}, {"tokens": ids}, lambda model: model(ids).logits)
    images = torch.randn(BATCH, 8, 8, 3)
    labels = torch.randint(0, 10, (BATCH,))
    save("hf-vit", "vit", hf.ViTForImageClassification(hf.ViTConfig(
        **{k: v for k, v in NAMES.items() if k != "vocab_size"}, intermediate_size=32, image_size=8,
        patch_size=4, num_labels=10)), {**SIZES, "hidden": 32, "image": 8, "patch": 4, "eps": 1e-12},
        {"images": images, "labels": labels},
        lambda model: model(images.permute(0, 3, 1, 2)).logits)
    before = torch.cat([torch.zeros_like(ids[:, :1]), ids[:, :-1]], 1)
    save("hf-t5", "t5", hf.T5ForConditionalGeneration(hf.T5Config(
        vocab_size=VOCAB, d_model=WIDTH, d_kv=4, d_ff=32, num_layers=LAYERS, num_heads=HEADS,
        decoder_start_token_id=0, dropout_rate=0)),
        {"batch": BATCH, "source": SEQ, "target": SEQ, "vocab": VOCAB, "layers": LAYERS,
         "width": WIDTH, "heads": HEADS, "head": 4, "hidden": 32}, text,
        lambda model: model(input_ids=ids, decoder_input_ids=before).logits)


if __name__ == "__main__":
    main()
