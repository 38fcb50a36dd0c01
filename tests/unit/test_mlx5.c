/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests to a ConnectX, its completions, its doorbell, byte for byte. (That libmlx5 makes the
 * same requests is seen whenever a queue is opened: tests/sim.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#if __has_include(<infiniband/mlx5dv.h>)
#include "io/mlx5_cqe.h"
#include "io/mlx5_wqe.h"

#define PACKET                                                                                     \
	"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\x00"                                                 \
	"an IP packet of some bytes"
#define LEN (sizeof(PACKET) - 1) /* 40 */

static const struct sl_mlx5_wqe bare = {.qpn = 0x1234 << 8},
				l2 = {.qpn = 0x1234 << 8, .l2_bytes = 18};
static uint8_t wqe[SL_MLX5_WQE_MAX];

#define REQ(index, ctrl, csum) ((struct sl_mlx5_req){index, ctrl, csum, 0, 0})

static void expect(const char *head, uint32_t n, uint32_t bytes, uint32_t got)
{
	assert_int_equal(got, bytes);
	assert_memory_equal(wqe, head, n);
	memset(wqe, 0, sizeof(wqe));
}

static void test_inline(void **state)
{
	uint32_t n = sl_mlx5_put_inline(wqe, &bare, REQ(0xabcd, SL_MLX5_SIGNALLED, true),
					(const uint8_t *)PACKET, LEN);

	assert_memory_equal(wqe + 36, PACKET, LEN);
	expect("\x00\xab\xcd\x0a\x00\x12\x34\x05\0\0\0\x08\0\0\0\0"
	       "\0\0\0\0\xc0\0\0\0\0\0\0\0\0\0\0\0\x80\0\0\x28",
	       36, 36 + LEN, n);
	n = sl_mlx5_put_inline(wqe, &l2, REQ(1, 0, false), (const uint8_t *)PACKET, LEN);
	assert_memory_equal(wqe + 30, PACKET, 18);
	assert_memory_equal(wqe + 52, PACKET + 18, LEN - 18);
	assert_memory_equal(wqe + 48, "\x80\0\0\x16", 4);
	expect("\x00\x00\x01\x0a\x00\x12\x34\x05\0\0\0\0\0\0\0\0"
	       "\0\0\0\0\0\0\0\0\0\0\0\0\0\x12",
	       30, 52 + LEN - 18, n);
}

static void test_places(void **state)
{
	const struct ibv_sge sge[] = {{(uintptr_t)PACKET, 20, 0x11},
				      {0x123456789abcdef0, 1400, 0x22}};
	uint64_t rest = htobe64((uintptr_t)PACKET + 18);
	uint32_t n = sl_mlx5_put_send(wqe, &bare, REQ(7, 0, true), sge, 2);

	assert_memory_equal(wqe + 48, "\0\0\x05\x78\0\0\0\x22\x12\x34\x56\x78\x9a\xbc\xde\xf0", 16);
	expect("\x00\x00\x07\x0a\x00\x12\x34\x04\0\0\0\0\0\0\0\0"
	       "\0\0\0\0\xc0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x14\0\0\0\x11",
	       40, 64, n);
	/* In the first request some of the first piece is left, in the second nothing. */
	n = sl_mlx5_put_send(wqe, &l2, REQ(7, 0, false), sge, 2);
	assert_memory_equal(wqe + 48, "\0\0\0\x02\0\0\0\x11", 8);
	assert_memory_equal(wqe + 56, &rest, 8);
	assert_int_equal(n, 80);
	n = sl_mlx5_put_send(wqe, &l2, REQ(7, 0, false),
			     (struct ibv_sge[]){{(uintptr_t)PACKET, 18, 0x11}, sge[1]}, 2);
	assert_memory_equal(wqe + 48, "\0\0\x05\x78\0\0\0\x22", 8);
	assert_int_equal(n, 64);
}

static void test_segments(void **state)
{
	const struct ibv_sge sge = {0x1000, 9000, 0x22};
	uint32_t n = sl_mlx5_put_tso(wqe, &bare,
				     (struct sl_mlx5_req){9, SL_MLX5_SIGNALLED, true, 1448, LEN},
				     (const uint8_t *)PACKET, &sge, 1);

	assert_memory_equal(wqe + 30, PACKET, LEN);
	assert_memory_equal(wqe + 80, "\0\0\x23\x28\0\0\0\x22\0\0\0\0\0\0\x10\0", 16);
	expect("\x00\x00\x09\x0e\x00\x12\x34\x06\0\0\0\x08\0\0\0\0"
	       "\0\0\0\0\xc0\0\x05\xa8\0\0\0\0\0\x28",
	       30, 96, n);
}

static void test_nothing(void **state)
{
	expect("\x00\xff\xff\x00\x00\x12\x34\x01\0\0\0\x08\0\0\0\0", 16, 16,
	       sl_mlx5_put_nop(wqe, &bare, 0xffff, SL_MLX5_SIGNALLED));
}

static void test_doorbell(void **state)
{
	static _Alignas(64) uint8_t reg[512], request[128];
	uint32_t record = 0;
	struct sl_mlx5_bell b = {.record = &record, .reg = reg, .half = 256};

	for (unsigned i = 0; i < sizeof(request); i++)
		request[i] = (uint8_t)(i + 1);
	sl_mlx5_ring(&b, 0xfffe, request, 0);
	assert_int_equal(record, htobe32(0xfffe));
	assert_memory_equal(reg, request, 8);
	assert_int_equal(reg[8], 0);
	sl_mlx5_ring(&b, 2, request, 128);
	assert_int_equal(record, htobe32(2));
	assert_memory_equal(reg + 256, request, 128);
	assert_int_equal(reg[256 + 128], 0);
	assert_int_equal(b.off, 0);
}

static void complete(struct mlx5_cqe64 *cqe, uint16_t block, uint8_t op, uint8_t owner)
{
	cqe->wqe_counter = htobe16(block);
	cqe->op_own = (uint8_t)(op << 4 | owner);
}

/* Twice round, of entries of 64 bytes and of 128. */
static void test_completions(void **state)
{
	for (uint32_t shift = 6; shift <= 7; shift++) {
		static _Alignas(64) uint8_t buf[4 * 128];
		uint32_t record = 0;
		struct sl_mlx5_cq cq = {.last = buf + (1u << shift) - 64,
					.record = &record,
					.entries = 4,
					.shift = shift};

		for (unsigned i = 0; i < 4; i++)
			complete((void *)(buf + (i << shift) + (1u << shift) - 64), 0,
				 MLX5_CQE_INVALID, 0);
		assert_null(sl_mlx5_cq_next(&cq));
		for (uint32_t n = 0; n < 8; n++) {
			struct mlx5_cqe64 *at =
				(void *)(buf + ((n & 3) << shift) + (1u << shift) - 64);
			const struct mlx5_cqe64 *cqe;

			complete(at, (uint16_t)(n + 0xfffa), MLX5_CQE_REQ, n >> 2 & 1);
			cqe = sl_mlx5_cq_next(&cq);
			assert_ptr_equal(cqe, at);
			assert_int_equal(sl_mlx5_cqe_block(cqe), (uint16_t)(n + 0xfffa));
			assert_int_equal(sl_mlx5_cqe_status(cqe), IBV_WC_SUCCESS);
			assert_null(sl_mlx5_cq_next(&cq));
		}
		sl_mlx5_cq_release(&cq);
		assert_int_equal(record, htobe32(8));
	}
}

static void test_errors(void **state)
{
	struct mlx5_err_cqe e = {.op_own = MLX5_CQE_REQ_ERR << 4, .syndrome = 4};
	const struct mlx5_cqe64 *cqe = (void *)&e;

	assert_int_equal(sl_mlx5_cqe_status(cqe), IBV_WC_LOC_PROT_ERR);
	e.syndrome = 5;
	assert_int_equal(sl_mlx5_cqe_status(cqe), IBV_WC_WR_FLUSH_ERR);
	e.syndrome = 0x77;
	assert_int_equal(sl_mlx5_cqe_status(cqe), IBV_WC_GENERAL_ERR);
	e.syndrome = 0;
	assert_int_equal(sl_mlx5_cqe_status(cqe), IBV_WC_GENERAL_ERR);
	e.op_own = MLX5_CQE_RESP_ERR << 4;
	assert_int_equal(sl_mlx5_cqe_status(cqe), IBV_WC_GENERAL_ERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inline),   cmocka_unit_test(test_places),
		cmocka_unit_test(test_segments), cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_doorbell), cmocka_unit_test(test_completions),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("skipped: no rdma-core headers (apt: libibverbs-dev)");
	return 77;
}
#endif
