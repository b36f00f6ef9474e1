/* SPDX-License-Identifier: Apache-2.0 */
/* Until a floor is there, its passes stop the loop. */
#include "driver/passes.h"

#ifdef ABSENT_PLAN
struct plan *plan_resolve(const struct node *f, const struct source *s, const struct plan_options *o,
			  struct work *w)
{
	(void)f, (void)s, (void)o;
	return ARENA_NEW(w->keep, struct plan);
}
bool plan_check(const struct plan *p, struct work *w) { (void)p, (void)w; return false; }
void plan_expand(const struct plan *p, const struct work *w, struct text *o) { (void)p, (void)w, (void)o; }
void plan_print(const struct plan *p, const struct work *w, struct text *o) { (void)p, (void)w, (void)o; }
const struct std_file std_files[] = {{0, 0}};
#endif
#ifdef ABSENT_GRAPH
bool graph_build(const struct plan *p, struct graph *o, struct work *w) { (void)p, (void)w, (void)o; return false; }
void graph_verify(const struct graph *g) { (void)g; }
void graph_print(const struct graph *g, const struct work *w, struct text *o) { (void)g, (void)w, (void)o; }
#endif
#ifdef ABSENT_PART
bool part_build(const struct graph *p, struct program *o, struct work *w) { (void)p, (void)w, (void)o; return false; }
void program_verify(const struct program *g) { (void)g; }
void program_print(const struct program *g, const struct work *w, struct text *o) { (void)g, (void)w, (void)o; }
#endif
#ifdef ABSENT_PLACE
bool place_build(const struct program *p, struct layout *o, struct work *w) { (void)p, (void)w, (void)o; return false; }
void layout_verify(const struct layout *g) { (void)g; }
void layout_print(const struct layout *g, const struct work *w, struct text *o) { (void)g, (void)w, (void)o; }
#endif
#ifdef ABSENT_JUDGE
void judge(const struct layout *p, struct verdict *o, struct work *w) { (void)p, (void)w, (void)o; }
char *verdict_table(const struct verdict *v, struct arena *a) { (void)v; return arena_text(a, "\n"); }
char *verdict_summary(const struct verdict *v, struct arena *a) { (void)v; return arena_text(a, "ok"); }
void verdict_json(const struct verdict *v, struct text *o) { (void)v; text_add(o, "{}"); }
void verdict_print(const struct verdict *g, const struct work *w, struct text *o) { (void)g, (void)w, (void)o; }
#endif
#ifdef ABSENT_EMIT
bool emit_build(const struct plan *p, const struct layout *l, const struct verdict *v, struct work *w,
		struct artifacts *o) { (void)p, (void)l, (void)v, (void)w, (void)o; return false; }
#endif
