/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagram sockets move to the lane of the thread, or the core, that receives from them, or sends.
 *
 * Theory of operation: with a lane for each thread or core a socket begins on that of the thread
 * that names it. If another one receives, both take the same lane's lock, and one thread's turns
 * deliver packets for the other. So each receive call is counted; once in RING_MIGRATION_RATIO_RX
 * the calling thread compares its lane's key with the socket's. If they differ in a few more calls,
 * always by the same key, it asks the keeper to move the socket (a new lane's rings take
 * milliseconds to open). Send calls are counted alike (RING_MIGRATION_RATIO_TX), and move a socket
 * from which no thread receives; else two threads would pull at it.
 *
 * The keeper has the claims bring packets to the new lane first. Until it has taken all packets off
 * the old lane's rings those that come to the new one wait for them (sl_lane_cross(), after); then
 * the socket changes lanes, with its queue. A packet that the kernel puts on an old ring later is
 * passed on to the new lane. Claims on multicast groups move alike, if no other socket has copies
 * of their packets. A socket whose datagrams wait to be sent does not move, so its datagrams leave
 * in order; nor does one with other state of its lane: paces, time stamps of what it sends, packets
 * lent to the program. */
#include "base/log.h"
#include "base/settings.h"
#include "net/rtnl.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "stack/leg.h"

#define STABLE 20        /* VMA's CANDIDATE_STABILITY_ROUNDS */
#define LATER  (1 << 16) /* wishes in vain come ever later, up to so many receive calls */
#define TURNS  64

static bool wished; /* some socket has a wish; atomic */

static int32_t rx_ratio(void)
{
	return sl_max(sl_settings.ring_migration_ratio_rx, 0) + 1;
}

static int32_t tx_ratio(void)
{
	return sl_max(sl_settings.ring_migration_ratio_tx, 0) + 1;
}

void sl_sock_count_begin(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);

	us->moves = sl_lane_key_here() && sl_settings.ring_migration_ratio_rx >= 0;
	us->tx_moves = sl_lane_key_here() && sl_settings.ring_migration_ratio_tx >= 0;
	us->rx_follow.until = us->rx_follow.wait = rx_ratio();
	us->tx_follow.until = us->tx_follow.wait = tx_ratio();
}

/* True: the socket is to move to the lane of the calling thread. (Threads that use one socket at
 * once may lose counts of each other's.) */
static bool look(struct sl_sock *sk, struct sl_follow *f, uint64_t key, int32_t ratio)
{
	f->until = ratio;
	if (sl_lane_fits(sl_load_acquire(&sk->lane), key)) {
		f->key = 0;
	} else if (f->key != key) {
		f->key = key;
		f->stable = STABLE;
		f->until = 1;
	} else if (f->stable > 1) {
		f->stable--;
		f->until = 1;
	} else {
		f->key = 0;
		f->until = f->wait;
		f->wait = f->wait < LATER ? 2 * f->wait : f->wait;
		return true;
	}
	return false;
}

static void wish(struct sl_udp_sock *us, uint64_t key, bool tx)
{
	us->tx_wish = tx;
	sl_store(&us->wish, key);
	sl_store_release(&wished, true);
	sl_rtnl_wake();
}

static SL_APART void look_recv(struct sl_sock *sk)
{
	uint64_t key = sl_lane_key_here();

	if (look(sk, &sl_udp_sk(sk)->rx_follow, key, rx_ratio()))
		wish(sl_udp_sk(sk), key, false);
}

/* A receive call since the last look has changed rx_follow.until. */
static SL_APART void look_send(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	uint64_t key = sl_lane_key_here();
	int32_t seen = sl_load(&us->rx_follow.until);

	if (us->rx_until_seen != seen) {
		us->rx_until_seen = seen;
		us->tx_follow.key = 0;
		us->tx_follow.until = tx_ratio();
	} else if (look(sk, &us->tx_follow, key, tx_ratio())) {
		wish(us, key, true);
	}
}

void sl_sock_count_recv(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	int32_t left = sl_load(&us->rx_follow.until) - 1;

	sl_store(&us->rx_follow.until, left);
	if (sl_unlikely(left <= 0))
		look_recv(sk);
}

void sl_sock_count_send(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);

	if (sl_unlikely(--us->tx_follow.until <= 0))
		look_send(sk);
}

/* Moving --------------------------------------------------------------------------------------- */

static void elsewhere(struct sl_udp *u, struct sl_in *in)
{
	struct sl_udp_sock *us = sl_container_of(u, struct sl_udp_sock, udp);
	struct sl_lane *lane = sl_load(&u->lane);

	sl_lane_cross(in->lane, lane, us->sk.slot, in, sl_load(&us->moving));
}

/* Delivers what has come by the lane's rings until now. (A peer that sends without end must not
 * keep the thread here.) Lane held. */
static void take_all(struct sl_lane *lane)
{
	for (int i = 0; i < TURNS && sl_lane_turn_locked(lane) > 0; i++)
		;
}

/* True: nothing of the socket's belongs to its lane but the queue. Lane held. */
static bool is_free(struct sl_sock *sk, struct sl_lane *lane)
{
	const struct sl_udp_sock *us = sl_udp_sk(sk);

	sl_lane_reap(lane);
	return sk->state == SL_STATE_OFFLOADED && !us->extra && !us->pacer && !us->stamps &&
	       !sk->errq && !us->tx_blocked && !sl_load(&us->wmem);
}

static bool may_move(struct sl_sock *sk)
{
	struct sl_lane *lane;
	bool may;

	if (!sk->nfds || sk->parked || sk->forks != sl_load(&sl_forks) || !sl_sock_is_served(sk) ||
	    sl_sock_is_lent(sk) || sl_load(&sk->lane) == &sl_limbo ||
	    (sk->reuse && !sk->reuseport && sl_sock_has_twin(sk)) || !sl_sock_lock(sk, &lane))
		return false;
	may = is_free(sk, lane);
	sl_lane_unlock(lane);
	return may;
}

/* The new lane sends by the devices by which the old one does. */
static bool open_legs(const struct sl_lane *old, struct sl_lane *lane)
{
	for (uint32_t i = 0; i < old->nlegs; i++) {
		const struct sl_leg *leg = old->leg[i];

		if (!sl_leg_is_closed(leg) && !leg->dead && !leg->is_class &&
		    !sl_lane_leg(lane, leg->port))
			return false;
	}
	return true;
}

/* True: the lane has queues of a NIC (io/verbs.h, io/nic). While a rule goes from one queue to
 * another the kernel gets the packets, and they would overtake others; and a queue reports what it
 * has sent later than packets can wait on the new lane. */
static bool has_queues(const struct sl_lane *lane)
{
	for (uint32_t i = 0; i < lane->nlegs; i++)
		if (lane->leg[i]->verbs || (lane->leg[i]->nqueues && lane->leg[i]->xsk[0].verbs))
			return true;
	return false;
}

/* Takes what the old lane's rings have, then puts the socket on the new one. */
static bool change(struct sl_sock *sk, struct sl_lane *old, struct sl_lane *lane)
{
	if (!sl_lane_lock(old))
		return false;
	take_all(old);
	if (!is_free(sk, old)) {
		sl_lane_unlock(old);
		return false;
	}
	if (sl_udp_sk(sk)->tx_wish)
		sk->stats->tx_migrations++;
	else
		sk->stats->rx_migrations++;
	sl_mcast_change_lane(sk, lane);
	sl_sock_change_lane(sk, lane);
	return true;
}

/* Has the socket get what came by a lane that it leaves, which perhaps no thread turns now. */
static void sweep(struct sl_lane *lane)
{
	if (!sl_lane_lock(lane))
		return;
	take_all(lane);
	sl_lane_unlock(lane);
}

static bool move(struct sl_sock *sk, uint64_t key)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_lane *old = sk->lane, *lane = sl_lane_of_key(key);
	bool ok;

	if (!lane || lane == old)
		return lane == old;
	if (has_queues(old) || !open_legs(old, lane)) { /* which has been said, and takes long */
		us->moves = us->tx_moves = false;
		return false;
	}
	if (!sl_mcast_move_begin(sk))
		return false;
	sl_store(&sl_udp_elsewhere, elsewhere);
	sl_store(&sl_lane_catch_up, take_all);
	sl_store(&us->moving, true);
	sl_store_release(&us->udp.moved, true);
	ok = sl_sock_claims_to(sk, lane) && sl_mcast_claims_to(sk, lane) && change(sk, old, lane);
	sl_store(&us->moving, false);
	if (!ok) {
		sl_sock_claims_to(sk, old);
		sl_mcast_claims_to(sk, old);
	}
	sl_mcast_move_end(sk);
	if (ok)
		sl_debug("lane", "fd %d moves from lane %u to lane %u, of the thread that %s",
			 sk->fd, old->id, lane->id, us->tx_wish ? "sends" : "receives");
	sweep(ok ? old : lane);
	return ok;
}

static void look_at(struct sl_sock *sk, void *arg)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	uint64_t key;

	if (!sl_sock_is_udp(sk) || !sl_load(&us->wish))
		return;
	key = __atomic_exchange_n(&us->wish, 0, __ATOMIC_ACQUIRE);
	if (!(us->tx_wish ? us->tx_moves : us->moves) || !sl_trylock(&sk->slow))
		return;
	if (may_move(sk) && move(sk, key)) {
		sl_store(&us->rx_follow.wait, rx_ratio());
		sl_store(&us->tx_follow.wait, tx_ratio());
	}
	sl_unlock(&sk->slow);
}

void sl_sock_look_moves(void)
{
	if (sl_unlikely(sl_load(&wished)) && __atomic_exchange_n(&wished, false, __ATOMIC_ACQUIRE))
		sl_sock_for_each(look_at, NULL);
}
