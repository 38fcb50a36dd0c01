/* SPDX-License-Identifier: BSD-2-Clause */
/* Handlers of requests. */
#ifndef SL_HANDLERS_H
#define SL_HANDLERS_H

#include "session.h"

/* Serves a request: reads it from m, leaves the answer in m; 0, or -errno and *why. */
typedef int sl_request_fn(struct sl_session *s, struct sl_lease_msg *m, const char **why);

int sl_on_umem(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_port_open(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_port_close(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_port_alive(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_port_tags(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_vlan_leave(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_unguard(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_strays(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_neigh(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_lane_open(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_lane_bind(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_lane_close(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_claim(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_claim_update(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_unclaim(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_drop(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_buffer(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_holders(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_inject(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_restore(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_restored(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_take(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_conns(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_box(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_unbox(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_status(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_show_port(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_show_lease(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_drain(struct sl_session *s, struct sl_lease_msg *m, const char **why);

#endif
