/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_draw.h"

#include <stddef.h>
#include <string.h>

/* ---- random numbers ------------------------------------------------------------------------ */

static uint64_t state;

static uint64_t draw(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static int below(int n)
{
	return (int)(draw() % (uint64_t)n);
}

static int from(int least, int most)
{
	return least + below(most - least + 1);
}

static bool one_in(int n)
{
	return below(n) == 0;
}

#define PICK(list) ((list)[below((int)(sizeof(list) / sizeof *(list)))])

static int divisor(int of, int most)
{
	int d;
	do
		d = from(1, most < of ? most : of);
	while (of % d != 0);
	return d;
}

bool power_of_two(int n)
{
	return (n & (n - 1)) == 0;
}

/* ---- rows ---------------------------------------------------------------------------------- */

const struct way *way_of(const struct layout *layout, enum kind kind)
{
	return &ways[layout->way[kind]];
}

int micro_batches(const struct base *base, const struct layout *layout)
{
	return base->batch / layout->dp / layout->micro;
}

int zero_stage(const struct layout *layout)
{
	const char *text = way_of(layout, ZERO)->text;
	return layout->dp > 1 && text[0] != '\0' ? text[strlen("zero ")] - '0' : 0;
}

bool in_groups(const struct layout *layout)
{
	return way_of(layout, DATA)->axes && zero_stage(layout) > 0 && !way_of(layout, ZERO)->axes;
}

static bool is(const struct layout *l, enum kind kind, const char *prefix)
{
	return strncmp(way_of(l, kind)->text, prefix, strlen(prefix)) == 0;
}

/* The dim of `layer.mlp.c_fc : ffn -> whole` is one that `over tp dims [heads, ffn]` cuts. */
static bool cuts(const struct way *tensor, const struct way *narrow)
{
	const char *dim = strstr(narrow->text, " : "), *list = strchr(tensor->text, '[');
	if (dim == NULL || list == NULL)
		return true;
	size_t length = strcspn(dim + 3, " ");
	for (const char *at = list + 1; *at != '\0'; at++)
		if (strncmp(at, dim + 3, length) == 0 && strchr(",]", at[length]) != NULL &&
		    strchr("[ ", at[-1]) != NULL)
			return true;
	return false;
}

static bool two_factors(const struct base *base, int most)
{
	for (int dp = 4; dp <= most; dp += 2)
		if (base->batch % dp == 0)
			return true;
	return false;
}

static bool pipeline_goes(const struct base *b, const struct layout *l, const struct way *way)
{
	int parts = way->stages * way->chunks;
	if (l->tp * way->stages > RANKS_MOST)
		return false;
	if (way->layers != 0)
		return b->layers == way->layers;
	return way->spread ? b->layers > parts : b->layers % parts == 0;
}

static bool recompute_goes(const struct layout *l, const struct way *way)
{
	return l->pp >= way->least_stages && (!way->most_stages || l->pp <= way->most_stages);
}

/* Whether a row goes with what is drawn before it, in the order of draw_layout. */
static bool goes(const struct base *b, const struct layout *l, const struct way *way)
{
	bool axes = l->way[DATA] >= 0 && way_of(l, DATA)->axes;
	bool has = way->kind == ARCH || !way->arch || (way->arch & b->arch);
	if (!has || (way->untied && b->tied))
		return false;
	switch (way->kind) {
	case TENSOR:
		return !way->axes || b->unit % 4 == 0;
	case NARROW:
		return way->text[0] == '\0' || (l->tp > 1 && cuts(way_of(l, TENSOR), way));
	case PIPELINE:
		return pipeline_goes(b, l, way);
	case DATA:
		return !way->axes || two_factors(b, RANKS_MOST / l->tp / l->pp);
	case ZERO:
		return axes || !way->axes;
	case ATTENTION:
		return !way_of(l, RECOMPUTE)->stored || strstr(way->text, "stored");
	case RECOMPUTE:
		return recompute_goes(l, way);
	default:
		return true;
	}
}

static int draw_way(const struct base *b, const struct layout *l, enum kind kind)
{
	int total = 0, i = 0;
	for (int k = 0; k < nways; k++)
		if (ways[k].kind == kind && goes(b, l, &ways[k]))
			total += ways[k].weight;
	for (int left = below(total);; i++) {
		if (ways[i].kind != kind || !goes(b, l, &ways[i]))
			continue;
		if (left < ways[i].weight)
			return i;
		left -= ways[i].weight;
	}
}

/* The first row of a kind that goes and begins with this text. */
static int way_like(const struct base *b, const struct layout *l, enum kind kind, const char *text)
{
	int i = 0;
	while (ways[i].kind != kind || !goes(b, l, &ways[i]) ||
	       strncmp(ways[i].text, text, strlen(text)) != 0)
		i++;
	return i;
}

/* ---- the model and its training ------------------------------------------------------------ */

/* Key/value heads divide heads, and go over every number of ranks that divides the unit: cut, or
 * in copies. */
static int draw_kv_heads(const struct base *b)
{
	if (one_in(2))
		return b->heads;
	if (b->unit % 2 == 0 && one_in(2))
		return one_in(2) ? 2 : 1;
	return one_in(4) ? 1 : b->unit;
}

/* A norm over fewer elements is ill-conditioned. */
enum { NARROWEST = 12 };

static void draw_sizes(struct base *b)
{
	static const int units[] = {2, 2, 3, 3, 4, 4, 4, 1};
	static const int heads[] = {3, 5, 5, 7, 4, 8};
	static const int widths[] = {3, 4, 5, 6, 8};
	static const int layers[] = {1, 2, 3, 4, 5, 6};
	b->unit = PICK(units);
	b->layers = PICK(layers);
	int head = b->arch == GPT ? PICK(heads) : 2 * from(2, 4);
	b->heads = b->unit * (one_in(3) ? 2 : 1);
	while (b->heads * head < NARROWEST)
		b->heads += b->unit;
	b->kv_heads = b->arch == LLAMA ? draw_kv_heads(b) : b->heads;
	b->embed = b->heads * head;
	b->ffn = one_in(4) && b->arch == GPT ? 4 * b->embed : b->unit * PICK(widths) * 3;
	b->vocab = from(58, 66);
	if (b->vocab % b->unit != 0 || one_in(2))
		b->pad = b->unit * from(1, 9);
	b->tokens = one_in(3) ? from(3, 11) : b->unit * from(1, 3) + (b->unit == 1);
	b->context = b->tokens + from(0, 5);
}

struct base draw_base(uint64_t number)
{
	static const int batches[] = {4, 6, 8, 12, 12, 24, 7, 10};
	static const int drops[] = {0, 10, 25};
	static const char *const clips[] = {"", "  clip         = 1.0\n",
					    "  clip         = 0.2\n"};
	struct base b = {.steps = number % 4 == 1 ? 20 : 2};
	struct layout none = {.tp = 1, .pp = 1};
	none.way[DATA] = -1;
	state = number * 2 + 1;
	b.way[ARCH] = draw_way(&b, &none, ARCH);
	b.arch = (enum arch)ways[b.way[ARCH]].arch;
	b.way[PRECISION] = draw_way(&b, &none, PRECISION);
	draw_sizes(&b);
	b.dropout = PICK(drops);
	b.tied = b.arch != BRAID && one_in(2);
	b.qkv_bias = one_in(2);
	b.qk_norm = one_in(2);
	b.masked = one_in(2);
	b.validate = !b.masked && one_in(2);
	b.batch = PICK(batches);
	b.warmup = from(0, 2);
	b.seed = from(1, 1000);
	b.clip = PICK(clips);
	/* six layers of width 24 multiply a difference by a thousand in 20 steps at 1e-3 */
	b.rate = strstr(ways[b.way[PRECISION]].text, "bf16") != NULL ? "1e-4" : "1e-3";
	return b;
}

/* ---- the layout ---------------------------------------------------------------------------- */

static int draw_lanes(int dp, int micro_batches)
{
	int lanes = dp;
	if (!power_of_two(dp) || one_in(2))
		return 0;
	while (micro_batches % (2 * lanes / dp) == 0 && one_in(2))
		lanes *= 2;
	return lanes;
}

static void draw_tensor(const struct base *b, struct layout *l)
{
	l->way[TENSOR] = draw_way(b, l, TENSOR);
	const struct way *way = way_of(l, TENSOR);
	l->tp = way->axes ? 4 : way->none || one_in(8) ? 1 : divisor(b->unit, b->unit);
	l->way[NARROW] = draw_way(b, l, NARROW);
	l->sequence = l->tp > 1 && one_in(2);
	l->copies = 1;
	bool cut = strchr(way->text, '[') == NULL || strstr(way->text, "kv_heads") != NULL;
	if (b->arch == LLAMA && cut && b->kv_heads % l->tp != 0)
		l->copies = l->tp / b->kv_heads;
}

static void draw_data(const struct base *b, struct layout *l)
{
	int most = RANKS_MOST / (l->tp * l->pp);
	l->way[DATA] = draw_way(b, l, DATA);
	do
		l->dp = divisor(b->batch, most);
	while (way_of(l, DATA)->axes && (l->dp < 4 || l->dp % 2 != 0));
	l->shard = l->dp;
	if (way_of(l, DATA)->axes)
		do
			l->shard = divisor(l->dp, l->dp);
		while (l->shard == 1 || l->shard == l->dp);
	l->way[ZERO] = draw_way(b, l, ZERO);
	l->way[REDUCE] = draw_way(b, l, REDUCE);
}

struct layout draw_layout(const struct base *b, uint64_t seed)
{
	struct layout l = {.tp = 1, .pp = 1};
	memcpy(l.way, b->way, sizeof l.way);
	state = ~seed;
	l.way[DATA] = -1;
	draw_tensor(b, &l);
	l.way[PIPELINE] = draw_way(b, &l, PIPELINE);
	l.pp = way_of(&l, PIPELINE)->stages;
	draw_data(b, &l);
	l.micro = divisor(b->batch / l.dp, b->batch / l.dp);
	if (l.micro * b->tokens % l.tp != 0)
		l.sequence = false;
	l.lanes = draw_lanes(l.dp, micro_batches(b, &l));
	l.way[RECOMPUTE] = draw_way(b, &l, RECOMPUTE);
	l.way[ATTENTION] = draw_way(b, &l, ATTENTION);
	l.order = below(6);
	l.threads = l.dp * l.tp * l.pp <= 2 && one_in(2) ? from(2, 3) : 1;
	return l;
}

/* ---- twins --------------------------------------------------------------------------------- */

struct layout layout_alone(const struct base *b)
{
	struct layout l = {.dp = 1, .shard = 1, .tp = 1, .pp = 1, .micro = 1, .copies = 1,
			   .threads = 1};
	memcpy(l.way, b->way, sizeof l.way);
	for (enum kind kind = DATA; kind < NKINDS; kind++)
		l.way[kind] = way_like(b, &l, kind, kind == DATA ? "over dp" : "");
	return l;
}

/* Sums of gradients are rounded to bf16: as each rank keeps them; where they are sent only. */
static bool narrow_sums(const struct layout *l)
{
	static const char *const texts[] = {"16b", "pure", "gradients = bf16"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (strstr(way_of(l, PRECISION)->text, texts[i]) != NULL)
			return true;
	return false;
}

static bool narrow_wire(const struct layout *l)
{
	return strstr(way_of(l, PRECISION)->text, "gradient_wire = bf16") != NULL;
}

/* Slices in groups of data ranks are summed in another order than without slices: unless groups
 * are whole subtrees, each sum is made once, and what a group has summed is not rounded. */
static bool sums_alike(const struct base *b, const struct layout *l, bool each)
{
	bool once = (!each || micro_batches(b, l) == 1) && !narrow_sums(l) && !narrow_wire(l);
	if (!in_groups(l) || (each && zero_stage(l) == 1))
		return true;
	return once && power_of_two(l->shard) && !way_of(l, DATA)->outer;
}

/* One rank that adds lanes rounds after each two, a sum over ranks rounds once. */
static bool lanes_alike(const struct layout *l)
{
	return power_of_two(l->dp) && !narrow_wire(l) && !narrow_sums(l);
}

/* A layout without ZeRO, pipeline and recompute gets one of them, or other data ranks. */
static void other_plan(const struct base *b, struct layout *l, bool each)
{
	if (l->dp > 1 && lanes_alike(l) && !each) {
		l->lanes = l->lanes ? l->lanes : l->dp;
		l->dp = l->shard = 1;
		l->way[DATA] = way_like(b, l, DATA, "over dp");
	} else if (l->dp > 1) {
		bool axes = way_of(l, DATA)->axes;
		l->way[ZERO] = way_like(b, l, ZERO, axes ? "zero 1 over rep" : "zero 1 over dp");
	} else if (b->layers > 1 && 2 * l->tp <= RANKS_MOST) {
		l->pp = 2;
		do
			l->way[PIPELINE] = draw_way(b, l, PIPELINE);
		while (way_of(l, PIPELINE)->stages != 2);
	}
}

struct layout layout_twin(const struct base *b, const struct layout *of)
{
	struct layout l = *of;
	bool each = of->dp > 1 && (is(of, REDUCE, "{ reduce = micro_batch") ||
				   (zero_stage(of) > 1 && way_of(of, REDUCE)->text[0] == '\0'));
	bool other = l.pp > 1 || way_of(of, RECOMPUTE)->text[0] != '\0' || zero_stage(of) > 0;
	l.pp = 1;
	l.way[REDUCE] = way_like(b, &l, REDUCE, each ? "{ reduce = micro_batch" : "");
	l.way[PIPELINE] = way_like(b, &l, PIPELINE, "");
	l.way[RECOMPUTE] = way_like(b, &l, RECOMPUTE, "");
	if (!sums_alike(b, of, each))
		l.way[ZERO] = way_like(b, &l, ZERO, zero_stage(of) == 3 ? "zero 2" : "zero 3");
	else
		l.way[ZERO] = way_like(b, &l, ZERO, "");
	if (way_of(&l, ZERO)->text[0] != '\0' && !each)
		l.way[REDUCE] = way_like(b, &l, REDUCE, "{ reduce = step");
	if (!other)
		other_plan(b, &l, each);
	return l;
}

/* ---- what a layout shows ------------------------------------------------------------------- */

#define TRAIT(text, condition) text,
static const char *const traits[] = {
#include "ways.def"
};
#undef TRAIT

enum { TRAITS = sizeof traits / sizeof *traits };

/* Rows that change nothing here do not count. */
static bool counts(const struct base *b, const struct layout *l, enum kind kind)
{
	if (kind == ZERO || kind == DATA)
		return l->dp > 1;
	if (kind == REDUCE)
		return l->dp > 1 && micro_batches(b, l) > 1;
	return kind != TENSOR || l->tp > 1 || way_of(l, TENSOR)->none;
}

int features(const struct base *b, const struct layout *l, bool *has)
{
	int m = micro_batches(b, l), n = nways;
	memset(has, 0, FEATURES_MOST * sizeof *has);
	for (enum kind kind = 0; kind < NKINDS; kind++)
		has[l->way[kind]] = counts(b, l, kind);
#define TRAIT(text, condition) has[n++] = (condition);
#include "ways.def"
#undef TRAIT
	return n;
}

int nfeatures(void)
{
	return nways + TRAITS;
}

const char *feature_kind(int feature)
{
#define KIND(name) #name,
	static const char *const kinds[] = {KINDS(KIND)};
#undef KIND
	return feature < nways ? kinds[ways[feature].kind] : "TRAIT";
}

const char *feature_text(int feature)
{
	if (feature >= nways)
		return traits[feature - nways];
	return ways[feature].text[0] != '\0' ? ways[feature].text : "none";
}
