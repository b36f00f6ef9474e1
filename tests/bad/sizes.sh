# SPDX-License-Identifier: Apache-2.0
# Sizes that cannot be, or do not go together.

# over 64 bits: E0114; over the device: E0401
for setting in layers embed heads ffn vocab; do
	[ $setting = heads ] ||
		edit "${setting}_huge" 1 E0114 "s/^  $setting  *= .*/  $setting = 4e18/"
	edit "${setting}_literal" 1 E0114 "s/^  $setting  *= .*/  $setting = 9223372036854775808/"
	edit "${setting}_zero" 1 E0300 "s/^  $setting  *= .*/  $setting = 0/"
	edit "${setting}_negative" 1 E0300 "s/^  $setting  *= .*/  $setting = -1/"
	edit "${setting}_fraction" 1 E0113 "s/^  $setting  *= .*/  $setting = 1.5/"
done
edit embed_large 5 E0401 's/^  embed .*/  embed = 16384/; s/^  vocab .*/  vocab = 128000/'
edit batch_huge 1 E0114 's/= 8 seq/= 4e18 seq/; s/= 2 seq/= 2e18 seq/'
edit tokens_huge 1 E0114 's/= 16 tokens/= 4e18 tokens/; s/context .*/context = 4e18/'
edit micro_huge 5 E0401 's/= 8 seq/= 8e6 seq/; s/= 2 seq/= 4e6 seq/'
edit steps_huge 1 E0114 's/= 10$/= 4e18/'
edit steps_many 0 '' 's/= 10$/= 1e17/'
edit memory_huge 1 E0114 's/memory = 1 GiB/memory = 1e30 TiB/'
edit reserve_huge 5 E0401 's/reserve = 1 MiB/reserve = 4e6 TiB/'
edit product 1 E0114 's/layers .*/layers = 3e9 * 3e9 * 3e9/'
edit devices_huge 1 E0301 's/devices = 2/devices = 4e18/'
edit devices_product 1 E0114 's/devices = 2/devices = 4e18/; s/nodes = 1/nodes = 4e18/'
edit mesh_huge 1 'E0301 E0322' 's/dp = 2 within node/dp = 4e18/'
edit mesh_product 1 E0114 's/dp = 2 within node/dp = 4e18, tp = 4e18/
	s/over dp }/over dp, tensor over tp }/'

# zero and negative
edit nodes_zero 1 E0115 's/nodes = 1/nodes = 0/'
edit devices_zero 1 E0115 's/devices = 2/devices = 0/'
edit axis_zero 1 E0300 's/dp = 2 within/dp = 0 within/'
edit axis_negative 1 E0300 's/dp = 2 within/dp = -2 within/'
edit batch_zero 1 E0115 's/= 8 seq/= 0 seq/'
edit micro_zero 1 E0115 's/= 2 seq/= 0 seq/'
edit micro_negative 1 E0115 's/= 2 seq/= -2 seq/'
edit tokens_zero 1 E0115 's/= 16 tokens/= 0 tokens/'
edit steps_zero 1 E0115 's/= 10$/= 0/'
edit rate_negative 1 E0115 's/1e-3/-1e-3/'
edit memory_zero 1 E0115 's/memory = 1 GiB/memory = 0 GiB/'
edit reserve_negative 1 E0115 's/reserve = 1 MiB/reserve = -1 MiB/'

# units
edit unit_bits 1 E0110 's/1 GiB/1 Gb/'
edit unit_none 1 E0111 's/1 MiB/1/'
edit unit_time 1 E0112 's/1 MiB/1 s/'
edit unit_tokens 1 E0112 's/= 8 seq/= 8 tokens/'
edit unit_word 1 E0203 's/= 10$/= ten/'
edit byte_fraction 1 E0113 's/1 MiB/0.1 MiB/'
edit string_for_count 1 E0112 's/= 10$/= "10"/'

# what has to divide, and the mesh
edit batch_divides 1 E0322 's/= 8 seq/= 6 seq/'
edit batch_small 1 E0322 's/= 8 seq/= 1 seq/'
edit mesh_small 1 E0301 's/devices = 2/devices = 4/'
edit mesh_large 1 'E0301 E0322' 's/dp = 2 within/dp = 3 within/'
edit rest_remainder 1 E0301 's/dp = 2 within node/dp = rest, tp = 3/
	s/over dp }/over dp, tensor over tp }/'
edit dim_divides 1 'E0310' 's/dp = 2 within node/tp = 2/; s/data over dp/tensor over tp/'
edit vocab_divides 1 E0311 's/dp = 2 within node/tp = 2/; s/data over dp/tensor over tp/
	s/kv_heads = 1/kv_heads = 2/; s/vocab .*/vocab = 257/'
edit head_remainder 1 E0210 's/heads    = 2/heads = 3/'
edit group_remainder 1 E0213 's/heads    = 2/heads = 4/; s/kv_heads = 1/kv_heads = 3/'
edit axes 0 '' "s/dp = 2 within node/dp = 2$(
	awk 'BEGIN { for (i = 0; i < 200; i++) printf ", a%d = 1", i }'
)/"
