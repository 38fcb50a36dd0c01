/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries about the device: capabilities, port, addresses, events. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <sys/socket.h>

#include "sys.h"
#include "uverbs.h"

#define NODE_GUID      0x020000fffe000001ull
#define FIRMWARE       (22ull << 32 | 39 << 16 | 1002)
#define DEVICE_CAPS    0x65361c36u /* of a ConnectX-6 Dx */
#define TIMESTAMP_BITS 0x7fffffffffffffffull
#define VECTORS        8

static struct mlx5_ib_alloc_ucontext_resp ucontext(void)
{
	struct mlx5_ib_alloc_ucontext_resp resp = {
		.qp_tab_size = 1 << 17,
		.bf_reg_size = 512,
		.cache_line_size = 64,
		.max_sq_desc_sz = 1024,
		.max_rq_desc_sz = 512,
		.max_send_wqebb = SIM_MAX_SQ_WQES,
		.max_recv_wr = 32768,
		.max_srq_recv_wr = 32767,
		.num_ports = 1,
		.comp_mask = MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET,
		.response_length = sizeof(resp),
		.cqe_version = 1,
		.cmds_supp_uhw =
			MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
		.eth_min_inline = sim_config.min_inline ? MLX5_USER_INLINE_MODE_L2
							: MLX5_USER_INLINE_MODE_NONE,
		.clock_info_versions = 1 << MLX5_IB_CLOCK_INFO_V1,
		.log_uar_size = 12,
		.num_uars_per_page = 1,
	};

	if (sim_config.real_time)
		resp.comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_REAL_TIME_TS;
	return resp;
}

/* Two calls return the same about a context; the numbers of the attributes differ. */
static int put_context(const struct sim_call *call, uint16_t to_vectors, uint16_t to_support,
		       uint16_t to_driver)
{
	struct mlx5_ib_alloc_ucontext_resp resp = ucontext();
	uint32_t vectors = VECTORS;
	uint64_t support = 0;

	sim_attr_put(call, to_vectors, &vectors, sizeof(vectors));
	sim_attr_put(call, to_support, &support, sizeof(support));
	sim_attr_put(call, to_driver, &resp, sizeof(resp));
	return 0;
}

int sim_get_context(const struct sim_call *call)
{
	return put_context(call, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS,
			   UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, UVERBS_ATTR_UHW_OUT);
}

int sim_query_context(const struct sim_call *call)
{
	return put_context(call, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS,
			   UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT,
			   MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX);
}

int sim_query_device(const struct sim_call *call)
{
	const uint32_t raw = 1 << IBV_QPT_RAW_PACKET;
	const uint32_t csum = sim_config.csum ? IBV_DEVICE_RAW_IP_CSUM : 0;
	struct ib_uverbs_ex_query_device_resp resp = {
		.base = {.fw_ver = FIRMWARE,
			 .node_guid = htobe64(NODE_GUID),
			 .sys_image_guid = htobe64(NODE_GUID),
			 .max_mr_size = UINT64_MAX,
			 .page_size_cap = ~(uint64_t)(SIM_PAGE - 1),
			 .vendor_id = 0x2c9,
			 .vendor_part_id = 4125,
			 .max_qp = 1 << 17,
			 .max_qp_wr = SIM_MAX_SQ_WQES,
			 .device_cap_flags =
				 (DEVICE_CAPS & ~(uint32_t)IBV_DEVICE_RAW_IP_CSUM) | csum,
			 .max_sge = 30,
			 .max_sge_rd = 30,
			 .max_cq = 1 << 24,
			 .max_cqe = SIM_MAX_CQES,
			 .max_mr = 1 << 24,
			 .max_pd = 1 << 23,
			 .phys_port_cnt = 1,
			 .max_pkeys = 128},
		.response_length = sizeof(resp),
		.timestamp_mask = TIMESTAMP_BITS,
		.hca_core_clock = sim_config.clock_khz,
		.raw_packet_caps = (csum ? IBV_RAW_PACKET_CAP_IP_CSUM : 0) |
				   IBV_RAW_PACKET_CAP_CVLAN_STRIPPING,
		.max_dm_size = sim_nic.dm_usable,
	};
	struct mlx5_ib_query_device_resp mlx5 = {
		.response_length = sizeof(mlx5),
		.packet_pacing_caps = {.qp_rate_limit_min = sim_config.rate_min_kbps,
				       .qp_rate_limit_max = sim_config.rate_max_kbps,
				       .supported_qpts = raw,
				       .cap_flags =
					       sim_config.burst ? MLX5_IB_PP_SUPPORT_BURST : 0},
	};

	if (sim_config.tso)
		mlx5.tso_caps = (struct mlx5_ib_tso_caps){SIM_MAX_TSO, raw};
	if (!sim_config.rates)
		memset(&mlx5.packet_pacing_caps, 0, sizeof(mlx5.packet_pacing_caps));
	sim_attr_put(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	sim_attr_put(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
	return 0;
}

int sim_query_port(const struct sim_call *call)
{
	bool up = sim_wire_up();
	struct ib_uverbs_query_port_resp_ex resp = {
		.legacy_resp = {.state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
				.max_mtu = IBV_MTU_4096,
				.active_mtu = IBV_MTU_1024,
				.gid_tbl_len = 1,
				.pkey_tbl_len = 1,
				.max_msg_sz = 1 << 30,
				.active_width = 2,
				.active_speed = 32,
				.phys_state = up ? 5 : 3,
				.link_layer = IBV_LINK_LAYER_ETHERNET}};

	if (sim_attr_value(call, UVERBS_ATTR_QUERY_PORT_PORT_NUM) != 1)
		return EINVAL;
	sim_attr_put(call, UVERBS_ATTR_QUERY_PORT_RESP, &resp, sizeof(resp));
	return 0;
}

/* The one address there is: of the MAC address. */
static struct ib_uverbs_gid_entry gid(void)
{
	struct ib_uverbs_gid_entry entry = {.port_num = 1,
					    .gid_type = IBV_GID_TYPE_ROCE_V2,
					    .netdev_ifindex = sim_wire_ifindex()};
	const uint8_t *mac = sim_wire_mac();
	const uint8_t raw[16] = {0xfe,       0x80,   0,      0,    0,    0,      0,      0,
				 mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};

	memcpy(entry.gid, raw, sizeof(raw));
	return entry;
}

int sim_query_gid_table(const struct sim_call *call)
{
	struct ib_uverbs_gid_entry entry = gid();
	uint64_t n = 1;

	sim_attr_put(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, &entry, sizeof(entry));
	sim_attr_put(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &n, sizeof(n));
	return 0;
}

int sim_query_gid_entry(const struct sim_call *call)
{
	struct ib_uverbs_gid_entry entry = gid();

	if (sim_attr_value(call, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX))
		return ENODATA;
	sim_attr_put(call, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &entry, sizeof(entry));
	return 0;
}

int sim_async_event_alloc(const struct sim_call *call)
{
	struct ib_uverbs_attr *attr = sim_attr(call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
	int fds[2];

	if (!attr)
		return EINVAL;
	if (sim_socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return errno;
	if (call->ctx->event_fd >= 0)
		sim_fd_close(call->ctx->event_fd);
	call->ctx->event_fd = sim_fd_keep(fds[1]);
	attr->data_s64 = fds[0];
	return 0;
}
