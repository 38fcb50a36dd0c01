/* SPDX-License-Identifier: BSD-2-Clause */
/* The ends of a packet, and the flows that `sluice capture --flow` selects. The packet is a
 * program's, which may be hostile: nothing behind its len bytes is read. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "capture.h"
#include "tools.h"
#include "wire/wire.h"

#define BLANKS  " \t"
#define EXT_MAX 8 /* extension headers of IPv6 that are looked through */

/* Packets -------------------------------------------------------------------------------------- */

/* Offset of the header behind IPv6's extension headers, with its protocol. 0: there is none, since
 * the packet is cut off or a fragment behind the first. */
static uint32_t skip_extensions(const uint8_t *p, uint32_t len, uint32_t at, uint8_t *proto)
{
	for (unsigned i = 0; i < EXT_MAX; i++) {
		bool fragment = *proto == IPPROTO_FRAGMENT;

		if (!fragment && *proto != IPPROTO_HOPOPTS && *proto != IPPROTO_ROUTING &&
		    *proto != IPPROTO_DSTOPTS)
			return at;
		if (at + 8 > len)
			return 0;
		*proto = p[at];
		if (fragment && sl_get_be16(p + at + 2) & 0xfff8)
			return 0;
		at += fragment ? 8 : (p[at + 1] + 1u) * 8;
	}
	return 0;
}

static uint32_t read_v6(const uint8_t *p, uint32_t len, uint32_t ip, struct sl_capture_ends *e)
{
	e->local = sl_addr_of(p + ip + 8);
	e->remote = sl_addr_of(p + ip + 24);
	e->proto = p[ip + 6];
	return skip_extensions(p, len, ip + 40, &e->proto);
}

static uint32_t read_v4(const uint8_t *p, uint32_t ip, struct sl_capture_ends *e)
{
	uint32_t a[2];

	memcpy(a, p + ip + 12, sizeof(a));
	e->local = sl_addr_v4(a[0]);
	e->remote = sl_addr_v4(a[1]);
	e->proto = p[ip + 9];
	return sl_get_be16(p + ip + 6) & 0x1fff ? 0 : ip + (p[ip] & 15u) * 4;
}

bool sl_capture_ends(const uint8_t *p, uint32_t len, bool sent, struct sl_capture_ends *e)
{
	struct sl_capture_ends to;
	uint32_t at = 12, ip, l4;
	uint16_t type;

	while (at + 4 <= len &&
	       (sl_get_be16(p + at) == ETH_P_8021Q || sl_get_be16(p + at) == ETH_P_8021AD))
		at += 4;
	ip = at + 2;
	if (ip + 20 > len)
		return false;
	type = sl_get_be16(p + at);
	if (type != ETH_P_IP && (type != ETH_P_IPV6 || ip + 40 > len))
		return false;
	*e = (struct sl_capture_ends){0};
	l4 = type == ETH_P_IP ? read_v4(p, ip, e) : read_v6(p, len, ip, e);
	if (l4 && l4 + 4 <= len && (e->proto == IPPROTO_TCP || e->proto == IPPROTO_UDP)) {
		e->local_port = sl_get_be16(p + l4);
		e->remote_port = sl_get_be16(p + l4 + 2);
	}
	if (sent)
		return true;
	to = *e;
	e->local = to.remote;
	e->remote = to.local;
	e->local_port = to.remote_port;
	e->remote_port = to.local_port;
	return true;
}

/* Flows ---------------------------------------------------------------------------------------- */

static bool end_fits(const struct sl_capture_end *f, const struct sl_addr *a, uint16_t port)
{
	return (!f->port || f->port == port) &&
	       (sl_addr_is_any(&f->addr) || sl_addr_eq(&f->addr, a));
}

bool sl_capture_fits(const struct sl_capture_flow *f, const uint8_t *p, uint32_t len)
{
	struct sl_capture_ends e;

	if (!sl_capture_ends(p, len, true, &e) || (f->proto && f->proto != e.proto))
		return false;
	return (end_fits(&f->end[0], &e.local, e.local_port) &&
		end_fits(&f->end[1], &e.remote, e.remote_port)) ||
	       (end_fits(&f->end[1], &e.local, e.local_port) &&
		end_fits(&f->end[0], &e.remote, e.remote_port));
}

static bool parse_addr(char *text, struct sl_addr *a)
{
	size_t n = strlen(text);
	uint32_t w[4];

	if (!strcmp(text, "*"))
		return true;
	if (n > 2 && text[0] == '[' && text[n - 1] == ']') {
		text[n - 1] = 0;
		if (inet_pton(AF_INET6, text + 1, w) != 1)
			return false;
		*a = sl_addr_v6(w);
		return true;
	}
	if (inet_pton(AF_INET, text, w) != 1)
		return false;
	*a = sl_addr_v4(w[0]);
	return true;
}

static bool parse_end(char *text, struct sl_capture_end *e)
{
	char *colon = strrchr(text, ':');
	int port = 0;

	if (!colon || (strcmp(colon + 1, "*") && !sl_tool_number(colon + 1, 1, UINT16_MAX, &port)))
		return false;
	*colon = 0;
	e->port = (uint16_t)port;
	return parse_addr(text, &e->addr);
}

static uint8_t proto_of(const char *word)
{
	if (!strcmp(word, "tcp") || !strcmp(word, "tcp6"))
		return IPPROTO_TCP;
	return !strcmp(word, "udp") || !strcmp(word, "udp6") ? IPPROTO_UDP : 0;
}

/* Cuts the text into at most max words between blanks or single commas. -1: there are more. A comma
 * with nothing beside it makes an empty word. */
static int split(char *text, char **words, int max)
{
	bool comma = false;
	int n = 0;

	for (;;) {
		char *end;

		text += strspn(text, BLANKS);
		if (!*text && !comma)
			return n;
		if (n == max)
			return -1;
		words[n++] = text;
		end = text + strcspn(text, BLANKS ",");
		text = end + strspn(end, BLANKS);
		comma = *text == ',';
		text += comma;
		*end = 0;
	}
}

bool sl_capture_flow(const char *text, struct sl_capture_flow *f)
{
	char copy[192], *words[3], **w = words;
	size_t size = strlen(text) + 1;
	int n;

	if (size > sizeof(copy))
		return false;
	memcpy(copy, text, size);
	*f = (struct sl_capture_flow){0};
	n = split(copy, words, 3);
	if (n > 0 && (f->proto = proto_of(w[0])) != 0) {
		w++;
		n--;
	}
	if (n != 1 && n != 2)
		return false;
	return parse_end(w[0], &f->end[0]) &&
	       (n == 1 || !strcmp(w[1], "-") || parse_end(w[1], &f->end[1]));
}
