/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks for a fault on the NIC's control socket: `fault NAME [RATES]` exits with 0 when the
 * verbs reported it as on hardware, and everything could be taken down and set up again.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tx.h"

#define SOON_MS  5000
#define NEVER_MS 100
#define SIZE     200

static struct tx tx;
static unsigned table = 16; /* rates that the device has */
static int failed;
static const struct tx_want plain = {.depth = 64, .inline_bytes = 64, .dm_bytes = 8192};

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);                  \
			failed = 1;                                                                \
		}                                                                                  \
	} while (0)

static int post(uint32_t seq)
{
	tx_udp(tx_slot(&tx, seq), (struct tx_kind){0}, SIZE, seq);
	return tx_post(&tx, TX_HOST, seq, SIZE, seq, IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM);
}

/* The status of the next completion; -1: none came. */
static int completion(unsigned ms, uint64_t wr_id)
{
	struct tx_done done;

	if (!tx_drain(&tx, &done, 1, ms))
		return -1;
	CHECK(done.wr_id == wr_id);
	CHECK(!done.status == !done.vendor_err);
	return (int)done.status;
}

/* The next asynchronous event is this one. */
static bool event_is(enum ibv_event_type type)
{
	struct pollfd p = {.fd = tx.ctx->async_fd, .events = POLLIN};
	struct ibv_async_event event;
	bool is;

	if (poll(&p, 1, SOON_MS) != 1 || ibv_get_async_event(tx.ctx, &event))
		return false;
	is = event.event_type == type;
	ibv_ack_async_event(&event);
	return is;
}

static bool works(uint32_t seq)
{
	return !post(seq) && completion(SOON_MS, seq) == IBV_WC_SUCCESS;
}

static void dead_device(void)
{
	struct ibv_device_attr_ex attr;

	CHECK(event_is(IBV_EVENT_DEVICE_FATAL));
	CHECK(!post(1));
	CHECK(completion(NEVER_MS, 1) == -1);
	CHECK(ibv_query_device_ex(tx.ctx, NULL, &attr) == EIO);
	CHECK(tx_rate(&tx, 1000, 0, 0) == EIO);
}

static void fatal(void)
{
	CHECK(works(0));
	CHECK(tx_control("fatal"));
	dead_device();
}

static void unplug(void)
{
	struct ibv_context *was = tx.ctx;
	struct ibv_device_attr_ex attr;
	int n = -1;

	CHECK(works(0));
	CHECK(tx_control("unplug"));
	dead_device();
	tx_teardown(&tx);
	ibv_free_device_list(ibv_get_device_list(&n));
	CHECK(n == 0);
	CHECK(tx_control("replug"));
	CHECK(ibv_query_device_ex(was, NULL, &attr) == EIO);
	ibv_close_device(was);
	CHECK(!tx_open(&tx) && !tx_setup(&tx, &plain));
	CHECK(works(2));
}

/* A completion of each kind, those behind it flushed, and the queue pair works after a reset. */
static void syndromes(void)
{
	static const struct {
		unsigned syndrome;
		enum ibv_wc_status status;
	} kinds[] = {
		{MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR, IBV_WC_LOC_LEN_ERR},
		{MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR},
		{MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, IBV_WC_LOC_PROT_ERR},
		{MLX5_CQE_SYNDROME_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR},
		{MLX5_CQE_SYNDROME_MW_BIND_ERR, IBV_WC_MW_BIND_ERR},
		{MLX5_CQE_SYNDROME_BAD_RESP_ERR, IBV_WC_BAD_RESP_ERR},
		{MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR},
		{MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR, IBV_WC_REM_INV_REQ_ERR},
		{MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR},
		{MLX5_CQE_SYNDROME_REMOTE_OP_ERR, IBV_WC_REM_OP_ERR},
		{MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR},
		{MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR},
		{MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR, IBV_WC_REM_ABORT_ERR},
		{0x77, IBV_WC_GENERAL_ERR},
	};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	struct ibv_qp_init_attr init;
	char command[64];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(command, sizeof(command), "fail 2 %u %#x", kinds[i].syndrome,
			 tx.qp->qp_num);
		CHECK(tx_control(command));
		for (uint32_t seq = 0; seq < 4; seq++)
			CHECK(!post(seq));
		CHECK(completion(SOON_MS, 0) == IBV_WC_SUCCESS);
		CHECK(completion(SOON_MS, 1) == (int)kinds[i].status);
		CHECK(completion(SOON_MS, 2) == IBV_WC_WR_FLUSH_ERR);
		CHECK(completion(SOON_MS, 3) == IBV_WC_WR_FLUSH_ERR);
		CHECK(!ibv_query_qp(tx.qp, &attr, IBV_QP_STATE, &init) &&
		      attr.qp_state == IBV_QPS_ERR);
		attr.qp_state = IBV_QPS_RESET;
		CHECK(!ibv_modify_qp(tx.qp, &attr, IBV_QP_STATE) && !tx_ready(&tx));
		CHECK(works(5));
	}
}

/* An error of the program itself gives an error completion, too. */
static void bad_memory(void)
{
	uint32_t lkey = tx.mr->lkey;

	tx.mr->lkey += 1;
	CHECK(!post(0));
	tx.mr->lkey = lkey;
	CHECK(completion(SOON_MS, 0) == IBV_WC_LOC_PROT_ERR);
}

static void stall(void)
{
	CHECK(tx_control("stall 1"));
	CHECK(!post(0));
	CHECK(completion(NEVER_MS, 0) == -1);
	CHECK(tx_control("stall 0"));
	CHECK(completion(SOON_MS, 0) == IBV_WC_SUCCESS);
}

/* Fills the queue: the post that finds no room says ENOMEM, and takes none. */
static void full_queue(void)
{
	uint32_t posted = 0;
	int err = 0;

	CHECK(tx_control("stall 1"));
	while (posted < 2 * tx.depth && !(err = post(posted)))
		posted++;
	CHECK(err == ENOMEM && posted >= 64);
	CHECK(tx_control("stall 0"));
	for (uint32_t seq = 0; seq < posted; seq++)
		CHECK(completion(SOON_MS, seq) == IBV_WC_SUCCESS);
	CHECK(works(7));
}

static bool event_comes(unsigned ms)
{
	struct pollfd p = {.fd = tx.channel->fd, .events = POLLIN};
	struct ibv_cq *cq;
	void *context;

	if (poll(&p, 1, (int)ms) != 1 || ibv_get_cq_event(tx.channel, &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	return cq == ibv_cq_ex_to_cq(tx.cq);
}

static void lost_event(void)
{
	tx_teardown(&tx);
	CHECK(!tx_setup(&tx, &(struct tx_want){.channel = true}));
	for (uint32_t seq = 0; seq < 6; seq += 2) {
		bool lose = seq == 2;

		CHECK(!lose || tx_control("lose_events 1"));
		CHECK(!ibv_req_notify_cq(ibv_cq_ex_to_cq(tx.cq), 0));
		CHECK(!post(seq));
		CHECK(event_comes(lose ? NEVER_MS : SOON_MS) == !lose);
		CHECK(completion(SOON_MS, seq) == IBV_WC_SUCCESS);
	}
}

static void link_down(void)
{
	struct ibv_port_attr port;

	CHECK(!ibv_query_port(tx.ctx, 1, &port) && port.state == IBV_PORT_ACTIVE);
	CHECK(tx_control("link down"));
	CHECK(event_is(IBV_EVENT_PORT_ERR));
	CHECK(!ibv_query_port(tx.ctx, 1, &port) && port.state == IBV_PORT_DOWN);
	CHECK(works(0)); /* done, and on no wire */
	CHECK(tx_control("link up"));
	CHECK(event_is(IBV_EVENT_PORT_ACTIVE));
	CHECK(!ibv_query_port(tx.ctx, 1, &port) && port.state == IBV_PORT_ACTIVE);
	CHECK(works(1));
}

/* Each ioctl of a set-up fails in its turn: the set-up fails with that, or does without, and what
 * was made can be taken down. */
static void failing_calls(void)
{
	unsigned refused = 0;
	char command[64];

	for (unsigned n = 1; n <= 20; n++) {
		int err;

		tx_teardown(&tx);
		snprintf(command, sizeof(command), "fail_call %u", n);
		CHECK(tx_control(command));
		err = tx_setup(&tx, &plain);
		CHECK(!err || err == ENOMEM);
		refused += err == ENOMEM;
		CHECK(tx_control("fail_call 0"));
	}
	CHECK(refused >= 8);
	CHECK(works(0));
}

/* Asks for a rate more than the table has, for a rate that is in it, and again when one is freed.
 */
static void rates(void)
{
	struct tx *more = calloc(table + 1, sizeof(*more)), *last = &more[table];
	unsigned n;

	for (n = 0; n <= table; n++) {
		more[n].ctx = tx.ctx;
		CHECK(!tx_setup(&more[n], &(struct tx_want){.depth = 16, .slots = 4}));
		CHECK(tx_rate(&more[n], 1000 + n, 0, 0) == (n < table ? 0 : ENOSPC));
	}
	CHECK(!tx_rate(last, 1003, 0, 0));
	CHECK(tx_rate(last, 5000, 0, 0) == ENOSPC);
	CHECK(!tx_rate(&more[5], 0, 0, 0));
	CHECK(!tx_rate(last, 5000, 0, 0));
	CHECK(tx_rate(&more[5], 0xffffffffu, 0, 0) == EINVAL);
	for (n = 0; n <= table; n++)
		tx_teardown(&more[n]);
	free(more);
	CHECK(works(0));
}

static void no_burst(void)
{
	CHECK(tx_rate(&tx, 1000, 5000, 1250) == EINVAL);
	CHECK(!tx_rate(&tx, 1000, 0, 0));
}

/* Device memory until there is none, what is refused, and that freeing gives it back. */
static void device_memory(void)
{
	struct ibv_alloc_dm_attr attr = {.length = 1024};
	struct ibv_dm *got[64];
	unsigned n = 0;

	while (n < 64 && (got[n] = ibv_alloc_dm(tx.ctx, &attr)))
		n++;
	CHECK(errno == ENOMEM && n > 0 && n < 64);
	CHECK(ibv_memcpy_to_dm(got[0], 0, tx.buf, 598)); /* not whole words */
	CHECK(!ibv_free_dm(got[--n]));
	got[n] = ibv_alloc_dm(tx.ctx, &attr);
	CHECK(got[n]);
	for (unsigned i = 0; i <= n; i++)
		CHECK(!ibv_free_dm(got[i]));
	CHECK(!ibv_reg_dm_mr(tx.pd, tx.dm, 0, 1024, IBV_ACCESS_LOCAL_WRITE)); /* not zero-based */
	CHECK(works(0));
}

static const struct {
	const char *name;
	void (*run)(void);
} faults[] = {
	{"fatal", fatal},           {"unplug", unplug},       {"syndromes", syndromes},
	{"bad_memory", bad_memory}, {"stall", stall},         {"full_queue", full_queue},
	{"lost_event", lost_event}, {"link_down", link_down}, {"failing_calls", failing_calls},
	{"rates", rates},           {"no_burst", no_burst},   {"device_memory", device_memory},
};

int main(int argc, char **argv)
{
	int err;

	for (size_t i = 0; argc > 1 && i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (strcmp(faults[i].name, argv[1]))
			continue;
		if ((err = tx_open(&tx)) || (err = tx_setup(&tx, &plain))) {
			printf("set-up: %s\n", strerror(err));
			return 1;
		}
		if (argc > 2)
			table = (unsigned)strtoul(argv[2], NULL, 0);
		faults[i].run();
		tx_close(&tx);
		return failed;
	}
	return 2;
}
