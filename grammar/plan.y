/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of .plan files. Actions build nodes and nothing else: no look-up, no folding, no
 * unit checks. Line ends and brackets come in balance from syntax/lines.c; a `,` inside ( ) or [ ]
 * is ',', one between statements is SEP. */
%require "3.8"
%define api.pure full
%define api.prefix {plan_yy}
%define api.location.type {struct span}
%define api.token.prefix {TOK_}
%define api.value.type union
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param {struct parser *parser}

%code requires {
#include "syntax/parser.h"
}

%code {
int plan_yylex(PLAN_YYSTYPE *value, struct span *span, struct parser *parser);
static void plan_yyerror(struct span *span, struct parser *parser, const char *message);

/* Nothing is put on the heap for the stack: brackets are bounded, only a run of `-` can fill it. */
#define YYINITDEPTH 2000
#define YYMAXDEPTH 2000
#define YYLLOC_DEFAULT(current, rhs, n)                                                            \
	((current) = (n) ? (struct span){YYRHSLOC(rhs, 1).lo, YYRHSLOC(rhs, n).hi}                 \
			 : (struct span){YYRHSLOC(rhs, 0).hi, YYRHSLOC(rhs, 0).hi})
#define NEW(kind, span) node_new(parser, (kind), (span))
}

%token END 0 "end of file"
%token NL "end of line"
%token SEP "separator"
%token <const struct name *> NAME "a name"
%token <const struct decimal *> NUMBER "a number"
%token <const struct name *> UNIT "a unit"
%token BAD_UNIT "a wrong unit"
%token <struct node *> STRING "a string"
%token BAD "a faulty value"
%token PLAN "plan" EXTENDS "extends" LIBRARY "library" EDITION "edition" IMPORT "import"
%token FROM "from" WITHIN "within" ACROSS "across" PARAM "param" IN "in" LET "let"
%token REQUIRE "require" OVER "over" DIMS "dims" TRUE "true" FALSE "false" REST "rest" OF "of"
%token ALLOW "allow" OVERRIDE "override" AS "as" TIED "tied" IF "if" ELSE "else" ON "on"
%token EQ "==" NE "!=" LE "<=" GE ">=" ARROW "->" DOTS ".."

%nonassoc "==" "!=" "<=" ">=" '<' '>'
%left '+' '-'
%left '*' '/'
%precedence NEGATIVE

%type <struct node *> head statement setting value block named based param let require strategy
%type <struct node *> spread over axis cuts rule
%type <struct node *> typed allow place condition braces body_of dims domain path name number
%type <struct node *> expression call argument string
%type <struct list> top lines dotted axes names expressions arguments

%%

file:
	top { parser->file = NEW(NODE_FILE, @$); node_adopt(parser->file, $1); }
	;

top:
	%empty { $$ = (struct list){0}; }
	| top sep
	| top head sep { $$ = list_add($1, node_document(parser, $2)); }
	| top statement sep { $$ = list_add($1, node_document(parser, $2)); }
	| top error sep { $$ = list_add($1, NEW(NODE_ERROR, @2)); yyerrok; }
	| top error braces sep { $$ = list_add($1, NEW(NODE_ERROR, @2)); yyerrok; }
	;

lines:
	%empty { $$ = (struct list){0}; }
	| lines sep
	| lines statement sep { $$ = list_add($1, node_document(parser, $2)); }
	| lines error sep { $$ = list_add($1, NEW(NODE_ERROR, @2)); yyerrok; }
	| lines error braces sep { $$ = list_add($1, NEW(NODE_ERROR, @2)); yyerrok; }
	;

sep:
	NL
	| SEP
	;

braces:
	'{' body_of '}' { $$ = $2; $$->span = @$; }
	;

body_of:
	lines { $$ = NEW(NODE_BODY, @$); node_adopt($$, $1); }
	| lines statement {
		$$ = NEW(NODE_BODY, @$);
		node_adopt($$, list_add($1, node_document(parser, $2)));
	}
	| lines error {
		$$ = NEW(NODE_BODY, @$);
		node_adopt($$, list_add($1, NEW(NODE_ERROR, @2)));
	}
	| lines error braces {
		$$ = NEW(NODE_BODY, @$);
		node_adopt($$, list_add($1, NEW(NODE_ERROR, @2)));
	}
	;

head:
	"plan" NAME { $$ = NEW(NODE_PLAN, @$); $$->name = $2; }
	| "plan" NAME "extends" string {
		$$ = NEW(NODE_PLAN, @$);
		$$->name = $2;
		node_add($$, $4);
	}
	| "library" NAME { $$ = NEW(NODE_LIBRARY, @$); $$->name = $2; }
	| "edition" number { $$ = NEW(NODE_EDITION, @$); node_add($$, $2); }
	| "import" NAME "from" string {
		$$ = NEW(NODE_IMPORT, @$);
		$$->name = $2;
		node_add($$, $4);
	}
	;

statement:
	setting
	| "override" setting { $$ = $2; $$->flags |= NODE_FLAG_OVERRIDE; $$->span = @$; }
	| block
	| "override" path braces {
		$$ = NEW(NODE_BLOCK, @$);
		$$->flags |= NODE_FLAG_OVERRIDE;
		node_add($$, $2);
		node_add($$, $3);
	}
	| param
	| let
	| require
	| strategy
	| cuts
	| rule
	| typed
	| allow
	| path { $$ = NEW(NODE_WORD, @$); node_add($$, $1); }
	;

setting:
	value
	| value place { $$ = $1; node_add($$, $2); $$->span = @$; }
	| value condition { $$ = $1; node_add($$, $2); $$->span = @$; }
	| value braces {
		struct node *given = node_child($1, 1);
		$$ = $1;
		if (given->kind == NODE_OF) {
			node_add(given, $2);
			given->span.hi = @2.hi;
		} else {
			node_add($$, $2);
		}
		$$->span = @$;
	}
	;

value:
	path '=' expression { $$ = NEW(NODE_SETTING, @$); node_add($$, $1); node_add($$, $3); }
	;

place:
	"within" name { $$ = NEW(NODE_PLACE, @$); $$->op = PLACE_WITHIN; node_add($$, $2); }
	| "across" name { $$ = NEW(NODE_PLACE, @$); $$->op = PLACE_ACROSS; node_add($$, $2); }
	| "on" name expression {
		$$ = NEW(NODE_PLACE, @$);
		$$->op = PLACE_ON;
		node_add($$, $2);
		node_add($$, $3);
	}
	| "on" name expression ".." expression {
		$$ = NEW(NODE_PLACE, @$);
		$$->op = PLACE_ON;
		node_add($$, $2);
		node_add($$, $3);
		node_add($$, $5);
	}
	;

condition:
	"if" expression { $$ = NEW(NODE_IF, @$); node_add($$, $2); }
	| "if" expression "else" expression {
		$$ = NEW(NODE_IF, @$);
		node_add($$, $2);
		node_add($$, $4);
	}
	;

block:
	path braces { $$ = NEW(NODE_BLOCK, @$); node_add($$, $1); node_add($$, $2); }
	| named braces { $$ = $1; node_add($$, $2); $$->span = @$; }
	| named "as" string braces {
		$$ = $1;
		node_add($$, $3);
		node_add($$, $4);
		$$->span = @$;
	}
	| based
	| based braces { $$ = $1; node_add($$, $2); $$->span = @$; }
	;

named:
	path name { $$ = NEW(NODE_BLOCK, @$); node_add($$, $1); node_add($$, $2); }
	;

based:
	named ':' path {
		struct node *base = NEW(NODE_BASE, @3);
		node_add(base, $3);
		$$ = $1;
		node_add($$, base);
		$$->span = @$;
	}
	;

param:
	"param" NAME ':' name domain {
		$$ = NEW(NODE_PARAM, @$);
		$$->name = $2;
		node_add($$, $4);
		node_add($$, $5);
	}
	| "param" NAME ':' name domain '=' expression {
		$$ = NEW(NODE_PARAM, @$);
		$$->name = $2;
		$$->flags |= NODE_FLAG_VALUE;
		node_add($$, $4);
		node_add($$, $5);
		node_add($$, $7);
	}
	;

domain:
	%empty { $$ = NULL; }
	| "in" expression ".." expression {
		$$ = NEW(NODE_RANGE, ((struct span){@2.lo, @4.hi}));
		node_add($$, $2);
		node_add($$, $4);
	}
	| "in" '[' expressions comma ']' {
		$$ = NEW(NODE_LIST, ((struct span){@2.lo, @5.hi}));
		node_adopt($$, $3);
	}
	;

let:
	"let" NAME '=' expression { $$ = NEW(NODE_LET, @$); $$->name = $2; node_add($$, $4); }
	;

require:
	"require" expression { $$ = NEW(NODE_REQUIRE, @$); node_add($$, $2); }
	| "require" expression string {
		$$ = NEW(NODE_REQUIRE, @$);
		node_add($$, $2);
		node_add($$, $3);
	}
	;

strategy:
	spread
	| spread dims { $$ = $1; node_add($$, $2); $$->span = @$; }
	| spread braces { $$ = $1; node_add($$, $2); $$->span = @$; }
	| spread dims braces {
		$$ = $1;
		node_add($$, $2);
		node_add($$, $3);
		$$->span = @$;
	}
	;

spread:
	path over { $$ = NEW(NODE_STRATEGY, @$); node_add($$, $1); node_add($$, $2); }
	| path number over {
		$$ = NEW(NODE_STRATEGY, @$);
		node_add($$, $1);
		node_add($$, $2);
		node_add($$, $3);
	}
	;

over:
	"over" axes { $$ = NEW(NODE_AXES, @2); node_adopt($$, $2); }
	;

cuts:
	path dims { $$ = NEW(NODE_CUTS, @$); node_add($$, $1); node_add($$, $2); }
	;

dims:
	"dims" '[' names comma ']' { $$ = NEW(NODE_DIMS, @$); node_adopt($$, $3); }
	;

rule:
	path ':' name "->" axes {
		struct node *over = NEW(NODE_AXES, @5);
		node_adopt(over, $5);
		$$ = NEW(NODE_RULE, @$);
		node_add($$, $1);
		node_add($$, $3);
		node_add($$, over);
	}
	;

typed:
	path ':' name { $$ = NEW(NODE_TYPED, @$); node_add($$, $1); node_add($$, $3); }
	| path ':' name '=' expression {
		$$ = NEW(NODE_TYPED, @$);
		node_add($$, $1);
		node_add($$, $3);
		node_add($$, $5);
	}
	;

allow:
	"allow" NAME { $$ = NEW(NODE_ALLOW, @$); $$->name = $2; }
	;

path:
	dotted { $$ = NEW(NODE_PATH, @$); node_adopt($$, $1); }
	;

dotted:
	name { $$ = list_of($1); }
	| dotted '.' name { $$ = list_add($1, $3); }
	;

name:
	NAME { $$ = node_name(parser, $1, @$); }
	;

axes:
	axis { $$ = list_of($1); }
	| axes '*' axis { $$ = list_add($1, $3); }
	;

/* A size is told (E0305) where the axes of the mesh are known. */
axis:
	name
	| number
	;

names:
	name { $$ = list_of($1); }
	| names ',' name { $$ = list_add($1, $3); }
	;

comma:
	%empty
	| ','
	;

number:
	NUMBER { $$ = NEW(NODE_NUMBER, @$); $$->number = $1; }
	| NUMBER UNIT { $$ = NEW(NODE_NUMBER, @$); $$->number = $1; $$->name = $2; }
	| NUMBER BAD_UNIT { $$ = NEW(NODE_ERROR, @$); }
	| BAD { $$ = NEW(NODE_ERROR, @$); }
	;

string:
	STRING
	;

expression:
	number
	| string
	| "true" { $$ = NEW(NODE_BOOL, @$); $$->op = 1; }
	| "false" { $$ = NEW(NODE_BOOL, @$); }
	| "rest" { $$ = NEW(NODE_REST, @$); }
	| number "of" path { $$ = NEW(NODE_OF, @$); node_add($$, $1); node_add($$, $3); }
	| path
	| call
	| call "as" string { $$ = NEW(NODE_AS, @$); node_add($$, $1); node_add($$, $3); }
	| call "tied" string { $$ = NEW(NODE_TIED, @$); node_add($$, $1); node_add($$, $3); }
	| '[' expressions comma ']' { $$ = NEW(NODE_LIST, @$); node_adopt($$, $2); }
	| '(' expression ')' { $$ = $2; $$->span = @$; }
	| '-' expression %prec NEGATIVE { $$ = node_negate(parser, $2, @$); }
	| expression '+' expression { $$ = node_binary(parser, BINARY_ADD, $1, $3); }
	| expression '-' expression { $$ = node_binary(parser, BINARY_SUB, $1, $3); }
	| expression '*' expression { $$ = node_binary(parser, BINARY_MUL, $1, $3); }
	| expression '/' expression { $$ = node_binary(parser, BINARY_DIV, $1, $3); }
	| expression "==" expression { $$ = node_binary(parser, BINARY_EQ, $1, $3); }
	| expression "!=" expression { $$ = node_binary(parser, BINARY_NE, $1, $3); }
	| expression "<=" expression { $$ = node_binary(parser, BINARY_LE, $1, $3); }
	| expression ">=" expression { $$ = node_binary(parser, BINARY_GE, $1, $3); }
	| expression '<' expression { $$ = node_binary(parser, BINARY_LT, $1, $3); }
	| expression '>' expression { $$ = node_binary(parser, BINARY_GT, $1, $3); }
	;

expressions:
	expression { $$ = list_of($1); }
	| expressions ',' expression { $$ = list_add($1, $3); }
	;

call:
	path '(' ')' { $$ = NEW(NODE_CALL, @$); node_add($$, $1); }
	| path '(' arguments comma ')' {
		$$ = NEW(NODE_CALL, @$);
		node_add($$, $1);
		node_adopt($$, $3);
	}
	;

arguments:
	argument { $$ = list_of($1); }
	| arguments ',' argument { $$ = list_add($1, $3); }
	;

argument:
	expression
	| path '=' expression { $$ = NEW(NODE_ARGUMENT, @$); node_add($$, $1); node_add($$, $3); }
	| expression "->" expression {
		$$ = NEW(NODE_ARROW, @$);
		node_add($$, $1);
		node_add($$, $3);
	}
	;

%%

static int yyreport_syntax_error(const yypcontext_t *context, struct parser *parser)
{
	yysymbol_kind_t kinds[YYNTOKENS];
	const char *names[YYNTOKENS];
	int count = yypcontext_expected_tokens(context, kinds, YYNTOKENS);
	for (int i = 0; i < count; i++)
		names[i] = yysymbol_name(kinds[i]);
	report_unexpected(parser, names, count);
	return 0;
}

/* With `parse.error custom` bison calls this for a full stack only. */
static void plan_yyerror(struct span *span, struct parser *parser, const char *message)
{
	(void)message;
	report_deep(parser, *span);
}

void parser_run(struct parser *parser)
{
	plan_yyparse(parser);
}
