#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the plans of this folder must compute, worked out with PyTorch in float64.

    pip install torch
    python3 tests/reference/reference.py              # all cases into tests/reference/data
    python3 tests/reference/reference.py gpt_tied     # one

For each case: CASE.bin (the data, a token a byte), CASE.init.safetensors (F32, hub names and
layouts), CASE.log (a JSON object a step: step, loss, grad_norm), CASE.gradients.safetensors (F64,
of the mean loss of step 0, before clipping), CASE.weights.safetensors (F64, after the last step).

The data holds exactly one global batch of windows, so every step sees all of them, in any order.
Nothing here is shared with the compiler or its runtime: weights come from Python's generator, the
models are written from their definitions, gradients are autograd's, the optimizer is torch's.
"""
import json
import math
import os
import random
import struct
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, WARMUP, FINAL = 20, 5, 0.1
LLAMA3 = dict(factor=8.0, low=1.0, high=4.0, original=64)

# One line a plan; sizes as in CASE.plan.
CASES = {
    "gpt_tied": dict(family="gpt", embed=24, heads=3, head=8, ffn=52, vocab=97, context=32,
                     tokens=17, batch=6, eps=1e-5, tied=True, prefix="transformer.",
                     lr=1e-3, betas=(0.9, 0.95), decay=0.1, adam_eps=1e-6, clip=1.0),
    "gpt_untied": dict(family="gpt", embed=20, heads=5, head=4, ffn=80, vocab=61, context=19,
                       tokens=19, batch=4, eps=1e-6, tied=False, prefix="",
                       lr=1e-3, betas=(0.9, 0.999), decay=0.0, adam_eps=1e-6, clip=None),
    "llama_tied": dict(family="llama", embed=24, heads=4, kv_heads=2, head=6, ffn=44, vocab=97,
                       context=64, tokens=17, batch=6, eps=1e-5, rope=10000.0, tied=True,
                       lr=1e-3, betas=(0.9, 0.99), decay=0.1, clip=1.0),
    "llama_untied": dict(family="llama", embed=30, heads=5, kv_heads=1, head=6, ffn=37, vocab=67,
                         context=23, tokens=23, batch=4, eps=1e-6, rope=500000.0, tied=False,
                         lr=5e-4, betas=(0.9, 0.95), decay=0.2, clip=0.25),
    "llama_options": dict(family="llama", embed=24, heads=4, kv_heads=2, head=10, ffn=40, vocab=53,
                          context=32, tokens=21, batch=6, eps=1e-6, rope=10000.0, tied=False,
                          bias=True, qk_norm=True, lr=1e-3, betas=(0.9, 0.95), decay=0.1,
                          clip=100.0),
    "llama_scaled": dict(family="llama", embed=16, heads=2, kv_heads=2, head=8, ffn=24, vocab=61,
                         context=64, tokens=33, batch=2, eps=1e-5, rope=500.0, scaling=LLAMA3,
                         tied=True, lr=1e-3, betas=(0.9, 0.95), decay=0.1, clip=1.0),
}


# ---- safetensors: 8 bytes length, JSON of {name: dtype, shape, data_offsets}, data ---------------

def write_tensors(path, tensors, letter):
    header, blob = {}, b""
    for name in sorted(tensors):
        values = tensors[name].detach().flatten().tolist()
        data = struct.pack("<%d%s" % (len(values), letter), *values)
        header[name] = {"dtype": {"f": "F32", "d": "F64"}[letter],
                        "shape": list(tensors[name].shape),
                        "data_offsets": [len(blob), len(blob) + len(data)]}
        blob += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + blob)


# ---- parameters, under the hub's names and in its layouts ----------------------------------------

def shapes_gpt(c):
    """name -> (shape, standard deviation); GPT-2's matrices are [in, out], q k v joined."""
    e, width = c["embed"], c["heads"] * c["head"]
    yield "wte.weight", (c["vocab"], e), 0.3
    yield "wpe.weight", (c["context"], e), 0.2
    for layer in range(2):
        at = "h.%d." % layer
        for norm in ("ln_1", "ln_2"):
            yield at + norm + ".weight", (e,), None
            yield at + norm + ".bias", (e,), 0.1
        for name, rows, columns in (("attn.c_attn", e, 3 * width), ("attn.c_proj", width, e),
                                    ("mlp.c_fc", e, c["ffn"]), ("mlp.c_proj", c["ffn"], e)):
            yield at + name + ".weight", (rows, columns), 1.2 / math.sqrt(rows)
            yield at + name + ".bias", (columns,), 0.1
    yield "ln_f.weight", (e,), None
    yield "ln_f.bias", (e,), 0.1
    if not c["tied"]:
        yield "lm_head.weight", (c["vocab"], e), 0.3


def shapes_llama(c):
    """Matrices are [out, in]."""
    e, q, kv = c["embed"], c["heads"] * c["head"], c["kv_heads"] * c["head"]
    yield "model.embed_tokens.weight", (c["vocab"], e), 0.3
    for layer in range(2):
        at = "model.layers.%d." % layer
        for name, rows, columns, bias in (
                ("self_attn.q_proj", q, e, c.get("bias")),
                ("self_attn.k_proj", kv, e, c.get("bias")),
                ("self_attn.v_proj", kv, e, c.get("bias")), ("self_attn.o_proj", e, q, False),
                ("mlp.gate_proj", c["ffn"], e, False), ("mlp.up_proj", c["ffn"], e, False),
                ("mlp.down_proj", e, c["ffn"], False)):
            yield at + name + ".weight", (rows, columns), 1.2 / math.sqrt(columns)
            if bias:
                yield at + name + ".bias", (rows,), 0.1
        if c.get("qk_norm"):
            yield at + "self_attn.q_norm.weight", (c["head"],), None
            yield at + "self_attn.k_norm.weight", (c["head"],), None
        yield at + "input_layernorm.weight", (e,), None
        yield at + "post_attention_layernorm.weight", (e,), None
    yield "model.norm.weight", (e,), None
    if not c["tied"]:
        yield "lm_head.weight", (c["vocab"], e), 0.3


def initial(c, rand):
    """Normal numbers (around 1 for norms), rounded to float so that both precisions start alike."""
    out = {}
    for name, shape, std in {"gpt": shapes_gpt, "llama": shapes_llama}[c["family"]](c):
        mean, std = (1.0, 0.2) if std is None else (0.0, std)
        values = [rand.gauss(mean, std) for _ in range(math.prod(shape))]
        tensor = torch.tensor(values, dtype=torch.float64).reshape(shape)
        out[name] = tensor.to(torch.float32).to(torch.float64).requires_grad_()
    return out


def buffers(c):
    """What GPT-2's files of the hub hold beside weights: the causal mask of each layer."""
    if c.get("prefix", "") == "":
        return {}
    mask = torch.ones(1, 1, c["context"], c["context"]).tril()
    return {c["prefix"] + "h.%d.attn.bias" % layer: mask for layer in range(2)}


# ---- the models: tokens [B, T] -> logits [B, T, V] ------------------------------------------------

def layer_norm(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdim=True)
    return centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + eps) * weight + bias


def rms_norm(x, weight, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def attend(q, k, v):
    """q [B, T, H, D], k and v [B, T, K, D]; query head h reads head h // (H / K); causal."""
    share, tokens = q.shape[2] // k.shape[2], q.shape[1]
    k, v = k.repeat_interleave(share, 2), v.repeat_interleave(share, 2)
    scores = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(q.shape[3])
    later = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    weights = torch.softmax(scores.masked_fill(later, float("-inf")), -1)
    return torch.einsum("bhij,bjhd->bihd", weights, v)


def frequencies(c):
    """Angle a position of pair j; scaled as Llama 3.1 does where asked for."""
    out = [c["rope"] ** (-2.0 * j / c["head"]) for j in range(c["head"] // 2)]
    scaling = c.get("scaling")
    if scaling is None:
        return out
    for j, frequency in enumerate(out):
        turns = scaling["original"] * frequency / (2 * math.pi)
        share = (turns - scaling["low"]) / (scaling["high"] - scaling["low"])
        share = min(1.0, max(0.0, share))
        out[j] = (1 - share) * frequency / scaling["factor"] + share * frequency
    return out


def rope(x, c):
    """x [B, T, H, D]: pairs (j, j + D / 2) turn by position * frequency(j)."""
    position = torch.arange(x.shape[1], dtype=torch.float64)
    angle = position[:, None] * torch.tensor(frequencies(c), dtype=torch.float64)[None, :]
    cos, sin = torch.cos(angle)[None, :, None, :], torch.sin(angle)[None, :, None, :]
    low, high = x.chunk(2, -1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), -1)


def gpt(c, w, tokens):
    batch, length = tokens.shape
    x = w["wte.weight"][tokens] + w["wpe.weight"][torch.arange(length)]
    for layer in range(2):
        at = "h.%d." % layer
        p = lambda name: w[at + name]
        h = layer_norm(x, p("ln_1.weight"), p("ln_1.bias"), c["eps"])
        qkv = h @ p("attn.c_attn.weight") + p("attn.c_attn.bias")
        q, k, v = (part.reshape(batch, length, c["heads"], c["head"]) for part in qkv.chunk(3, -1))
        a = attend(q, k, v).reshape(batch, length, -1)
        x = x + a @ p("attn.c_proj.weight") + p("attn.c_proj.bias")
        h = layer_norm(x, p("ln_2.weight"), p("ln_2.bias"), c["eps"])
        u = gelu(h @ p("mlp.c_fc.weight") + p("mlp.c_fc.bias"))
        x = x + u @ p("mlp.c_proj.weight") + p("mlp.c_proj.bias")
    h = layer_norm(x, w["ln_f.weight"], w["ln_f.bias"], c["eps"])
    return h @ w["wte.weight" if c["tied"] else "lm_head.weight"].T


def llama(c, w, tokens):
    batch, length = tokens.shape
    x = w["model.embed_tokens.weight"][tokens]
    for layer in range(2):
        at = "model.layers.%d." % layer

        def project(h, name):
            y = h @ w[at + name + ".weight"].T
            return y + w[at + name + ".bias"] if at + name + ".bias" in w else y

        def heads(h, name, count, norm):
            y = project(h, name).reshape(batch, length, count, c["head"])
            return rms_norm(y, w[at + norm], c["eps"]) if at + norm in w else y

        h = rms_norm(x, w[at + "input_layernorm.weight"], c["eps"])
        q = rope(heads(h, "self_attn.q_proj", c["heads"], "self_attn.q_norm.weight"), c)
        k = rope(heads(h, "self_attn.k_proj", c["kv_heads"], "self_attn.k_norm.weight"), c)
        v = heads(h, "self_attn.v_proj", c["kv_heads"], "")
        x = x + project(attend(q, k, v).reshape(batch, length, -1), "self_attn.o_proj")
        h = rms_norm(x, w[at + "post_attention_layernorm.weight"], c["eps"])
        g, u = project(h, "mlp.gate_proj"), project(h, "mlp.up_proj")
        x = x + project(g * torch.sigmoid(g) * u, "mlp.down_proj")
    h = rms_norm(x, w["model.norm.weight"], c["eps"])
    return h @ w["model.embed_tokens.weight" if c["tied"] else "lm_head.weight"].T


# ---- training ------------------------------------------------------------------------------------

def rate(c, step):
    """Linear warm-up, then a cosine that reaches the final share at the last step."""
    if step < WARMUP:
        return c["lr"] * (step + 1) / WARMUP
    t = (step - WARMUP) / (STEPS - 1 - WARMUP)
    return c["lr"] * (FINAL + (1 - FINAL) * 0.5 * (1 + math.cos(math.pi * t)))


def norm_of(weights):
    return math.sqrt(sum((w.grad ** 2).sum().item() for w in weights.values()))


def optimizer_of(c, weights):
    """Matrices decay, norms and biases do not."""
    matrices = [w for w in weights.values() if w.dim() == 2]
    vectors = [w for w in weights.values() if w.dim() == 1]
    groups = [{"params": matrices, "weight_decay": c["decay"]},
              {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=c["lr"], betas=c["betas"], eps=c.get("adam_eps", 1e-8))


def one_step(c, weights, windows):
    tokens, targets = windows[:, :-1], windows[:, 1:]
    for w in weights.values():
        w.grad = None
    logits = {"gpt": gpt, "llama": llama}[c["family"]](c, weights, tokens)
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, c["vocab"]), targets.reshape(-1))
    loss.backward()
    return loss.item(), norm_of(weights)


def train(name, c, folder):
    rand = random.Random("planc " + name)
    at = lambda suffix: os.path.join(folder, name + suffix)
    length = c["tokens"]
    data = [min(int(rand.expovariate(4.0 / c["vocab"])), c["vocab"] - 1)
            for _ in range(c["batch"] * length + 1)]
    windows = torch.tensor([data[i * length:(i + 1) * length + 1] for i in range(c["batch"])])
    weights = initial(c, rand)
    named = lambda pick: {(c.get("prefix", "") if n != "lm_head.weight" else "") + n: pick(w)
                          for n, w in weights.items()}
    with open(at(".bin"), "wb") as file:
        file.write(bytes(data))
    write_tensors(at(".init.safetensors"), named(lambda w: w) | buffers(c), "f")
    optimizer = optimizer_of(c, weights)
    with open(at(".log"), "w") as log:
        for step in range(STEPS):
            loss, norm = one_step(c, weights, windows)
            log.write(json.dumps({"step": step, "loss": loss, "grad_norm": norm}) + "\n")
            if step == 0:
                write_tensors(at(".gradients.safetensors"), named(lambda w: w.grad), "d")
            if c["clip"] is not None:
                for w in weights.values():
                    w.grad *= min(1.0, c["clip"] / norm)
            for group in optimizer.param_groups:
                group["lr"] = rate(c, step)
            optimizer.step()
    write_tensors(at(".weights.safetensors"), named(lambda w: w), "d")
    count = sum(w.numel() for w in weights.values())
    print("%-14s %6d parameters, loss %.4f, last norm %.3f" % (name, count, loss, norm))


def main():
    folder = os.path.join(HERE, "data")
    os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(1)
    for name in sys.argv[1:] or CASES:
        train(name, CASES[name], folder)


if __name__ == "__main__":
    main()
