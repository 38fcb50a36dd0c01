/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: the filter of `sluice ss` (the text up to a NUL), and what sock_diag answers (the
 * rest). A filter and its negation never agree. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "tools/ss.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No name is looked up: that would leave the process. */
int __wrap_getaddrinfo(const char *node, const char *service, const void *hints, void **list);
int __wrap_getaddrinfo(const char *node, const char *service, const void *hints, void **list)
{
	(void)service;
	(void)hints;
	(void)list;
	return strlen(node) ? -2 : -3;
}

static struct sl_ss_filter *filter, *opposite;
static FILE *table;

static struct sl_ss_filter *parse(char *text, uint32_t *states)
{
	char near[64];
	const char *why = NULL;
	struct sl_ss_filter *f;

	memset(near, 'x', sizeof(near));
	*states = SL_SS_ALL;
	f = sl_ss_filter(1, &text, states, &why, near);
	if (!f && (!why || !memchr(near, 0, sizeof(near))))
		abort();
	if (f && *states & ~SL_SS_ALL)
		abort();
	return f;
}

static void on_sock(const struct sl_ss_sock *k, void *arg)
{
	static const struct sl_ss_look looks[] = {
		{.netid = true,
		 .state = true,
		 .header = true,
		 .processes = true,
		 .extended = true,
		 .info = true,
		 .memory = true,
		 .timers = true},
		{.numeric = true,
		 .netid = true,
		 .state = true,
		 .extended = true,
		 .info = true,
		 .memory = true,
		 .timers = true,
		 .one_line = true},
	};

	(void)arg;
	if (filter && opposite && sl_ss_fits(filter, k) == sl_ss_fits(opposite, k))
		abort();
	if (!memchr(k->congestion, 0, sizeof(k->congestion)))
		abort();
	for (unsigned i = 0; i < sl_array_len(looks); i++)
		sl_ss_print(table, k, 1, &looks[i]);
	(void)sl_ss_destroy(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(&data, &size), *not_it;
	struct sl_ss_sock any = {.family = AF_INET6, .state = SL_SS_LISTEN, .local_port = 53};
	uint32_t states;

	if (!table)
		table = fopen("/dev/null", "we");
	if (!table || asprintf(&not_it, "not ( %s )", text) < 0)
		abort();
	filter = parse(text, &states);
	/* (The filter must have a term, and no word about states: ss negates terms alone.) */
	opposite = filter ? parse(not_it, &states) : NULL;
	fuzz_answers(data, size);
	on_sock(&any, NULL);
	(void)sl_ss_kernel(IPPROTO_TCP, on_sock, NULL);
	fuzz_answers(NULL, 0);
	free(filter);
	free(opposite);
	free(text);
	free(not_it);
	return 0;
}
