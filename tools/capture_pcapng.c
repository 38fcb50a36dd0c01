/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes pcapng (IETF draft-ietf-opsawg-pcapng): section, interfaces, packets, statistics. */
#include <string.h>
#include <sys/utsname.h>

#include "capture.h"
#include "sluice.h"

struct block {
	uint32_t n;
	uint8_t bytes[2048];
};

static void put(struct block *b, const void *p, size_t n)
{
	static const uint8_t zero[4];

	memcpy(b->bytes + b->n, p, n);
	b->n += (uint32_t)n;
	memcpy(b->bytes + b->n, zero, -n & 3);
	b->n += -n & 3;
}

static void put32(struct block *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

static void option(struct block *b, uint16_t code, const void *p, size_t n)
{
	uint16_t head[2] = {code, (uint16_t)n};

	put(b, head, sizeof(head));
	put(b, p, n);
}

static void text(struct block *b, uint16_t code, const char *s)
{
	size_t n = strlen(s);

	if (n)
		option(b, code, s, sl_min(n, (size_t)400));
}

static void time_option(struct block *b, uint16_t code, uint64_t ns)
{
	uint32_t v[2] = {(uint32_t)(ns >> 32), (uint32_t)ns};

	option(b, code, v, sizeof(v));
}

/* Writes a block: its head, `data` of len bytes in the middle of b at `at`, and the end. */
static bool write_block(FILE *to, uint32_t type, const struct block *b, uint32_t at,
			const void *data, uint32_t len)
{
	static const uint8_t zero[4];
	uint32_t pad = -len & 3, total = 12 + b->n + len + pad, head[2] = {type, total};

	return fwrite(head, sizeof(head), 1, to) == 1 && fwrite(b->bytes, 1, at, to) == at &&
	       fwrite(data, 1, len, to) == len && fwrite(zero, 1, pad, to) == pad &&
	       fwrite(b->bytes + at, 1, b->n - at, to) == b->n - at &&
	       fwrite(&total, sizeof(total), 1, to) == 1;
}

bool sl_pcapng_begin(struct sl_pcapng *f, FILE *to)
{
	struct block b = {0};
	struct utsname u;
	char os[300] = "Linux";

	memset(f, 0, sizeof(*f));
	f->to = to;
	if (!uname(&u))
		snprintf(os, sizeof(os), "%.60s %.120s", u.sysname, u.release);
	put32(&b, 0x1a2b3c4d);
	put(&b, (uint16_t[]){1, 0}, 4);
	put(&b, (int64_t[]){-1}, 8);
	text(&b, 3, os);
	text(&b, 4, "sluice capture " SLUICE_VERSION);
	put32(&b, 0);
	return write_block(to, 0x0a0d0d0a, &b, b.n, "", 0) && !fflush(to);
}

int sl_pcapng_if(struct sl_pcapng *f, uint64_t netns, uint32_t ifindex, const char *name,
		 uint32_t snap, const char *filter)
{
	struct block b = {0};
	struct sl_pcapng_if *i;

	for (uint32_t k = 0; k < f->nifs; k++)
		if (f->ifs[k].ifindex == ifindex && f->ifs[k].netns == netns)
			return (int)k;
	if (f->nifs == sl_array_len(f->ifs))
		return -1;
	i = &f->ifs[f->nifs];
	*i = (struct sl_pcapng_if){.netns = netns, .ifindex = ifindex};
	snprintf(i->name, sizeof(i->name), "%s", name);
	put(&b, (uint16_t[]){1, 0}, 4); /* LINKTYPE_ETHERNET */
	put32(&b, snap);
	text(&b, 2, i->name);
	text(&b, 3, "sockets offloaded by Sluice");
	option(&b, 9, (uint8_t[]){9}, 1); /* times in nanoseconds */
	if (filter && *filter) {
		char f0[400];

		snprintf(f0, sizeof(f0), "%c%s", 0, "");
		snprintf(f0 + 1, sizeof(f0) - 1, "%s", filter);
		option(&b, 11, f0, 1 + strlen(f0 + 1));
	}
	put32(&b, 0);
	if (!write_block(f->to, 1, &b, b.n, "", 0))
		return -1;
	return (int)f->nifs++;
}

bool sl_pcapng_packet(struct sl_pcapng *f, const struct sl_pcapng_pkt *p)
{
	struct sl_pcapng_if *i = &f->ifs[p->iface];
	struct block b = {0};
	uint32_t flags = p->sent ? 2 : 1;
	char comment[320];

	static const uint8_t all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

	if (p->cap >= 6)
		flags |= !memcmp(p->data, all, 6) ? 3u << 2 : p->data[0] & 1 ? 2u << 2 : 1u << 2;
	put32(&b, (uint32_t)p->iface);
	put32(&b, (uint32_t)(p->real_ns >> 32));
	put32(&b, (uint32_t)p->real_ns);
	put32(&b, p->cap);
	put32(&b, p->wire);
	if (p->hw_ns)
		snprintf(comment, sizeof(comment), "%.200s, device's time %llu.%09llu", p->comment,
			 (unsigned long long)(p->hw_ns / 1000000000),
			 (unsigned long long)(p->hw_ns % 1000000000));
	else
		snprintf(comment, sizeof(comment), "%.200s", p->comment);
	text(&b, 1, comment);
	option(&b, 2, &flags, sizeof(flags));
	if (i->untold)
		option(&b, 4, &i->untold, sizeof(i->untold));
	put32(&b, 0);
	i->untold = 0;
	i->received++;
	return write_block(f->to, 6, &b, 20, p->data, p->cap);
}

bool sl_pcapng_end(struct sl_pcapng *f, uint64_t begun_ns, uint64_t now_ns)
{
	bool good = true;

	for (uint32_t k = 0; k < f->nifs; k++) {
		struct sl_pcapng_if *i = &f->ifs[k];
		uint64_t seen = i->received + i->lost;
		struct block b = {0};

		put32(&b, k);
		put32(&b, (uint32_t)(now_ns >> 32));
		put32(&b, (uint32_t)now_ns);
		time_option(&b, 2, begun_ns);
		time_option(&b, 3, now_ns);
		option(&b, 4, &seen, sizeof(seen));
		option(&b, 5, &i->lost, sizeof(i->lost));
		option(&b, 8, &i->received, sizeof(i->received));
		put32(&b, 0);
		good &= write_block(f->to, 5, &b, b.n, "", 0);
	}
	return !fflush(f->to) && good;
}
