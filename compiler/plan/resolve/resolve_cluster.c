/* SPDX-License-Identifier: Apache-2.0 */
/* cluster, device, link, mesh: what there is and how it is numbered. */
#include <string.h>

#include "base/num.h"
#include "plan/ratio.h"
#include "plan/resolve/resolve.h"

/* Statements of a cluster that are no settings of the schema. */
struct cluster_parts {
	const struct node *fabric, *node, *node_fabric, *devices;
};

static const char *const device_kinds[] = {"device", NULL};
static const char *const link_kinds[] = {"link", NULL};

/* --- device ----------------------------------------------------------------------------- */

static const char *const rates[] = {"fp64", "fp32", "tf32", "bf16", NULL};

static void take_flops(struct frame *frame, const struct node *body)
{
	for (const struct node *node = body ? body->first : NULL; node; node = node->next) {
		const struct name *word =
			node->kind == NODE_SETTING ? path_word(node->first) : NULL;
		uint32_t k = 0;

		while (rates[k] && !name_is(word, rates[k]))
			k++;
		if (rates[k])
			frame_slot(frame, schema_setting(BLOCK_device, rates[k]), node);
		else
			misplaced(frame->r, node, "block `flops`", rates, 4);
	}
}

static bool device_take(struct frame *frame, const struct node *statement)
{
	if (statement->kind != NODE_BLOCK || !node_path_is(statement->first, "flops"))
		return false;
	take_flops(frame, node_find(statement, NODE_BODY));
	return true;
}

static void resolve_device(struct resolve *r, const struct node *of)
{
	static const char *const more[] = {"flops", NULL};
	struct plan *plan = r->plan;
	const struct node *path = node_find(of, NODE_PATH);
	const struct node *device = path ? member_find(r, path, device_kinds) : NULL;
	struct frame frame = {.r = r, .id = BLOCK_device, .into = &plan->device,
			      .title = "block `device`", .more = more, .span = of->span,
			      .take = device_take};

	if (!device) {
		plan->device.memory = value_poison(of->span);
		return;
	}
	plan->device_name = node_find(device, NODE_NAME)->name->text;
	plan->device_span = path->span;
	frame_take(&frame, node_find(device, NODE_BODY));
	frame_take(&frame, node_find(of, NODE_BODY));
	frame_close(&frame);
}

/* --- link ------------------------------------------------------------------------------- */

void resolve_link_values(struct resolve *r, const struct node *link, const struct node *changes,
			 struct span at, struct plan_link *out)
{
	struct frame frame = {.r = r, .id = BLOCK_link, .into = out, .title = "block `link`",
			      .span = at};

	frame_take(&frame, node_find(link, NODE_BODY));
	frame_take(&frame, changes ? node_find(changes, NODE_BODY) : NULL);
	frame_close(&frame);
}

/* `fabric = PATH { changes }`. NULL if there is no such link. */
static const char *resolve_link(struct resolve *r, const struct node *statement,
				struct plan_link *link)
{
	const struct node *path = node_child(statement, 1);
	const struct node *found;

	if (path->kind == NODE_ERROR)
		return NULL;
	if (path->kind != NODE_PATH) {
		diag_at(diag_add(r->work->diags, E0112, path->span, "`fabric` is a link"),
			"expected the name of a link");
		return NULL;
	}
	found = member_find(r, path, link_kinds);
	if (!found)
		return NULL;
	resolve_link_values(r, found, statement, path->span, link);
	return node_find(found, NODE_NAME)->name->text;
}

/* --- cluster ---------------------------------------------------------------------------- */

/* Keeps a statement that may stand once. */
static void keep_once(struct resolve *r, const struct node **at, const struct node *statement,
		      const char *name)
{
	if (*at)
		set_twice(r, head_span(*at), head_span(statement), "setting", name);
	else
		*at = statement;
}

static void take_node(struct frame *frame, const struct node *body)
{
	static const char *const names[] = {"devices", "fabric"};
	struct cluster_parts *parts = frame->self;

	for (const struct node *node = body ? body->first : NULL; node; node = node->next) {
		bool setting = node->kind == NODE_SETTING;

		if (setting && node_path_is(node->first, "devices"))
			keep_once(frame->r, &parts->devices, node, "devices");
		else if (setting && node_path_is(node->first, "fabric"))
			keep_once(frame->r, &parts->node_fabric, node, "fabric");
		else if (node->kind == NODE_ALLOW)
			allow(frame->r, node);
		else
			misplaced(frame->r, node, "block `node`", names, 2);
	}
}

static bool cluster_take(struct frame *frame, const struct node *statement)
{
	struct cluster_parts *parts = frame->self;

	if (statement->kind == NODE_SETTING && node_path_is(statement->first, "fabric")) {
		keep_once(frame->r, &parts->fabric, statement, "fabric");
		return true;
	}
	if (statement->kind != NODE_BLOCK || !node_path_is(statement->first, "node"))
		return false;
	keep_once(frame->r, &parts->node, statement, "node");
	if (parts->node == statement)
		take_node(frame, node_find(statement, NODE_BODY));
	return true;
}

/* `devices = N of DEVICE { changes }`. */
static void resolve_devices(struct frame *frame, const struct node *statement)
{
	const struct node *of = node_child(statement, 1);
	struct value *devices = &frame->r->plan->cluster.devices;

	*devices = value_poison(of->span);
	if (of->kind == NODE_ERROR)
		return;
	if (of->kind != NODE_OF) {
		diag_at(diag_add(frame->r->work->diags, E0112, of->span,
				 "`devices` is a number of one device"),
			"expected `N of DEVICE`");
		return;
	}
	*devices = frame_value(frame, of->first, TYPE_COUNT, "devices");
	devices->span = of->span;
	value_least(frame->r, devices, 1, "devices");
	resolve_device(frame->r, of);
}

static void count_devices(struct resolve *r)
{
	struct plan *plan = r->plan;
	const struct value *nodes = &plan->cluster.nodes, *each = &plan->cluster.devices;

	plan->devices = 1;
	if (nodes->poisoned || each->poisoned)
		return;
	if (__builtin_mul_overflow(nodes->i, each->i, &plan->devices)) {
		diag_add(r->work->diags, E0114, nodes->span,
			 "the number of devices does not fit 64 bits");
		plan->devices = 1;
		plan->cluster.nodes.poisoned = true;
	}
}

void resolve_cluster(struct resolve *r, const struct node *block)
{
	static const char *const more[] = {"node", "fabric", NULL};
	struct plan *plan = r->plan;
	struct cluster_parts parts = {0};
	struct frame frame = {.r = r, .id = BLOCK_cluster, .into = &plan->cluster,
			      .title = "block `cluster`", .more = more, .span = head_span(block),
			      .take = cluster_take, .self = &parts};

	if (node_find(block, NODE_NAME))
		plan->cluster_name = node_find(block, NODE_NAME)->name;
	plan->cluster.devices = value_poison(frame.span);
	frame_take(&frame, node_find(block, NODE_BODY));
	frame_close(&frame);
	if (parts.devices)
		resolve_devices(&frame, parts.devices);
	else if (parts.node)
		missing(r, head_span(parts.node), "block `node` needs a setting `devices`");
	else
		missing(r, frame.span, "block `cluster` needs a block `node`");
	if (parts.node_fabric)
		plan->node_link_name = resolve_link(r, parts.node_fabric, &plan->node_link);
	if (parts.fabric)
		plan->cluster_link_name = resolve_link(r, parts.fabric, &plan->cluster_link);
	count_devices(r);
}

/* --- mesh ------------------------------------------------------------------------------- */

struct mesh {
	struct resolve *r;
	struct frame *frame;
	VEC(struct axis) axes;
	VEC(const struct node *) statements;
	VEC(enum state) states;
};

static void axis_size(struct mesh *mesh, uint32_t k);

static uint32_t mesh_axis(const struct mesh *mesh, const struct name *name)
{
	for (uint32_t k = 0; k < mesh->axes.n; k++)
		if (mesh->axes.at[k].name == name)
			return k;
	return NO_ID;
}

/* Sizes of other axes, then names of the file. */
static bool mesh_find(void *self, const struct node *path, struct value *out)
{
	struct mesh *mesh = self;
	const struct name *word = path_word(path);
	uint32_t k = word ? mesh_axis(mesh, word) : NO_ID;
	struct scope outer = frame_scope(mesh->frame);

	if (k == NO_ID)
		return outer.find(outer.self, path, out);
	if (mesh->states.at[k] == STATE_OPEN || mesh->axes.at[k].rest) {
		diag_add(mesh->r->work->diags, E0205, path->span, "`%s` is made from itself",
			 word->text);
		*out = value_poison(path->span);
		return true;
	}
	*out = value_poison(path->span);
	if (!chain_enter(mesh->r, path->span))
		return true;
	axis_size(mesh, k);
	chain_leave(mesh->r);
	*out = value_count(mesh->axes.at[k].size, ORIGIN_FILE);
	out->span = mesh->axes.at[k].size_span;
	return true;
}

/* Size from its expression; 1 where that is faulty, so that no later check repeats it. */
static void axis_size(struct mesh *mesh, uint32_t k)
{
	struct scope scope = {mesh, mesh_find, frame_scope(mesh->frame).names};
	struct axis *axis = &mesh->axes.at[k];
	const struct node *expr = node_child(mesh->statements.at[k], 1);
	struct value value;
	struct span given;

	if (mesh->states.at[k] == STATE_DONE || axis->rest)
		return;
	mesh->states.at[k] = STATE_OPEN;
	value = value_of(expr, &scope, false, mesh->r->work);
	given = value.span;
	value.span = expr->span;
	value = value_as(value, TYPE_COUNT, axis->name->text, mesh->r->work);
	mesh->states.at[k] = STATE_DONE;
	axis->size = 1;
	axis->size_span = given;
	axis->origin = value.origin;
	axis->from = value.from;
	axis->poisoned = value.poisoned || value.i <= 0;
	if (value.poisoned)
		return;
	if (value.i > 0)
		axis->size = value.i;
	else
		diag_at(diag_add(mesh->r->work->diags, E0300, given, "axis `%s` has size %lld",
				 axis->name->text, (long long)value.i),
			"an axis has at least one place");
}

static const struct name *axis_place(struct mesh *mesh, const struct node *place, bool within)
{
	static const char *const words[2] = {"nodes", "node"};
	const struct node *name = place->first;

	if (name && name->name && !name_is(name->name, words[within]))
		unknown_word(mesh->r, name->span, within ? "within" : "across", name->name->text,
			     &words[within], 1);
	return name ? name->name : NULL;
}

static void add_axis(struct mesh *mesh, const struct node *statement)
{
	const struct name *name = path_word(statement->first);
	const struct node *tail = node_child(statement, 2);
	struct axis axis = {.name = name, .size = 1, .span = statement->first->span,
			    .origin = ORIGIN_FILE};
	uint32_t k = mesh_axis(mesh, name);

	if (k != NO_ID) {
		set_twice(mesh->r, mesh->axes.at[k].span, axis.span, "axis", name->text);
		return;
	}
	axis.size_span = node_child(statement, 1)->span;
	axis.rest = node_child(statement, 1)->kind == NODE_REST;
	if (tail && tail->kind == NODE_PLACE && tail->op != PLACE_ON) {
		axis.within = tail->op == PLACE_WITHIN;
		axis.across = !axis.within;
		axis.place = axis_place(mesh, tail, axis.within);
	} else {
		no_tail(mesh->r, statement);
	}
	vec_push(mesh->r->work->keep, &mesh->axes, axis);
	vec_push(mesh->r->work->keep, &mesh->statements, statement);
	vec_push(mesh->r->work->keep, &mesh->states, STATE_FRESH);
}

/* "1024 / (16 * 8)": what the other axes leave. */
static const char *rest_text(const struct mesh *mesh, struct arena *arena, int64_t devices)
{
	struct text out = text_new(arena);
	uint32_t others = 0;

	for (uint32_t k = 0; k < mesh->axes.n; k++)
		if (!mesh->axes.at[k].rest)
			text_add(&out, "%s%lld", others++ ? " * " : "",
				 (long long)mesh->axes.at[k].size);
	if (!others)
		return arena_text(arena, "%lld", (long long)devices);
	return arena_text(arena, others > 1 ? "%lld / (%s)" : "%lld / %s", (long long)devices,
			  out.at);
}

/* Product of the sizes of all axes but `rest` and axis number `skip`, INT64_MAX at most. */
static int64_t product_without(const struct mesh *mesh, uint32_t skip)
{
	int64_t product = 1;

	for (uint32_t k = 0; k < mesh->axes.n; k++) {
		const struct axis *axis = &mesh->axes.at[k];

		if (k != skip && !axis->rest &&
		    __builtin_mul_overflow(product, axis->size, &product))
			return INT64_MAX;
	}
	return product;
}

/* For each other axis the sizes that divide; if no single axis mends it, the products that do. */
static void note_dividing(struct diag *diag, const struct mesh *mesh)
{
	struct arena *arena = mesh->r->work->keep;
	int64_t devices = mesh->r->plan->devices;
	bool any = false;

	for (uint32_t k = 0; k < mesh->axes.n; k++) {
		const struct axis *axis = &mesh->axes.at[k];
		int64_t others = product_without(mesh, k);

		if (axis->rest || devices % others)
			continue;
		any = true;
		diag_note(diag, "`%s` divides with a size of %s", axis->name->text,
			  num_divisors(arena, (uint64_t)(devices / others),
				       (uint64_t)(devices / others)));
	}
	if (!any)
		diag_note(diag, "the product of the other axes must be %s",
			  num_divisors(arena, (uint64_t)devices, (uint64_t)devices));
}

static void rest_remains(struct mesh *mesh, struct axis *axis, int64_t product)
{
	struct diag *diag = diag_add(
		mesh->r->work->diags, E0301, axis->size_span,
		"the other axes leave no whole number of places for `%s`", axis->name->text);

	axis->poisoned = true;
	diag_at(diag, "%s leaves a remainder of %lld", axis->from,
		(long long)(mesh->r->plan->devices % product));
	diag_label(diag, mesh->r->plan->cluster.devices.span, "%lld devices in all",
		   (long long)mesh->r->plan->devices);
	note_dividing(diag, mesh);
}

static void fill_rest(struct mesh *mesh)
{
	struct plan *plan = mesh->r->plan;
	struct axis *rest = NULL;
	bool faulty = false;
	int64_t product;

	for (uint32_t k = 0; k < mesh->axes.n; k++) {
		struct axis *axis = &mesh->axes.at[k];

		axis->poisoned |= axis->rest && rest;
		if (axis->rest && rest)
			set_twice(mesh->r, rest->size_span, axis->size_span, "the size", "rest");
		else if (axis->rest)
			rest = axis;
		faulty |= axis->poisoned;
	}
	if (!rest)
		return;
	rest->poisoned = faulty || plan->cluster.devices.poisoned || plan->cluster.nodes.poisoned;
	rest->from = rest_text(mesh, mesh->r->work->keep, plan->devices);
	rest->origin = ORIGIN_COMPUTED;
	if (rest->poisoned)
		return;
	product = product_without(mesh, mesh->axes.n);
	if (plan->devices % product)
		rest_remains(mesh, rest, product);
	else
		rest->size = plan->devices / product;
}

/* Nothing that is worked out of the sizes makes sense once their product does not fit. */
static void check_product(struct mesh *mesh)
{
	struct plan *plan = mesh->r->plan;
	struct num product = num_from(1);

	for (uint32_t k = 0; k < plan->naxes; k++)
		product = num_times(product, (uint64_t)plan->axes[k].size);
	if (!product.overflow)
		return;
	plan->mesh_poisoned = true;
	diag_add(mesh->r->work->diags, E0114, plan->mesh_span,
		 "the number of devices does not fit 64 bits");
}

void resolve_mesh(struct resolve *r, const struct node *block)
{
	struct frame frame = {.r = r, .id = BLOCKS};
	struct mesh mesh = {.r = r, .frame = &frame};
	const struct node *body = node_find(block, NODE_BODY);

	r->plan->mesh_span = head_span(block);
	for (const struct node *node = body ? body->first : NULL; node; node = node->next) {
		if (node->kind == NODE_SETTING && path_word(node->first))
			add_axis(&mesh, node);
		else if (node->kind == NODE_ALLOW)
			allow(r, node);
		else
			misplaced(r, node, "block `mesh`", NULL, 0);
	}
	for (uint32_t k = 0; k < mesh.axes.n; k++)
		axis_size(&mesh, k);
	fill_rest(&mesh);
	for (uint32_t k = 0; k < mesh.axes.n; k++)
		r->plan->mesh_poisoned |= mesh.axes.at[k].poisoned;
	r->plan->axes = mesh.axes.at;
	r->plan->naxes = mesh.axes.n;
	if (!r->plan->mesh_poisoned)
		check_product(&mesh);
}
