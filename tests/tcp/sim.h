/* SPDX-License-Identifier: BSD-2-Clause */
/* A deterministic network for the TCP of lib/tcp: hosts that run the real objects, pipes between
 * them that do to packets whatever a seed says, and one virtual clock. Nothing here reads a clock
 * or sleeps; the same seed gives the same run to the byte.
 *
 * A program (a test) makes a struct sim, hosts and pipes, opens connections with callbacks, and
 * calls sim_run(). With SIM_TRACE=1 in the environment each packet is printed. */
#ifndef SIM_H
#define SIM_H

#include <stdio.h>
#include <stdlib.h>

#include "tcp/listen/tcp_listen.h"
#include "tcp/tcp.h"

#define SIM_MAX_HOSTS 24
#define SIM_SECOND    1000000ull
#define SIM_FOREVER   UINT64_MAX

struct sim;
struct sim_host;
struct sim_conn;

/* Random numbers (splitmix64): every choice of a run comes from here. */
struct sim_rng {
	uint64_t s;
};
uint64_t sim_rand(struct sim_rng *r);
uint32_t sim_below(struct sim_rng *r, uint32_t n); /* [0, n), n above 0 */
bool sim_chance(struct sim_rng *r, uint32_t ppm);
static inline uint32_t sim_range(struct sim_rng *r, uint32_t lo, uint32_t hi)
{
	return lo + sim_below(r, hi - lo + 1);
}

/* A link in one direction. All zero: an ideal link. */
struct sim_pipe {
	uint32_t delay_us, jitter_us; /* each packet: delay + [0, jitter], kept in order */
	uint32_t loss_ppm, dup_ppm, corrupt_ppm;
	uint32_t reorder_ppm, reorder_us; /* so many come up to that much later */
	uint64_t rate;                    /* bytes a second, 0: no limit */
	uint32_t queue_bytes;             /* at a rate: what may wait, 0: no limit */
	uint32_t mark_bytes;              /* ECN: mark when more waits, 0: never */
	uint32_t mtu;                     /* of the path, 0: no limit */
	bool black_hole;                  /* too big packets vanish without ICMP */
	uint64_t down_from, down_to;      /* nothing passes in this time */
	/* what it is doing */
	uint64_t busy_until_ns, last_arrival;
	uint64_t pkts, bytes, drops, marks;
};

/* A packet on its way; key is the receiver's (local is the receiver's address). */
struct sim_pkt {
	struct sl_tcp_key key;
	struct sl_tcp_seg seg;
	uint32_t frame; /* SL_NO_FRAME: no payload */
	uint16_t off;
	uint8_t from, to;
};

/* A connection and its program. Callbacks may call anything. */
struct sim_app {
	void (*event)(struct sim_conn *c, uint32_t events);
	void (*timer)(struct sim_conn *c); /* of sim_conn_timer() */
	void (*accepted)(struct sim_conn *c);
	void (*freed)(struct sim_conn *c); /* the last that is heard of it */
};
struct sim_conn {
	struct sl_tcp tcp;
	struct sim_host *host;
	const struct sim_app *app;
	void *arg; /* the program's */
	struct sim_conn *ready_next;
	uint32_t events;
	bool ready, closed_by_app, dead;
	uint32_t timer_gen; /* a timer of an older one is void */
	uint32_t ntimers;   /* under way: the memory stays until they have come */
};

struct sim_listener {
	struct sl_tcp_listener tcp;
	struct sim_host *host;
	struct sim_listener *next;
	uint16_t port;
	bool held; /* nobody accepts */
	const struct sim_app *app;
	void *arg; /* given to the connections */
};

struct sim_host {
	struct sl_tcp_host tcp;
	struct sl_tcp_keys keys;
	struct sl_frames frames;
	struct sim *sim;
	uint8_t idx;
	bool v6;
	uint16_t mtu; /* of the device */
	struct sl_tcp_params params;
	uint64_t clock_off_us; /* its clock is ahead of the simulator's */
	uint32_t tx_ring;      /* packets that the device takes at once, 0: any number */
	uint32_t tx_us;        /* a packet leaves the device up to so much later, 0: at once */
	uint32_t tx_out;
	bool tx_refused;
	uint32_t nic_us;      /* the device paces data: a segment takes so long; 0: it does not */
	uint64_t nic_free_us; /* when it will have sent all */
	struct sim_listener *listeners;
	struct sim_conn *ready;
	struct sim_pipe *to[SIM_MAX_HOSTS];
	uint64_t next_us; /* of its timers */
	uint32_t nconns;
	uint64_t count[SL_TCPC_COUNT];
	uint32_t tfo_answers, tfo_losses, tfo_asked; /* of ops->tfo_answer */
	uint8_t tfo[SL_TCP_TFO_MAX], tfo_len;
	uint16_t tfo_mss;
	bool busy;    /* in step: owes a flush */
	bool in_turn; /* more segments of this turn come: what is owed waits */
};

struct sim_event {
	uint64_t at_us, order;
	uint8_t kind;
	uint8_t host;
	uint32_t gen;
	void *obj;
};

struct sim {
	uint64_t now_us;
	struct sim_rng rng;
	struct sim_host *host[SIM_MAX_HOSTS];
	uint8_t nhosts;
	struct sim_event *heap;
	uint32_t nheap, heapsize;
	uint64_t order;
	struct sim_pipe pipes[SIM_MAX_HOSTS * SIM_MAX_HOSTS];
	uint32_t npipes;
	uint32_t eager_ppm; /* after so many packets the host flushes at once */
	bool trace;
	/* Sees every packet that leaves a device; true: it took the packet and owns the frame. */
	bool (*tap)(struct sim *s, struct sim_pkt *p);
	void *arg;
	uint64_t steps, delivered_pkts;
	char what[256]; /* said when something is wrong */
};

/* frame_shift, nframes: the pool that all hosts share (made anew). */
void sim_init(struct sim *s, uint64_t seed, uint32_t nframes, uint32_t frame_shift);
/* All hosts are ended; dies when a frame, a record or a timer was left. */
void sim_fini(struct sim *s);
struct sim_host *sim_host_new(struct sim *s, bool v6);
/* A pipe from a to b; more than one pair may share one. */
struct sim_pipe *sim_pipe_new(struct sim *s);
void sim_connect_hosts(struct sim_host *a, struct sim_host *b, struct sim_pipe *ab,
		       struct sim_pipe *ba);
void sim_key(const struct sim_host *a, uint16_t aport, const struct sim_host *b, uint16_t bport,
	     struct sl_tcp_key *key);

struct sim_listener *sim_listen(struct sim_host *h, uint16_t port, uint32_t backlog,
				const struct sim_app *app, void *arg);
void sim_listener_free(struct sim_listener *l);
/* An idle connection of h; options may be set before it is opened. */
struct sim_conn *sim_conn_new(struct sim_host *h, const struct sim_app *app, void *arg);
int sim_open(struct sim_conn *c, uint16_t lport, struct sim_host *to, uint16_t port);
/* The program lets go of it; linger_ms as sl_tcp_close(). c may be gone afterwards. */
void sim_close(struct sim_conn *c, int linger_ms);
/* Calls app->timer then; a later call replaces it, SIM_FOREVER: none. */
void sim_conn_timer(struct sim_conn *c, uint64_t at_us);
/* A call was made from outside of a callback: what follows from it. */
void sim_host_kick(struct sim_host *h);

/* Until `until`, or until nothing is left to happen (false then). */
bool sim_run(struct sim *s, uint64_t until_us);
/* Runs a single instant. */
bool sim_step(struct sim *s, uint64_t until_us);

/* Hands a packet to host p->to now, as the wire would. */
void sim_deliver(struct sim *s, struct sim_pkt *p);
void sim_pkt_free(struct sim *s, struct sim_pkt *p);
void sim_print(const struct sim *s, const struct sim_pkt *p, const char *what);

/* Dies when c is not sound (sim_check.c). */
void sim_check_conn(const struct sim *s, const struct sl_tcp *c);

/* Says why, with the run's name (s->what), and aborts. */
void sim_die(const struct sim *s, const char *fmt, ...) __attribute__((noreturn)) SL_PRINTF(2, 3);
#define sim_check(s, cond)                                                                         \
	do {                                                                                       \
		if (!(cond))                                                                       \
			sim_die(s, "%s:%d: not so: %s", __FILE__, __LINE__, #cond);                \
	} while (0)

/* Between the simulator's files */
enum { SIM_EV_ARRIVE, SIM_EV_SENT, SIM_EV_APP, SIM_EV_ICMP };
struct sim_icmp {
	struct sl_tcp_key key; /* the sender's */
	uint32_t seq, mtu;
};
/* A packet that its device has not read yet: the frame is still the core's. */
struct sim_tx {
	struct sim_pkt pkt;
	uint64_t psum;
};
/* The device reads the frame: its copy goes on the wire. */
void sim_leave_device(struct sim *s, struct sim_tx *t, struct sim_host *h);
void sim_unready(struct sim_conn *c); /* takes it off the list of those whose program is told */
extern const struct sl_tcp_ops sim_ops;
void sim_push(struct sim *s, struct sim_event e);
void sim_trace(const struct sim *s, const struct sim_pkt *p, const char *what);
/* p leaves its device; it is the wire's now. */
void sim_on_wire(struct sim *s, struct sim_pkt *p);
/* The key of the same connection, seen from the other end. */
struct sl_tcp_key sim_turned(const struct sl_tcp_key *k);

#endif
