/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: the filter of `sluice capture` (the text up to a NUL: options --flow in lines, then
 * pcap-filter(7)), and the ring of a hostile program (the rest: records). */
#include <netdb.h>
#include <sys/mman.h>

#include "answers.h"
#include "tools/capture.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RING 4096u

/* No name is looked up: that would leave the process. */
int __wrap_getaddrinfo(const char *node, const char *service, const void *hints, void *list);
int __wrap_getaddrinfo(const char *node, const char *service, const void *hints, void *list)
{
	(void)node;
	(void)service;
	(void)hints;
	(void)list;
	return -2;
}
/* Nor by libpcap. */
__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
						       const struct addrinfo *hints,
						       struct addrinfo **list)
{
	return __wrap_getaddrinfo(node, service, hints, list);
}

bool sl_tool_number(const char *text, long lo, long hi, int *out)
{
	char *end;
	long v = strtol(text, &end, 10);

	*out = (int)v;
	return *text && !*end && v >= lo && v <= hi;
}

/* False: it is no filter. */
static bool filter(struct capture *c, char *text)
{
	char *words[] = {"capture", NULL, NULL}, *line;

	while ((line = strsep(&text, "\n")) && text)
		if (parse_flow(c, line) >= 0)
			return false;
	words[1] = line;
	optind = 1;
	return make_filter(c, line && *line ? 2 : 1, words) < 0;
}

static void ring(struct capture *c, const uint8_t *data, size_t size)
{
	static struct sl_capture_source s;
	bool any = false;

	/* A block of exactly the ring's size, so that a read behind its end is seen. */
	s = (struct sl_capture_source){.sock = -1, .bytes = RING, .file.path = "/dev/null"};
	s.mem = aligned_alloc(SL_TAP_ALIGN, SL_TAP_HEAD + RING);
	if (!s.mem || !sl_pcapng_begin(&c->file, stdout))
		abort();
	memset(s.mem, 0, SL_TAP_HEAD + RING);
	memcpy(s.mem + SL_TAP_HEAD, data, sl_min(size, (size_t)RING));
	(void)drain(c, &s, &any);
	if (any && s.tail % SL_TAP_ALIGN)
		abort();
	/* (8: the least payload of a segment; each record can have a shorter one at its end.) */
	if (c->written > RING / 8 + RING / SL_TAP_ALIGN)
		abort();
	(void)sl_pcapng_end(&c->file, 1, 2);
	free(s.stats);
	free(s.mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct capture c;
	char *text = fuzz_text(&data, &size);

	c = (struct capture){.good = true, .snap = SL_CAPTURE_SNAP};
	if (filter(&c, text))
		ring(&c, data, size);
	if (c.filters)
		pcap_freecode(&c.code);
	free(text);
	return 0;
}
