/* SPDX-License-Identifier: BSD-2-Clause */
/* The filter of `sluice ss`: states and expressions as ss(8) has them.
 *
 *   [state|exclude STATE]... [EXPRESSION]
 *   EXPRESSION  terms joined by `or`, `and` (may be left out), with `not` and parentheses
 *   term        src|dst [=|!=] HOST[/BITS][:PORT]   sport|dport OP [:]PORT   dev [=|!=] NAME */
#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ss.h"

#define MAX_NODES 256
#define MAX_HOSTS 64

enum op { OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE };
enum kind { KIND_AND, KIND_OR, KIND_NOT, KIND_HOST, KIND_PORT, KIND_DEV };

/* Nodes are of one array, and children come before their parents: a filter is one object. */
struct node {
	uint8_t kind, op;
	bool remote;   /* dst, dport */
	uint16_t a, b; /* AND, OR: children; NOT: a. HOST: the first of b addresses is a */
	int port;      /* HOST: -1 is any */
	uint32_t ifindex;
};

struct host {
	struct sl_addr addr;
	unsigned bits; /* that must be equal, of 128 */
};

struct sl_ss_filter {
	unsigned n, hosts;
	struct node node[MAX_NODES];
	struct host host[MAX_HOSTS];
};

struct parser {
	struct sl_ss_filter *f;
	const char *p;   /* where the next token begins */
	char token[300]; /* the next one, "" at the end */
	const char *why; /* static; NULL: all is well so far */
	unsigned depth;
};

static bool is_sign(char c)
{
	return c && strchr("()!&|=<>", c);
}

/* Reads the next token: a parenthesis, a run of operator signs, or a word. */
static void next(struct parser *x)
{
	size_t n = 0;

	while (*x->p == ' ' || *x->p == '\t' || *x->p == '\n')
		x->p++;
	if (*x->p == '(' || *x->p == ')')
		n = 1;
	else if (is_sign(*x->p))
		while (is_sign(x->p[n]) && x->p[n] != '(' && x->p[n] != ')')
			n++;
	else
		while (x->p[n] && !is_sign(x->p[n]) && !strchr(" \t\n", x->p[n]))
			n++;
	if (n >= sizeof(x->token)) {
		x->why = "a shorter word";
		n = sizeof(x->token) - 1;
	}
	memcpy(x->token, x->p, n);
	x->token[n] = 0;
	x->p += n;
}

static bool is(const struct parser *x, const char *a, const char *b, const char *c)
{
	return !strcmp(x->token, a) || (b && !strcmp(x->token, b)) || (c && !strcmp(x->token, c));
}

/* Returns the number of the new node; 0 with why set when there are too many. */
static unsigned add(struct parser *x, const struct node *node)
{
	if (x->f->n == MAX_NODES) {
		x->why = "a shorter filter";
		return 0;
	}
	x->f->node[x->f->n] = *node;
	return x->f->n++;
}

/* Terms ---------------------------------------------------------------------------------------- */

static bool read_op(struct parser *x, enum op *op)
{
	static const struct {
		const char *text;
		enum op op;
	} ops[] = {
		{"=", OP_EQ},  {"==", OP_EQ},  {"eq", OP_EQ},  {"!=", OP_NE},
		{"ne", OP_NE}, {"neq", OP_NE}, {"<", OP_LT},   {"lt", OP_LT},
		{"<=", OP_LE}, {"le", OP_LE},  {"leq", OP_LE}, {">", OP_GT},
		{"gt", OP_GT}, {">=", OP_GE},  {"ge", OP_GE},  {"geq", OP_GE},
	};

	for (unsigned i = 0; i < sl_array_len(ops); i++)
		if (!strcmp(x->token, ops[i].text)) {
			*op = ops[i].op;
			next(x);
			return true;
		}
	return false;
}

/* A number or a service's name; -1: neither. "*": any, as INT32_MAX. */
static int read_port(const char *text)
{
	struct servent *s;
	char *end;
	long v = strtol(text, &end, 10);

	if (!strcmp(text, "*") || !*text)
		return INT32_MAX;
	if (text[0] >= '0' && text[0] <= '9')
		return *end || v > UINT16_MAX ? -1 : (int)v;
	s = getservbyname(text, "tcp");
	if (!s)
		s = getservbyname(text, "udp");
	return s ? ntohs((uint16_t)s->s_port) : -1;
}

static bool add_host(struct parser *x, const struct sl_addr *a, unsigned bits)
{
	if (x->f->hosts == MAX_HOSTS)
		return false;
	x->f->host[x->f->hosts++] = (struct host){*a, bits};
	return true;
}

static bool add_named(struct parser *x, const char *name)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list, *i;
	bool any = false;

	if (getaddrinfo(name, NULL, &hints, &list))
		return false;
	for (i = list; i; i = i->ai_next) {
		struct sl_addr a;
		uint16_t port;
		uint32_t scope;

		any |= !sl_addr_from_sockaddr(i->ai_addr, i->ai_addrlen, &a, &port, &scope) &&
		       add_host(x, &a, 128);
	}
	freeaddrinfo(list);
	return any;
}

/* IPv4, dotted; parts that are left out at the end are 0, as in 10/8. */
static bool read_v4(const char *text, uint32_t *out)
{
	uint8_t b[4] = {0};
	char *end;

	for (unsigned i = 0; i < sizeof(b); i++) {
		unsigned long v = strtoul(text, &end, 10);

		if (*text < '0' || *text > '9' || v > UINT8_MAX)
			return false;
		b[i] = (uint8_t)v;
		if (!*end) {
			memcpy(out, b, sizeof(b));
			return true;
		}
		if (*end != '.')
			return false;
		text = end + 1;
	}
	return false;
}

/* ADDRESS[/BITS], a name, or * (then no address is added). */
static bool read_host(struct parser *x, char *text)
{
	char *slash = strchr(text, '/'), *end = NULL;
	long bits = -1;
	uint32_t w[4];
	struct sl_addr a;
	bool v4;

	if (!strcmp(text, "*") || !*text)
		return true;
	if (slash) {
		*slash = 0;
		bits = strtol(slash + 1, &end, 10);
		if (!slash[1] || *end || bits < 0)
			return false;
	}
	v4 = read_v4(text, w);
	if (!v4 && inet_pton(AF_INET6, text, w) != 1)
		return !slash && add_named(x, text);
	if (bits > (v4 ? 32 : 128))
		return false;
	a = v4 ? sl_addr_v4(w[0]) : sl_addr_v6(w);
	return add_host(x, &a, bits < 0 ? 128 : (unsigned)bits + (v4 ? 96 : 0));
}

/* Parts HOST:PORT. Brackets may stand around an address; one with several colons and no brackets
 * has no port. *port is the end of text where there is none. */
static char *part(char *text, char **port)
{
	char *colon = strrchr(text, ':'), *end = text + strlen(text), *close;

	*port = end;
	if (*text == '[' && (close = strchr(text, ']'))) {
		text++;
		memmove(close, close + 1, strlen(close)); /* (a /BITS may follow) */
		colon = strchr(close, ':');
	} else if (colon && strchr(text, ':') != colon) {
		colon = NULL;
	}
	if (colon) {
		*colon = 0;
		*port = colon + 1;
	}
	return text;
}

static unsigned host_term(struct parser *x, bool remote)
{
	struct node n = {.kind = KIND_HOST, .remote = remote, .a = (uint16_t)x->f->hosts};
	enum op op = OP_EQ;
	char *port, *host;
	int number;

	next(x);
	read_op(x, &op);
	if (op > OP_NE || !x->token[0] || is_sign(x->token[0])) {
		x->why = "HOST[/BITS][:PORT]";
		return 0;
	}
	host = part(x->token, &port);
	number = read_port(port);
	if (number < 0 || !read_host(x, host)) {
		x->why = "HOST[/BITS][:PORT]";
		return 0;
	}
	n.op = (uint8_t)op;
	n.port = number == INT32_MAX ? -1 : number;
	n.b = (uint16_t)(x->f->hosts - n.a);
	next(x);
	return add(x, &n);
}

static unsigned port_term(struct parser *x, bool remote)
{
	struct node n = {.kind = KIND_PORT, .remote = remote};
	const char *colon;
	enum op op = OP_EQ;
	int number;

	next(x);
	read_op(x, &op);
	colon = strrchr(x->token, ':');
	number = x->token[0] ? read_port(colon ? colon + 1 : x->token) : -1;
	if (number < 0 || number == INT32_MAX) {
		x->why = "a port";
		return 0;
	}
	n.op = (uint8_t)op;
	n.port = number;
	next(x);
	return add(x, &n);
}

static unsigned dev_term(struct parser *x)
{
	struct node n = {.kind = KIND_DEV};
	enum op op = OP_EQ;

	next(x);
	read_op(x, &op);
	n.ifindex = if_nametoindex(x->token);
	if (op > OP_NE || !n.ifindex) {
		x->why = "a network device";
		return 0;
	}
	n.op = (uint8_t)op;
	next(x);
	return add(x, &n);
}

/* Expressions ---------------------------------------------------------------------------------- */

static unsigned expression(struct parser *x);

static unsigned unary(struct parser *x)
{
	unsigned a;

	if (++x->depth > MAX_NODES) {
		x->why = "a shorter filter";
		return 0;
	}
	if (is(x, "!", "not", NULL)) {
		next(x);
		a = unary(x);
		return x->why ? 0 : add(x, &(struct node){.kind = KIND_NOT, .a = (uint16_t)a});
	}
	if (is(x, "(", NULL, NULL)) {
		next(x);
		a = expression(x);
		if (!x->why && !is(x, ")", NULL, NULL))
			x->why = "`)`";
		if (!x->why)
			next(x);
		return a;
	}
	if (is(x, "src", NULL, NULL) || is(x, "dst", NULL, NULL))
		return host_term(x, x->token[0] == 'd');
	if (is(x, "sport", NULL, NULL) || is(x, "dport", NULL, NULL))
		return port_term(x, x->token[0] == 'd');
	if (is(x, "dev", NULL, NULL))
		return dev_term(x);
	x->why = "src, dst, sport, dport, dev, not or `(`";
	return 0;
}

/* `and` and `or` bind alike, from left to right, as in ss(8). */
static unsigned expression(struct parser *x)
{
	unsigned a = unary(x);

	while (!x->why && x->token[0] && !is(x, ")", NULL, NULL)) {
		bool or = is(x, "or", "|", "||");
		struct node n = {.kind = or ? KIND_OR : KIND_AND, .a = (uint16_t)a};

		if (or || is(x, "and", "&", "&&"))
			next(x);
		n.b = (uint16_t)unary(x);
		if (!x->why)
			a = add(x, &n);
	}
	return a;
}

/* States --------------------------------------------------------------------------------------- */

/* The states of that name as a set, 0: there is none such. */
static uint32_t states_of(const char *name)
{
	enum { CONNECTED = SL_SS_ALL & ~(1u << SL_SS_CLOSE | 1u << SL_SS_LISTEN) };
	enum { BUCKET = 1u << SL_SS_SYN_RECV | 1u << SL_SS_TIME_WAIT };
	static const struct {
		const char *name;
		uint32_t states;
	} names[] = {
		{"all", SL_SS_ALL},
		{"connected", CONNECTED},
		{"synchronized", CONNECTED & ~(1u << SL_SS_SYN_SENT)},
		{"bucket", BUCKET},
		{"big", SL_SS_ALL & ~BUCKET},
		{"established", 1u << SL_SS_ESTABLISHED},
		{"estab", 1u << SL_SS_ESTABLISHED},
		{"syn-sent", 1u << SL_SS_SYN_SENT},
		{"syn-recv", 1u << SL_SS_SYN_RECV},
		{"fin-wait-1", 1u << SL_SS_FIN_WAIT1},
		{"fin-wait-2", 1u << SL_SS_FIN_WAIT2},
		{"time-wait", 1u << SL_SS_TIME_WAIT},
		{"unconnected", 1u << SL_SS_CLOSE},
		{"closed", 1u << SL_SS_CLOSE},
		{"close", 1u << SL_SS_CLOSE},
		{"close-wait", 1u << SL_SS_CLOSE_WAIT},
		{"last-ack", 1u << SL_SS_LAST_ACK},
		{"listening", 1u << SL_SS_LISTEN},
		{"listen", 1u << SL_SS_LISTEN},
		{"closing", 1u << SL_SS_CLOSING},
	};

	for (unsigned i = 0; i < sl_array_len(names); i++)
		if (!strcasecmp(name, names[i].name))
			return names[i].states;
	return 0;
}

static void read_states(struct parser *x, uint32_t *states)
{
	bool said = false;

	while (!x->why && (is(x, "state", NULL, NULL) || is(x, "exclude", "excl", NULL))) {
		bool in = x->token[0] == 's';
		uint32_t set;

		next(x);
		set = states_of(x->token);
		if (!set) {
			x->why = "a state of ss(8)";
			return;
		}
		if (!said)
			*states = in ? 0 : SL_SS_ALL;
		*states = in ? *states | set : *states & ~set;
		said = true;
		next(x);
	}
}

struct sl_ss_filter *sl_ss_filter(int n, char *const *words, uint32_t *states, const char **why,
				  char near[64])
{
	struct parser x = {.f = calloc(1, sizeof(*x.f))};
	size_t len = 1;
	char *text, *end;

	for (int i = 0; i < n; i++)
		len += strlen(words[i]) + 1;
	text = malloc(len);
	if (!x.f || !text) {
		*why = "memory";
		near[0] = 0;
		goto fail;
	}
	end = text;
	for (int i = 0; i < n; i++)
		end = stpcpy(stpcpy(end, words[i]), " ");
	*end = 0;
	x.p = text;
	next(&x);
	read_states(&x, states);
	if (!x.why && x.token[0])
		expression(&x);
	if (!x.why && x.token[0])
		x.why = "the end";
	if (x.why) {
		*why = x.why;
		sl_ss_name(near, 64, x.token);
		goto fail;
	}
	free(text);
	return x.f;
fail:
	free(text);
	free(x.f);
	return NULL;
}

/* Deciding ------------------------------------------------------------------------------------- */

static bool compare(enum op op, uint32_t a, uint32_t b)
{
	switch (op) {
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case OP_LT:
		return a < b;
	case OP_LE:
		return a <= b;
	case OP_GT:
		return a > b;
	default:
		return a >= b;
	}
}

static bool same_bits(const struct sl_addr *a, const struct sl_addr *b, unsigned bits)
{
	unsigned rest = bits % 8;

	if (memcmp(a->b, b->b, bits / 8))
		return false;
	return !rest || !((a->b[bits / 8] ^ b->b[bits / 8]) >> (8 - rest));
}

static bool host_fits(const struct sl_ss_filter *f, const struct node *n,
		      const struct sl_ss_sock *k)
{
	const struct sl_addr *a = n->remote ? &k->remote : &k->local;
	bool fits = !n->b;

	for (unsigned i = n->a; !fits && i < n->a + n->b; i++)
		fits = same_bits(a, &f->host[i].addr, f->host[i].bits);
	if (n->port >= 0)
		fits &= n->port == (n->remote ? k->remote_port : k->local_port);
	return fits == (n->op == OP_EQ);
}

static bool node_fits(const struct sl_ss_filter *f, unsigned i, const struct sl_ss_sock *k)
{
	const struct node *n = &f->node[i];

	switch (n->kind) {
	case KIND_AND:
		return node_fits(f, n->a, k) && node_fits(f, n->b, k);
	case KIND_OR:
		return node_fits(f, n->a, k) || node_fits(f, n->b, k);
	case KIND_NOT:
		return !node_fits(f, n->a, k);
	case KIND_HOST:
		return host_fits(f, n, k);
	case KIND_PORT:
		return compare(n->op, n->remote ? k->remote_port : k->local_port,
			       (uint32_t)n->port);
	default:
		return compare(n->op, k->ifindex, n->ifindex);
	}
}

bool sl_ss_fits(const struct sl_ss_filter *f, const struct sl_ss_sock *k)
{
	return !f->n || node_fits(f, f->n - 1, k);
}
