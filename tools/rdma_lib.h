/* SPDX-License-Identifier: BSD-2-Clause */
/* librdmacm and libibverbs, loaded when a test of a path by RDMA wants them: no tool needs them to
 * start. */
#ifndef SL_TOOLS_RDMA_LIB_H
#define SL_TOOLS_RDMA_LIB_H

#include <infiniband/verbs.h>
#include <sys/socket.h>

#include "base/base.h"

/* A macro of this name calls functions that are not in the table below. */
#undef ibv_reg_mr

/* Facts of librdmacm's ABI, which has been librdmacm.so.1 since 2006: the first fields of its
 * structures, and constants. Machines that build the tools need no header of it. */
enum sl_rdma_event_type {
	SL_RDMA_ADDR_RESOLVED,
	SL_RDMA_ADDR_ERROR,
	SL_RDMA_ROUTE_RESOLVED,
	SL_RDMA_ROUTE_ERROR,
	SL_RDMA_CONNECT_REQUEST,
	SL_RDMA_CONNECT_RESPONSE,
	SL_RDMA_CONNECT_ERROR,
	SL_RDMA_UNREACHABLE,
	SL_RDMA_REJECTED,
	SL_RDMA_ESTABLISHED,
	SL_RDMA_DISCONNECTED,
	SL_RDMA_DEVICE_REMOVAL,
	SL_RDMA_TIMEWAIT_EXIT = 15,
};
#define SL_RDMA_PS_TCP            0x0106 /* reliable connections */
#define SL_RDMA_OPTION_ID         0
#define SL_RDMA_OPTION_ID_TIMEOUT 3 /* RDMA_OPTION_ID_ACK_TIMEOUT */

struct sl_rdma_channel {
	int fd;
};

struct sl_rdma_id {
	struct ibv_context *verbs; /* NULL until a device is found */
	struct sl_rdma_channel *channel;
	void *context;
	struct ibv_qp *qp; /* NULL: the program makes its own */
	struct sockaddr_storage src, dst;
	/* More follows that the test does not use. librdmacm allocates it. */
};

struct sl_rdma_param {
	const void *private_data;
	uint8_t private_len;
	uint8_t responder_resources, initiator_depth, flow_control;
	uint8_t retry_count, rnr_retry_count, srq;
	uint32_t qp_num;
};

struct sl_rdma_event {
	struct sl_rdma_id *id, *listen_id;
	enum sl_rdma_event_type type;
	int status; /* -errno, or the reason of a rejection */
	struct sl_rdma_param param;
};

#define SL_RDMA_CALLS(X)                                                                           \
	X(create_event_channel, struct sl_rdma_channel *, (void))                                  \
	X(destroy_event_channel, void, (struct sl_rdma_channel *))                                 \
	X(create_id, int, (struct sl_rdma_channel *, struct sl_rdma_id **, void *, int))           \
	X(destroy_id, int, (struct sl_rdma_id *))                                                  \
	X(bind_addr, int, (struct sl_rdma_id *, struct sockaddr *))                                \
	X(listen, int, (struct sl_rdma_id *, int))                                                 \
	X(resolve_addr, int, (struct sl_rdma_id *, struct sockaddr *, struct sockaddr *, int))     \
	X(resolve_route, int, (struct sl_rdma_id *, int))                                          \
	X(set_option, int, (struct sl_rdma_id *, int, int, void *, size_t))                        \
	X(init_qp_attr, int, (struct sl_rdma_id *, struct ibv_qp_attr *, int *))                   \
	X(connect, int, (struct sl_rdma_id *, struct sl_rdma_param *))                             \
	X(establish, int, (struct sl_rdma_id *))                                                   \
	X(accept, int, (struct sl_rdma_id *, struct sl_rdma_param *))                              \
	X(reject, int, (struct sl_rdma_id *, const void *, uint8_t))                               \
	X(disconnect, int, (struct sl_rdma_id *))                                                  \
	X(get_cm_event, int, (struct sl_rdma_channel *, struct sl_rdma_event **))                  \
	X(ack_cm_event, int, (struct sl_rdma_event *))

#define SL_RDMA_VERBS(X)                                                                           \
	X(alloc_pd)                                                                                \
	X(dealloc_pd)                                                                              \
	X(reg_mr)                                                                                  \
	X(dereg_mr)                                                                                \
	X(create_cq)                                                                               \
	X(destroy_cq)                                                                              \
	X(create_qp)                                                                               \
	X(modify_qp)                                                                               \
	X(destroy_qp)                                                                              \
	X(create_ah)                                                                               \
	X(destroy_ah)                                                                              \
	X(wc_status_str)

struct sl_rdma_lib {
#define X(name, type, args) type(*name) args;
	SL_RDMA_CALLS(X)
#undef X
	struct {
#define X(name) __typeof__(&ibv_##name) name;
		SL_RDMA_VERBS(X)
#undef X
	} ibv;
};

/* Loads both libraries. NULL: *lacks is the name of the library, or of the function, that is not
 * there. */
const struct sl_rdma_lib *sl_rdma_lib(const char **lacks);

#endif
