/* SPDX-License-Identifier: BSD-2-Clause */
/* A bare verbs sender: see tx.h. */
#include "tx.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define DM_HEAD 64u /* of a device-memory send: from the host, for libmlx5 copies the L2 header */

uint64_t tx_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

int tx_open(struct tx *tx)
{
	int n = 0;
	struct ibv_device **list;

	memset(tx, 0, sizeof(*tx));
	/* Without it nothing of a dead device can be destroyed. */
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
	list = ibv_get_device_list(&n);
	if (!list || !n) {
		ibv_free_device_list(list);
		return ENODEV;
	}
	tx->ctx = ibv_open_device(list[0]);
	n = tx->ctx ? 0 : errno;
	ibv_free_device_list(list);
	return n;
}

void tx_close(struct tx *tx)
{
	tx_teardown(tx);
	if (tx->ctx)
		ibv_close_device(tx->ctx);
	tx->ctx = NULL;
}

static int make_memory(struct tx *tx, const struct tx_want *want)
{
	size_t size;
	struct ibv_alloc_dm_attr dm = {.length = want->dm_bytes, .log_align_req = 6};

	tx->slot_bytes = want->slot_bytes ? want->slot_bytes : TX_SLOT;
	tx->slots = want->slots ? want->slots : TX_SLOTS;
	tx->wallclock = want->wallclock;
	size = ((size_t)tx->slot_bytes * tx->slots + TX_SEND_MAX + 4095) & ~(size_t)4095;
	tx->buf = aligned_alloc(4096, size);
	if (!tx->buf)
		return ENOMEM;
	memset(tx->buf, 0, size);
	tx->pd = ibv_alloc_pd(tx->ctx);
	if (!tx->pd)
		return errno;
	tx->mr = ibv_reg_mr(tx->pd, tx->buf, size, IBV_ACCESS_LOCAL_WRITE);
	if (!tx->mr)
		return errno;
	if (!want->dm_bytes)
		return 0;
	tx->dm = ibv_alloc_dm(tx->ctx, &dm);
	if (!tx->dm)
		return errno;
	tx->dm_mr = ibv_reg_dm_mr(tx->pd, tx->dm, 0, want->dm_bytes,
				  IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	return tx->dm_mr ? 0 : errno;
}

static int make_queues(struct tx *tx, const struct tx_want *want)
{
	uint32_t depth = want->depth ? want->depth : 128;
	struct ibv_cq_init_attr_ex cq = {
		.cqe = depth,
		.wc_flags = want->wallclock ? IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK
					    : IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
	struct ibv_qp_init_attr_ex qp = {.qp_type = IBV_QPT_RAW_PACKET,
					 .pd = tx->pd,
					 .cap = {.max_send_wr = depth,
						 .max_send_sge = 2,
						 .max_inline_data = want->inline_bytes},
					 .comp_mask = IBV_QP_INIT_ATTR_PD |
						      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					 .send_ops_flags = IBV_QP_EX_WITH_SEND};

	if (want->tso) {
		qp.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
		qp.max_tso_header = 128;
		qp.send_ops_flags |= IBV_QP_EX_WITH_TSO;
	}
	if (want->channel && !(tx->channel = ibv_create_comp_channel(tx->ctx)))
		return errno;
	cq.channel = tx->channel;
	tx->cq = ibv_create_cq_ex(tx->ctx, &cq);
	if (!tx->cq)
		return errno;
	qp.send_cq = qp.recv_cq = ibv_cq_ex_to_cq(tx->cq);
	tx->qp = ibv_create_qp_ex(tx->ctx, &qp);
	if (!tx->qp)
		return errno;
	tx->qpx = ibv_qp_to_qp_ex(tx->qp);
	tx->depth = qp.cap.max_send_wr;
	tx->inline_bytes = qp.cap.max_inline_data;
	return 0;
}

int tx_ready(struct tx *tx)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	int err = ibv_modify_qp(tx->qp, &attr, IBV_QP_STATE | IBV_QP_PORT);

	attr.qp_state = IBV_QPS_RTR;
	if (!err)
		err = ibv_modify_qp(tx->qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	return err ? err : ibv_modify_qp(tx->qp, &attr, IBV_QP_STATE);
}

int tx_setup(struct tx *tx, const struct tx_want *want)
{
	int err = make_memory(tx, want);

	if (!err)
		err = make_queues(tx, want);
	return err ? err : tx_ready(tx);
}

void tx_teardown(struct tx *tx)
{
	struct ibv_context *ctx = tx->ctx;

	if (tx->qp)
		ibv_destroy_qp(tx->qp);
	if (tx->cq)
		ibv_destroy_cq(ibv_cq_ex_to_cq(tx->cq));
	if (tx->channel)
		ibv_destroy_comp_channel(tx->channel);
	if (tx->dm_mr)
		ibv_dereg_mr(tx->dm_mr);
	if (tx->dm)
		ibv_free_dm(tx->dm);
	if (tx->mr)
		ibv_dereg_mr(tx->mr);
	if (tx->pd)
		ibv_dealloc_pd(tx->pd);
	free(tx->buf);
	memset(tx, 0, sizeof(*tx));
	tx->ctx = ctx;
}

int tx_rate(struct tx *tx, uint32_t kbps, uint32_t burst_bytes, uint32_t packet_bytes)
{
	struct ibv_qp_rate_limit_attr attr = {.rate_limit = kbps,
					      .max_burst_sz = burst_bytes,
					      .typical_pkt_sz = (uint16_t)packet_bytes};

	return ibv_modify_qp_rate_limit(tx->qp, &attr);
}

uint8_t *tx_slot(struct tx *tx, unsigned n)
{
	return tx->buf + (size_t)(n % tx->slots) * tx->slot_bytes;
}

uint8_t *tx_large(struct tx *tx)
{
	return tx->buf + (size_t)tx->slots * tx->slot_bytes;
}

/* The head from host memory, the rest from the device's. Each slot has its own place in both. */
static int set_dm(struct tx *tx, unsigned n, uint32_t len)
{
	uint32_t places = (uint32_t)(tx->dm_mr->length / TX_SLOT),
		 head = len < DM_HEAD ? len : DM_HEAD;
	uint64_t at = (uint64_t)(n % places) * TX_SLOT;
	uint8_t *frame = tx_slot(tx, n);
	struct ibv_sge sge[2] = {{(uintptr_t)frame, head, tx->mr->lkey},
				 {at + head, len - head, tx->dm_mr->lkey}};
	/* Copies to the device are of whole words. */
	int err = ibv_memcpy_to_dm(tx->dm, at, frame, (len + 3) & ~3u);

	if (!err)
		ibv_wr_set_sge_list(tx->qpx, len > head ? 2 : 1, sge);
	return err;
}

int tx_post(struct tx *tx, enum tx_way way, unsigned n, uint32_t len, uint64_t wr_id,
	    unsigned flags)
{
	int err = 0;

	ibv_wr_start(tx->qpx);
	tx->qpx->wr_id = wr_id;
	tx->qpx->wr_flags = flags | (way == TX_INLINE ? IBV_SEND_INLINE : 0);
	ibv_wr_send(tx->qpx);
	if (way == TX_INLINE)
		ibv_wr_set_inline_data(tx->qpx, tx_slot(tx, n), len);
	else if (way == TX_DEVICE_MEMORY)
		err = set_dm(tx, n, len);
	else
		ibv_wr_set_sge(tx->qpx, tx->mr->lkey, (uintptr_t)tx_slot(tx, n), len);
	if (err) {
		ibv_wr_abort(tx->qpx);
		return err;
	}
	err = ibv_wr_complete(tx->qpx);
	tx->pending += !err;
	return err;
}

int tx_post_tso(struct tx *tx, uint8_t *hdr, uint16_t hdr_len, uint16_t mss, const uint8_t *data,
		uint32_t len, uint64_t wr_id)
{
	ibv_wr_start(tx->qpx);
	tx->qpx->wr_id = wr_id;
	tx->qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM;
	ibv_wr_send_tso(tx->qpx, hdr, hdr_len, mss);
	ibv_wr_set_sge(tx->qpx, tx->mr->lkey, (uintptr_t)data, len);
	return ibv_wr_complete(tx->qpx);
}

static void note(struct tx *tx, struct tx_done *done)
{
	done->wr_id = tx->cq->wr_id;
	done->status = tx->cq->status;
	done->stamp = 0;
	if (!done->status)
		done->stamp = tx->wallclock ? ibv_wc_read_completion_wallclock_ns(tx->cq)
					    : ibv_wc_read_completion_ts(tx->cq);
	done->vendor_err = done->status ? ibv_wc_read_vendor_err(tx->cq) : 0;
}

unsigned tx_drain(struct tx *tx, struct tx_done *done, unsigned n, unsigned ms)
{
	uint64_t end_ns = tx_now_ns() + ms * 1000000ull;
	struct ibv_poll_cq_attr attr = {0};
	unsigned got = 0;

	while (got < n) {
		if (ibv_start_poll(tx->cq, &attr)) {
			if (tx_now_ns() > end_ns)
				break;
			usleep(20);
			continue;
		}
		do {
			note(tx, &done[got++]);
		} while (got < n && !ibv_next_poll(tx->cq));
		ibv_end_poll(tx->cq);
		end_ns = tx_now_ns() + ms * 1000000ull;
	}
	return got;
}

bool tx_control(const char *command)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char answer[1024] = "";
	ssize_t n = -1;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/control.%d", getenv("SIM_NIC"), getpid());
	if (fd >= 0 && !connect(fd, (void *)&at, sizeof(at)) &&
	    send(fd, command, strlen(command), 0) > 0)
		n = recv(fd, answer, sizeof(answer) - 1, 0);
	if (fd >= 0)
		close(fd);
	if (n > 0 && !strcmp(answer, "ok"))
		return true;
	fprintf(stderr, "control: %s: %s\n", command, n > 0 ? answer : strerror(errno));
	return false;
}
