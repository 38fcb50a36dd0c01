/* SPDX-License-Identifier: BSD-2-Clause */
/* Values that strangers must not guess, made with a keyed hash (SipHash-2-4, Aumasson and
 * Bernstein, 2012): the key of the table's hash, initial sequence numbers (RFC 6528), time stamp
 * offsets (RFC 7323 5.4) and SYN cookies (RFC 4987 3.6). Numbers and offsets have a secret that a
 * user's programs share, the others one of this process; each hashed text starts with its use. */

#include "tcp/tcp_hash.h"
#include "tcp/tcp_host.h"
#include "wire/siphash.h"

#define COOKIE_PERIOD_US 60000000u
#define COOKIE_AGE       2 /* periods for which a cookie is good */
#define COOKIE_BITS      24
#define COOKIE_MASK      ((1u << COOKIE_BITS) - 1)

enum use { USE_TABLE, USE_ISN, USE_TS, USE_COOKIE_BASE, USE_COOKIE_DATA };

/* The segment sizes that a cookie can express: the largest that is not above the peer's is taken.
 * The values are those of Linux (net/ipv4/syncookies.c, net/ipv6/syncookies.c). */
static const uint16_t mss4[] = {SL_TCP_MSS_V4, 1300, 1440, 1460};
static const uint16_t mss6[] = {1280 - 60, 1480 - 60, 1500 - 60, 9000 - 60};

static uint64_t hash_key(const struct sl_tcp_host *h, enum use use, uint32_t x,
			 const struct sl_tcp_key *key)
{
	struct {
		uint32_t use, x;
		struct sl_addr local, remote;
		uint16_t lport, rport;
		uint32_t zero;
	} in = {use, x, key->local, key->remote, key->lport, key->rport, 0};

	return sl_siphash(use == USE_ISN || use == USE_TS ? h->keys->pair : h->keys->own, &in,
			  sizeof(in));
}

/* The table's hash: multilinear, strongly universal with a random key, so that a peer cannot
 * choose its port numbers to build collisions, at a tenth of SipHash's instructions (Lemire and
 * Kaser, "Strongly universal string hashing is fast", 2014). Its values are never visible
 * outside. */
void sl_tcp_keys_init(struct sl_tcp_keys *keys)
{
	for (uint32_t i = 0; i < sl_array_len(keys->table); i++) {
		struct {
			uint32_t use, i;
		} in = {USE_TABLE, i};

		keys->table[i] = sl_siphash(keys->own, &in, sizeof(in));
	}
}

uint32_t sl_tcp_key_hash(const struct sl_tcp_host *h, const struct sl_tcp_key *key)
{
	const uint64_t *k = h->keys->table;
	uint64_t sum = k[SL_TCP_KEY_WORDS];

	for (int i = 0; i < 4; i++)
		sum += k[i] * key->local.w[i] + k[4 + i] * key->remote.w[i];
	sum += k[8] * ((uint32_t)key->lport << 16 | key->rport);
	return (uint32_t)(sum >> 32);
}

/* An initial sequence number. The clock of RFC 9293 3.4.1 ticks every four microseconds. */
uint32_t sl_tcp_isn(struct sl_tcp_host *h, const struct sl_tcp_key *key)
{
	return (uint32_t)hash_key(h, USE_ISN, 0, key) + (uint32_t)(h->now_us / 4);
}

/* Successive connections of two ports have the same offset, so their time stamps never go back, and
 * a peer's TIME_WAIT can be reused (RFC 6191). With an offset for all ports of two hosts each
 * client behind one address would know the time stamps of the others (RFC 7323 7.1; Linux had that
 * until the spring of 2026). */
uint32_t sl_tcp_ts_offset(struct sl_tcp_host *h, const struct sl_tcp_key *key)
{
	return (uint32_t)hash_key(h, USE_TS, 0, key);
}

/* A cookie names its MSS by an index into the table of the address family, which the address of
 * the connection tells. */
static const uint16_t *mss_table(const struct sl_tcp_key *key)
{
	return sl_addr_is_v4(&key->remote) ? mss4 : mss6;
}

static uint32_t cookie_data(const struct sl_tcp_host *h, const struct sl_tcp_key *key,
			    uint32_t period)
{
	return (uint32_t)hash_key(h, USE_COOKIE_DATA, period, key);
}

static uint32_t period_now(const struct sl_tcp_host *h)
{
	return (uint32_t)(h->now_us / COOKIE_PERIOD_US);
}

/* Makes a cookie: eight bits of the period, and 24 bits in which a hash of the period hides the
 * index of the MSS; a hash with the peer's number is added to both. (Linux adds that number itself,
 * so any later segment by which both sides have moved as far passes for the ACK of the handshake
 * there.) */
uint32_t sl_tcp_cookie(struct sl_tcp_host *h, const struct sl_tcp_key *key,
		       const struct sl_tcp_seg *syn)
{
	uint16_t mss = syn->opts & SL_TCPO_MSS ? syn->mss : SL_TCP_MSS_V4;
	const uint16_t *table = mss_table(key);
	uint32_t period = period_now(h), i = sl_array_len(mss4) - 1;

	while (i && mss < table[i])
		i--;
	return (uint32_t)hash_key(h, USE_COOKIE_BASE, syn->seq, key) + (period << COOKIE_BITS) +
	       ((cookie_data(h, key, period) + i) & COOKIE_MASK);
}

uint16_t sl_tcp_cookie_check(struct sl_tcp_host *h, const struct sl_tcp_key *key, uint32_t cookie,
			     uint32_t peer_isn)
{
	uint32_t period = period_now(h), age, i;

	cookie -= (uint32_t)hash_key(h, USE_COOKIE_BASE, peer_isn, key);
	age = (period - (cookie >> COOKIE_BITS)) & 0xff;
	if (age >= COOKIE_AGE)
		return 0;
	i = (cookie - cookie_data(h, key, period - age)) & COOKIE_MASK;
	return i < sl_array_len(mss4) ? mss_table(key)[i] : 0;
}
