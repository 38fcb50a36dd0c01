/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of functions that a lower room calls and a room above it has. */
#include "sock/call/jobs.h"

#include "base/settings.h"
#include "base/sys.h"
#include "ctl/umem/umem.h"
#include "net/route.h"
#include "sock/call/devices.h"
#include "sock/call/dump.h"
#include "sock/call/last.h"
#include "sock/call/only.h"
#include "sock/core/life.h"
#include "sock/core/mail.h"
#include "sock/core/sock.h"
#include "sock/core/sock_ops.h"
#include "sock/core/spin.h"
#include "sock/dgram/dgram.h"
#include "sock/dgram/rivals.h"
#include "sock/listen/listen.h"
#include "sock/move/heirs.h"
#include "sock/move/move.h"
#include "sock/proc/capture.h"
#include "sock/proc/keeper.h"
#include "sock/stream/errq_tcp.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"

#define STRAY_NS 2000000000ull /* idle connections: does the kernel get their segments? */
#define STAY_NS  10000000      /* listeners that are closed wait for handshakes */

/* The keeper's jobs ----------------------------------------------------------------------------
 */

static uint64_t in_a_second(uint64_t now_ns, bool wanted)
{
	return wanted ? now_ns + SL_JOB_SECOND_NS : 0;
}

static uint64_t staying_due_ns(uint64_t now_ns, bool quiet)
{
	return sl_tlisten_staying() ? now_ns + STAY_NS : 0;
}

static uint64_t groups_due_ns(uint64_t now_ns, bool quiet)
{
	return in_a_second(now_ns, quiet && sl_mcast_in_use());
}

static void check_policy_if_due(void)
{
	if (sl_policy_is_due())
		sl_policy_check();
}

static uint64_t policy_due_ns(uint64_t now_ns, bool quiet)
{
	return in_a_second(now_ns, quiet && sl_policy_waits());
}

static void reap(void)
{
	sl_tconn_reap();
}

static uint64_t reap_due_ns(uint64_t now_ns, bool quiet)
{
	if (quiet && sl_tconn_reap())
		return now_ns + SL_JOB_SECOND_NS;
	return quiet && sl_tconn_in_use() ? now_ns + STRAY_NS : 0;
}

static uint32_t frames_born(void)
{
	return sl_pool.nframes ? sl_load(&sl_pool.share.head->born) : 0;
}

#define MEMORY_NEAR_NS 100000000ull /* two looks at what lanes do are near each other */
#define MEMORY_SOON_NS 20000000ull

static uint64_t memory_soon_ns; /* when the second look is due; 0: none. The keeper's */

static void add_packets(struct sl_lane *lane, void *sum)
{
	*(uint64_t *)sum += sl_load(&lane->loads) + sl_load(&lane->stats->tx_pkts);
}

/* A huge page takes the processor for milliseconds (MADV_COLLAPSE), which a program that works pays
 * for once and one that idles must not: the memory grows while packets come or go. */
static void grow_memory(uint64_t now_ns)
{
	static uint64_t looked_ns, before;
	uint64_t packets = 0;
	bool works, near;

	memory_soon_ns = 0;
	if (!sl_umem_grows(frames_born()))
		return;
	sl_lane_for_each(add_packets, &packets);
	works = packets != before;
	near = now_ns - looked_ns < MEMORY_NEAR_NS;
	before = packets;
	looked_ns = now_ns;
	if (works && near)
		sl_umem_grow(frames_born());
	else if (works)
		memory_soon_ns = now_ns + MEMORY_SOON_NS;
}

static uint64_t memory_due_ns(uint64_t now_ns, bool quiet)
{
	return memory_soon_ns;
}

/* (A filter of system calls may kill for files.) */
static void look_at_quota(uint64_t now_ns)
{
	if (!sl_inherit_is_confined())
		sl_spin_look_at_quota(now_ns);
}

/* The keeper runs them in this order. Each has one of run() and run_at(). */
static const struct sl_job jobs[] = {
	{"devices that a call did not wait for", SL_JOB_ROUND, NULL, sl_devices_look_late,
	 sl_devices_late_due_ns},
	{"events of the kernel in a storm", SL_JOB_ROUND, NULL, sl_net_storm, sl_net_storm_ns},
	{"sockets that other threads read", SL_JOB_ROUND, sl_sock_look_moves, NULL, NULL},
	{"connections without a neighbour", SL_JOB_ROUND, NULL, sl_opening_look, sl_opening_due_ns},
	{"connections that wait long", SL_JOB_ROUND, NULL, sl_tlisten_look_stalled, NULL},
	{"listeners that serve children", SL_JOB_ROUND, sl_tlisten_look_forked, NULL, NULL},
	{"closed listeners", SL_JOB_ROUND, sl_tlisten_look_staying, NULL, staying_due_ns},
	{"sockets of other programs", SL_JOB_SECOND, NULL, sl_rivals_look, NULL},
	{"multicast groups", SL_JOB_SECOND, sl_mcast_recheck, NULL, groups_due_ns},
	{"devices", SL_JOB_SECOND, NULL, sl_devices_look, sl_devices_due_ns},
	{"devices to open anew", SL_JOB_ROUND, NULL, sl_devices_look_lost, sl_devices_lost_due_ns},
	{"CPU quota", SL_JOB_ROUND, NULL, look_at_quota, NULL},
	{"policy", SL_JOB_SECOND, sl_policy_check, NULL, policy_due_ns},
	{"rates of destinations", SL_JOB_SECOND, sl_paces_check, NULL, NULL},
	{"policy, soon", SL_JOB_ROUND | SL_JOB_EVENTS, check_policy_if_due, NULL,
	 sl_policy_soon_ns},
	{"programs of the control group", SL_JOB_SECOND, sl_only_look, NULL, NULL},
	{"settings of the machine", SL_JOB_SYSCTL, sl_tconn_follow_settings, NULL, NULL},
	{"dead connections", SL_JOB_SECOND, reap, NULL, reap_due_ns},
	{"peers that take nothing", SL_JOB_SECOND, NULL, sl_stuck_look, sl_stuck_due_ns},
	{"packet memory that is used", SL_JOB_ROUND, NULL, grow_memory, memory_due_ns},
	{"counters of streams", SL_JOB_SECOND, sl_tcp_stat, NULL, NULL},
	{"sluice stat", SL_JOB_READER, sl_dump_serve, NULL, NULL},
	{"sluice flow", SL_JOB_READER, sl_flow_serve, NULL, NULL},
	{"sluice capture", SL_JOB_READER, sl_capture_serve, NULL, sl_capture_due_ns},
	{"sockets that were given", SL_JOB_ROUND, NULL, sl_given_look, sl_given_due_ns},
	{"datagram sockets that are lent", SL_JOB_ROUND, NULL, sl_lent_look, sl_lent_due_ns},
	{"letters of children", SL_JOB_ROUND, NULL, sl_mail_wake, sl_mail_due_ns},
	{"connections without a number", SL_JOB_ROUND, NULL, sl_heirs_look, sl_heirs_due_ns},
	{"closed connections that threads sleep on", SL_JOB_ROUND, NULL, sl_sock_awaited_look,
	 sl_sock_awaited_due_ns},
	{"a process without threads", SL_JOB_ROUND, NULL, sl_last_look, sl_last_due_ns},
	{"peers without a way back", SL_JOB_WOKEN, sl_strays_let_pass, NULL, NULL},
};

/* Letters -------------------------------------------------------------------------------------- */

static enum sl_letter_use use_of(const struct sl_sock *sk)
{
	return sl_tlisten_is_shared(sk) ? SL_USE_ACCEPT : SL_USE_ANY;
}

static void follow(struct sl_sock *sk, enum sl_letter_use use)
{
	if (!sl_tlisten_is_shared(sk) && use != SL_USE_LEND)
		use = SL_USE_ANY;
	if (use == SL_USE_LEND && sl_sock_lend(sk))
		return;
	if (use == SL_USE_SHARE && sl_tlisten_share(sk))
		return;
	if (use == SL_USE_SHARE)
		sk->heir = true;
	if (use == SL_USE_ACCEPT)
		sl_tlisten_for_others(sk);
	sl_sock_kernel(sk, SL_REASON_FORKED);
}

static const struct sl_mail_ops letters = {
	.use_of = use_of,
	.follow = follow,
	.left = sl_heirs_look_now,
	.send = sl_heirs_send,
	.receive = sl_heirs_receive,
	.file_of_children = sl_heirs_file,
};

/* Streams --------------------------------------------------------------------------------------
 */

static int stream_start(struct sl_sock *sk)
{
	/* (A socket with an error queue is one that send calls look at closely.) */
	if (sl_settings.latency_stats && sl_errq_make(sk))
		sk->want |= SL_WANT_TIMES;
	return 0;
}

static void stream_left(struct sl_sock *sk, struct sl_lane *lane, bool keep_queue)
{
	if (sk->errq)
		sl_errq_unmark(sk->errq, &lane->frames);
}

static bool stream_needs_kernel(struct sl_sock *sk)
{
	if (sk->lsn)
		sk->lsn->others = true;
	return sk->state == SL_STATE_OFFLOADED;
}

static bool stream_stays(struct sl_sock *sk)
{
	return sk->lsn && sl_tlisten_stay(sk);
}

static void stream_close(struct sl_sock *sk, int fd)
{
	sl_tcp_sock_stat(sk);
	sl_tcp_sock_close(sk, fd);
}

static void stream_ended(struct sl_sock *sk)
{
	sl_heirs_drop(sk);
	sl_tlisten_closed(sk);
}

static uint32_t stream_counts_from(const struct sl_sock *sk, bool next)
{
	return !sk->conn ? 0 : next ? sk->conn->tcp.write_seq : sk->conn->tcp.snd_una;
}

static bool stream_child(struct sl_sock *sk)
{
	sl_heirs_child(sk);
	if (sl_sock_stays(sk) || sk->parked)
		return false;
	sk->heir |= sk->lsn || sl_tlisten_is_shared(sk);
	return sl_inherit_wants(sk);
}

/* A listener is a stream, too; sk->lsn tells. */
static const struct sl_sock_ops stream_ops = {
	.start = stream_start,
	.to_kernel = sl_tcp_sock_kernel,
	.left = stream_left,
	.parks = sl_heirs_park,
	.needs_kernel = stream_needs_kernel,
	.stays = stream_stays,
	.close = stream_close,
	.ended = stream_ended,
	.count_from = stream_counts_from,
	.child = stream_child,
};

void sl_jobs_set(void)
{
	sl_sock_set_ops(&sl_dgram_ops, &stream_ops);
	sl_sock_on_use = sl_inherit_used;
	sl_keeper_set_jobs(jobs, sl_array_len(jobs));
	sl_mail_set_ops(&letters);
}
