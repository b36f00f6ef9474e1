# SPDX-License-Identifier: Apache-2.0
# Row `row` of a table of configurations (README.md) as a plan. Architecture `grouped` is gpt with
# fewer heads of keys and values.
BEGIN { FS = "\t" }

# Parts of `text`, separated as in the table, a line each.
function lines(text, separator,    part, n, i) {
	n = split(text, part, separator)
	for (i = 1; i <= n; i++)
		print part[i]
}

# "pp = 8, dp = 4": devices
function product(axes,    part, n, i, all) {
	all = 1
	n = split(axes, part, /[^0-9]+/)
	for (i = 1; i <= n; i++)
		all *= part[i] == "" ? 1 : part[i]
	return all
}

function grouped() {
	print "architecture grouped {"
	print "size { layers, embed, heads, kv_heads, head = embed / heads, ffn, vocab, context }"
	print "option { dropout : share, norm_eps : factor, tied_embeddings : bool }"
	print "tensor dims [heads, kv_heads, ffn, vocab]"
	print "p = lookup(position, context -> embed) as \"wpe\""
	print "e = lookup(tokens, vocab -> embed) as \"wte\" + p"
	print "x = dropout(e, rate = dropout)"
	print "repeat layers as \"h.{layer}\" {"
	print "attention {"
	print "h = layernorm(x, eps = norm_eps) as \"ln_1\""
	print "q = linear(h, embed -> [heads, head], bias = true) as \"attn.q\""
	print "k = linear(h, embed -> [kv_heads, head], bias = true) as \"attn.k\""
	print "v = linear(h, embed -> [kv_heads, head], bias = true) as \"attn.v\""
	print "core { a = attend(q, k, v, mask = causal, dropout = dropout) }"
	print "o = linear(a, [heads, head] -> embed, bias = true, init = residual) as \"attn.o\""
	print "x = x + dropout(o, rate = dropout)"
	print "}"
	print "mlp {"
	print "h = layernorm(x, eps = norm_eps) as \"ln_2\""
	print "u = linear(h, embed -> ffn, bias = true) as \"mlp.c_fc\""
	print "d = linear(gelu(u), ffn -> embed, bias = true, init = residual) as \"mlp.c_proj\""
	print "x = x + dropout(d, rate = dropout)"
	print "}"
	print "}"
	print "h = layernorm(x, eps = norm_eps) as \"ln_f\""
	print "logits = linear(h, embed -> vocab) as \"lm_head\""
	print "loss = cross_entropy(logits, targets)"
	print "}"
}

NR == row {
	print "plan measured"
	print "edition 1"
	print "import gpu from \"std/devices/nvidia.plan\""
	print "import arch from \"std/architectures.plan\""
	if ($3 == "grouped")
		grouped()
	printf "cluster box { node { devices = %d of gpu.%s } }\n", product($5), $10
	printf "mesh {\n"
	lines($5, ", ")
	printf "}\nmodel m : %s {\n%s\n}\n", $3 == "grouped" ? $3 : "arch." $3, $4
	if ($7 ~ /^preset /)
		print "precision = " substr($7, 8)
	else
		print "precision { " $7 " }"
	print "memory {"
	lines($8, "; ")
	print "}"
	if ($6 != "") {
		print "split {"
		lines($6, "; ")
		print "}"
	}
	printf "train {\n%s\n", $9
	print "steps = 10, seed = 1, data = tokens(\"data.bin\")"
	print "optimizer = adamw { lr = 1e-4, weight_decay = 0.1 }"
	print "}"
}
