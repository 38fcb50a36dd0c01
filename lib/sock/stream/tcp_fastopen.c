/* SPDX-License-Identifier: BSD-2-Clause */
/* Fast Open of connections of ours (RFC 7413, net/ipv4/tcp_fastopen.c): the process's memory of
 * cookies, and sendto(MSG_FASTOPEN).
 *
 * Theory of operation: cookies are kept for a pair of addresses, a bounded number of them: the one
 * that was used longest ago of a row of four gives way. A destination to which a SYN with option or
 * data was lost twice is left alone for a while, twice as long each time (4.1.3.1). */
#include <errno.h>
#include <linux/tcp.h>
#include <sys/mman.h>

#include "base/apart.h"
#include "base/clock.h"
#include "base/sys.h"
#include "sock/core/iov.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "tcp/listen/tcp_fastopen.h"
#include "tcp/tcp_user.h"

#define ROWS          64
#define WAYS          4
#define TFO_CLIENT    1u /* bits of tcp_fastopen */
#define TFO_NO_COOKIE 4u
#define LOSSES        2              /* so many in a row, and it is left alone */
#define ALONE_NS      60000000000ull /* for so long, the first time */
#define LOSSES_MAX    10
#define TRIES_MAX     2
#define KEY_FILE      "/proc/sys/net/ipv4/tcp_fastopen_key"
/* Limit for a SYN's data: a SYN of the kernel's must be able to carry the same if the answer comes
 * by another route (repair_syn.c), whose MTU may be 1,500. */
#define MSS_ALL_WAYS(key) (sl_addr_is_v4(&(key)->remote) ? 1460 : 1440)

struct entry {
	struct sl_addr local, remote;
	uint64_t used_ns; /* 0: free */
	uint64_t lost_ns; /* the last loss */
	uint16_t mss;
	uint8_t losses; /* in a row */
	uint8_t len;    /* 0: no cookie */
	bool exp;       /* the cookie came by the experimental option */
	uint8_t tries;  /* answers without a cookie: after the first that option is tried once */
	uint8_t cookie[SL_TCP_TFO_MAX];
};
static struct entry table[ROWS][WAYS];
static struct sl_lock table_lock; /* a leaf */

static struct entry *row_of(const struct sl_tcp_key *key)
{
	return table[sl_addr_mix(sl_addr_mix(0, &key->local), &key->remote) >> 58 & (ROWS - 1)];
}

/* The pair's entry, used now. NULL: there is none; make: in place of the oldest. Lock held. */
static struct entry *find(const struct sl_tcp_key *key, bool make)
{
	struct entry *row = row_of(key), *old = row;

	for (unsigned i = 0; i < WAYS; i++) {
		struct entry *e = &row[i];

		if (e->used_ns && sl_addr_eq(&e->remote, &key->remote) &&
		    sl_addr_eq(&e->local, &key->local)) {
			e->used_ns = sl_now_ns();
			return e;
		}
		if (e->used_ns < old->used_ns)
			old = e;
	}
	if (!make)
		return NULL;
	*old = (struct entry){.local = key->local, .remote = key->remote, .used_ns = sl_now_ns()};
	return old;
}

static struct entry look_up(const struct sl_tcp_key *key)
{
	struct entry e = {0}, *found;

	if (!sl_lock(&table_lock))
		return e;
	found = find(key, false);
	if (found)
		e = *found;
	sl_unlock(&table_lock);
	return e;
}

void sl_tcp_fastopen_learn(const struct sl_tcp_key *key, const struct sl_tcp_seg *synack,
			   unsigned how)
{
	struct entry *e;

	if (!sl_lock(&table_lock))
		return;
	e = find(key, true);
	if (synack->opts & SL_TCPO_MSS)
		e->mss = synack->mss;
	if (synack->opts & SL_TCPO_TFO && synack->tfo_len) {
		e->len = synack->tfo_len;
		e->exp = synack->opts & SL_TCPO_TFO_EXP;
		memcpy(e->cookie, synack->tfo, e->len);
	} else if (!e->len && how & SL_TFO_ASKED && e->tries < TRIES_MAX) {
		/* tcp_rcv_fastopen_synack() */
		e->exp = ++e->tries == 1;
	}
	if (!(how & SL_TFO_LOST))
		e->losses = 0;
	else if (e->losses < LOSSES_MAX)
		e->losses++;
	if (how & SL_TFO_LOST)
		e->lost_ns = sl_now_ns();
	sl_unlock(&table_lock);
}

static bool is_left_alone(const struct entry *e)
{
	return e->losses >= LOSSES && sl_now_ns() - e->lost_ns < ALONE_NS << (e->losses - LOSSES);
}

/* tcp_fastopen_cookie_check() */
void sl_tcp_fastopen_choose(const struct sl_sock *sk, struct sl_tcp *t,
			    const struct sl_tcp_key *key)
{
	const struct sl_route_tcp *route;
	struct entry e;

	if (!(sk->tfo_connect || sk->tfo_now) || !(sl_tcp_params.tfo & TFO_CLIENT))
		return;
	e = look_up(key);
	if (is_left_alone(&e))
		return;
	route = t->host->ops->route(t->host, t, NULL, key, 0).tcp;
	/* Without memory it is a connection as any. */
	(void)sl_tcp_fast_open(t, e.cookie, e.len,
			       sk->tfo_no_cookie || sl_tcp_params.tfo & TFO_NO_COOKIE ||
				       (route && route->tfo_no_cookie),
			       e.exp, sl_min(e.mss, MSS_ALL_WAYS(key)));
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads a key as the kernel writes it: four groups of eight digits, each a number whose lowest byte
 * comes first in the key. False: there is none. */
static bool read_key(const char **text, uint8_t key[16])
{
	const char *p = *text;

	for (unsigned i = 0; i < 16; i++, p += 2) {
		int hi, lo;

		if (i && i % 4 == 0 && *p++ != '-')
			return false;
		hi = hex_digit(p[0]);
		lo = hi < 0 ? -1 : hex_digit(p[1]);
		if (lo < 0)
			return false;
		key[i ^ 3] = (uint8_t)(hi << 4 | lo);
	}
	*text = *p == ',' ? p + 1 : p;
	return true;
}

struct machine_keys {
	uint8_t key[SL_TCP_TFO_KEYS][16];
};

/* This process's children have zeros there: root alone may read the file, and a child may become
 * any user. */
static struct machine_keys *place;

/* NULL: no memory. */
static struct machine_keys *place_of_keys(void)
{
	struct machine_keys *at = sl_load_acquire(&place), *none = NULL;

	if (at)
		return at;
	at = sl_apart_secret(sizeof(*at));
	if (!at || __atomic_compare_exchange_n(&place, &none, at, false, __ATOMIC_ACQ_REL,
					       __ATOMIC_ACQUIRE))
		return at;
	sl_sys(SYS_munmap, at, sizeof(*at));
	return none;
}

/* The keys of the network namespace, where this process may read them. (Threads that read them at
 * the same time write the same.) */
static uint8_t machine_keys(struct sl_tcp_listener *l)
{
	struct machine_keys *to = place_of_keys();
	char text[96]; /* two keys */
	const char *p = text;
	uint8_t n = 0;

	if (!to || sl_read_text_aside(KEY_FILE, text, sizeof(text)) <= 0)
		return 0;
	while (n < SL_TCP_TFO_KEYS && read_key(&p, to->key[n]))
		n++;
	sl_apart_wipe(text, sizeof(text));
	l->tfo_key = to->key;
	return n;
}

/* The listener's own keys, which its socket tells to any user (TCP_FASTOPEN_KEY), else those of the
 * machine. So a cookie is good for the kernel and for every process, and after a restart. */
void sl_tcp_fastopen_keys(struct sl_tcp_listener *l)
{
	const struct sl_tlisten *lsn = sl_container_of(l, struct sl_tlisten, tcp);
	socklen_t len = sizeof(l->tfo_own);

	if (sl_sys_getsockopt(lsn->sk->fd, IPPROTO_TCP, TCP_FASTOPEN_KEY, l->tfo_own, &len) < 0)
		len = 0;
	l->tfo_key = l->tfo_own;
	l->ntfo_keys = (uint8_t)(len / sizeof(l->tfo_own[0]));
	if (!l->ntfo_keys)
		l->ntfo_keys = machine_keys(l);
}

void sl_tcp_fastopen_part(void)
{
	if (place)
		sl_apart_wipe(place, sizeof(*place));
}

bool sl_tcp_fastopen_is_on(void)
{
	return sl_tcp_params.tfo & TFO_CLIENT;
}

/* After fork: the entries are good, but the thread that held the lock is not here. */
void sl_tcp_fastopen_child(void)
{
	memset(&table_lock, 0, sizeof(table_lock));
}

/* Sends the SYN, with data if it may; how many bytes went along. Lane not held. */
size_t sl_tcp_fastopen_syn(struct sl_sock *sk, const struct iovec *iov, size_t niov, bool waits)
{
	struct sl_lane *lane;
	long n = 0;

	if (!sl_sock_lock(sk, &lane))
		return 0;
	if (sk->conn && sk->conn->tcp.tfo_defer) {
		sl_lane_tcp_begin(lane);
		n = sl_tcp_write(&sk->conn->tcp, iov, niov, 0, false, false);
		sk->conn->tcp.data_follow |= waits && (ssize_t)n < sl_iov_bytes(iov, niov);
		sl_lane_tcp_done(lane);
	}
	sl_lane_unlock(lane);
	if (n > 0)
		sk->stats->tx_bytes += (uint64_t)n;
	return n > 0 ? (size_t)n : 0;
}
