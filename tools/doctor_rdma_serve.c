/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice doctor --rdma-server: sends back what clients of `sluice doctor --rdma` send, one client
 * after the other. */
#include "doctor.h"

#if __has_include(<infiniband/verbs.h>)
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "rdma_step.h"

#define SILENT_NS 15000000000ll /* a client that sends nothing for so long is gone */

struct server {
	const struct sl_rdma_lib *lib;
	struct sl_rdma_channel *ch;
	struct sl_rdma_id *listener;
	struct sl_rdma_id *id; /* of the client; NULL: there is none */
	struct sl_rdma_pair pair;
	unsigned echoed[SL_RDMA_KINDS];
	int64_t heard_ns; /* when the client was heard of last */
	bool once, done;
};

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static const char *peer_text(const struct sl_rdma_id *id, char *buf, socklen_t len)
{
	if (getnameinfo((const struct sockaddr *)&id->dst, sizeof(id->dst), buf, len, NULL, 0,
			NI_NUMERICHOST))
		snprintf(buf, len, "a client");
	return buf;
}

static void end_client(struct server *s)
{
	char buf[64];

	sl_say_note("%s: %u messages and %u datagrams sent back",
		    peer_text(s->id, buf, sizeof(buf)), s->echoed[SL_RDMA_RC],
		    s->echoed[SL_RDMA_UD]);
	fflush(stdout);
	s->lib->disconnect(s->id);
	sl_rdma_pair_fini(&s->pair);
	s->lib->destroy_id(s->id);
	s->id = NULL;
	s->done = s->once;
}

/* Serves a client that asks, unless another is served or it is no client of ours. */
static void begin_client(struct server *s, const struct sl_rdma_heard *h)
{
	struct sl_rdma_hello mine;
	struct sl_rdma_param param;
	int err;

	if (s->id || ntohl(h->hello.magic) != SL_RDMA_MAGIC) {
		s->lib->reject(h->id, NULL, 0);
		s->lib->destroy_id(h->id);
		return;
	}
	s->id = h->id;
	s->heard_ns = sl_rdma_now_ns();
	memset(s->echoed, 0, sizeof(s->echoed));
	err = sl_rdma_pair_init(&s->pair, s->lib, h->id);
	if (!err)
		err = sl_rdma_pair_ready(&s->pair, &h->hello);
	if (err) {
		sl_rdma_fail_pair(&s->pair, err);
		s->lib->reject(h->id, NULL, 0);
	} else {
		param = sl_rdma_param_of(&s->pair, &mine);
		if (!s->lib->accept(h->id, &param))
			return;
		/* (The kernel has rejected the client by then.) */
		sl_rdma_fail("rdma_accept", -errno, NULL);
	}
	end_client(s);
}

static void on_event(struct server *s, const struct sl_rdma_heard *h)
{
	if (h->type == SL_RDMA_CONNECT_REQUEST)
		begin_client(s, h);
	else if (s->id && h->id == s->id &&
		 (h->type == SL_RDMA_DISCONNECTED || h->type == SL_RDMA_CONNECT_ERROR ||
		  h->type == SL_RDMA_UNREACHABLE || h->type == SL_RDMA_REJECTED ||
		  h->type == SL_RDMA_DEVICE_REMOVAL))
		end_client(s);
}

/* Sends back what has come. */
static void echo(struct server *s)
{
	struct sl_rdma_got got;
	int n = 0;

	for (unsigned tries = 0; tries < 100; tries++) {
		n = sl_rdma_pair_poll(&s->pair, &got);
		if (n < 0)
			break;
		if (!n)
			continue;
		s->heard_ns = sl_rdma_now_ns();
		/* (A client waits for each echo, so there is room for it.) */
		if (!sl_rdma_pair_send(&s->pair, got.kind, got.bytes, got.len))
			s->echoed[got.kind]++;
	}
	if (n < 0 || sl_rdma_now_ns() - s->heard_ns > SILENT_NS)
		end_client(s);
	sched_yield();
}

static bool start(struct server *s, const struct addrinfo *at)
{
	errno = ENODEV;
	s->ch = s->lib->create_event_channel();
	if (!s->ch)
		return sl_rdma_fail("rdma_create_event_channel", -errno, NULL), false;
	if (s->lib->create_id(s->ch, &s->listener, NULL, SL_RDMA_PS_TCP))
		return sl_rdma_fail("rdma_create_id", -errno, NULL), false;
	if (s->lib->bind_addr(s->listener, at->ai_addr))
		return sl_rdma_fail("rdma_bind_addr", -errno, NULL), false;
	if (s->lib->listen(s->listener, 4))
		return sl_rdma_fail("rdma_listen", -errno, NULL), false;
	return true;
}

static void serve(struct server *s, const sigset_t *mask)
{
	struct sl_rdma_heard h;

	while (!stopped && !s->done) {
		int err = sl_rdma_hear(s->lib, s->ch, s->id ? 0 : -1, mask, &h);

		if (!err)
			on_event(s, &h);
		else if (err != -ETIMEDOUT && err != -EINTR)
			return sl_rdma_fail("rdma_get_cm_event", err, NULL);
		if (s->id)
			echo(s);
	}
}

void sl_doctor_rdma_serve(const char *where, const struct sl_rdma_test *t)
{
	struct sigaction act = {.sa_handler = on_signal};
	struct server s = {.once = t->once};
	struct addrinfo *at;
	sigset_t ends, before;

	sl_say_about("rdma", NULL);
	s.lib = sl_rdma_load();
	at = s.lib ? sl_rdma_look_up(where) : NULL;
	if (!at)
		return;
	/* The signals come only while serve() waits, so that it misses none. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &before);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	if (start(&s, at)) {
		sl_say_good("serves sluice doctor --rdma at %s",
			    where ? where : "each address, port " SL_RDMA_PORT);
		fflush(stdout);
		serve(&s, &before);
	}
	if (s.id)
		end_client(&s);
	if (s.listener)
		s.lib->destroy_id(s.listener);
	if (s.ch)
		s.lib->destroy_event_channel(s.ch);
	freeaddrinfo(at);
}
#else
void sl_doctor_rdma_serve(const char *where, const struct sl_rdma_test *t)
{
	(void)where;
	sl_doctor_rdma("", t);
}
#endif
