/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP_CONGESTION by the name of an algorithm that is ours, and that the kernel has not got. The
 * shadow cannot hold such a name, so the socket does. */
#include "sock/stream/tcp_cc.h"

#include <errno.h>
#include <linux/tcp.h>

#include "base/log.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "tcp/loss/cc.h"

/* Its number, counted from 1; 0: it is not ours. */
static uint8_t find(const char *name)
{
	const char *const *ours = sl_tcp_congestions();

	for (uint8_t i = 0; ours[i]; i++)
		if (strcmp(ours[i], name) == 0)
			return (uint8_t)(i + 1);
	return 0;
}

bool sl_tcp_cc_has(const char *name)
{
	return find(name);
}

const char *sl_tcp_cc_own(const struct sl_sock *sk)
{
	return sk->cc ? sl_tcp_congestions()[sk->cc - 1] : NULL;
}

void sl_tcp_cc_give(const struct sl_sock *sk, struct sl_tcp *t, struct sl_tcp_listener *l)
{
	const char *name = sl_tcp_cc_own(sk);

	if (!name)
		return;
	if (t)
		sl_tcp_set_congestion(t, name);
	if (l)
		strncpy(l->congestion, name, sizeof(l->congestion) - 1);
}

int sl_tcp_cc_set(struct sl_sock *sk, const void *val, socklen_t len)
{
	struct sl_lane *lane;
	char name[16] = {0};
	uint8_t nr;

	memcpy(name, val, sl_min((size_t)len, sizeof(name) - 1));
	nr = find(name);
	if (!nr || sl_load(&sk->state) == SL_STATE_KERNEL || !sl_sock_lock(sk, &lane))
		return -ENOENT;
	sk->cc = nr & 7;
	if (sk->lsn)
		sl_tcp_cc_give(sk, NULL, &sk->lsn->tcp);
	if (sk->conn) {
		sl_lane_tcp_begin(lane);
		sl_tcp_cc_give(sk, &sk->conn->tcp, NULL);
		sl_lane_tcp_done(lane);
	}
	sl_lane_unlock(lane);
	return 0;
}

void sl_tcp_cc_forget(struct sl_sock *sk)
{
	struct sl_lane *lane;

	if (sl_likely(!sk->cc) || !sl_sock_lock(sk, &lane))
		return;
	sk->cc = 0;
	sl_lane_unlock(lane);
}

void sl_tcp_cc_leave(struct sl_sock *sk)
{
	if (sk->cc)
		sl_info("tcp",
			"fd %d goes on in the kernel, which has no congestion control %s: by the "
			"system's",
			sk->fd, sl_tcp_cc_own(sk));
	sl_tcp_cc_forget(sk);
}
