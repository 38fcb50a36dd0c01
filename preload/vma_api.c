/* SPDX-License-Identifier: BSD-2-Clause */
/* libvma's extra API on top of sluice_extra.h: turns -errno into errno, and pairs the layouts. */
#include "vma_api.h"

#include "compat/vma_extra.h"
#include "real.h"

#define PACKET_PROFILE 1 /* key of the one profile of rings */

/* The callback's structure and the lists of packets are the library's own: field by field the same.
 */
#define SAME(a, x, b, y) _Static_assert(offsetof(a, x) == offsetof(b, y), #x)
SAME(struct vma_info_t, struct_sz, struct sl_packet_info, size);
SAME(struct vma_info_t, packet_id, struct sl_packet_info, id);
SAME(struct vma_info_t, src, struct sl_packet_info, src);
SAME(struct vma_info_t, dst, struct sl_packet_info, dst);
SAME(struct vma_info_t, payload_sz, struct sl_packet_info, payload_bytes);
SAME(struct vma_info_t, socket_ready_queue_pkt_count, struct sl_packet_info, queue_pkts);
SAME(struct vma_info_t, socket_ready_queue_byte_count, struct sl_packet_info, queue_bytes);
SAME(struct vma_info_t, hw_timestamp, struct sl_packet_info, hw_stamp);
SAME(struct vma_info_t, sw_timestamp, struct sl_packet_info, sw_stamp);
_Static_assert(sizeof(struct vma_info_t) == offsetof(struct sl_packet_info, flow_tag), "info");
SAME(struct vma_packet_t, iov, struct sl_packet, iov);
SAME(struct vma_packets_t, pkts, struct sl_packets, packet);
_Static_assert(VMA_PACKET_DROP == (int)SL_PACKET_DROP && VMA_PACKET_RECV == (int)SL_PACKET_RECV &&
		       VMA_PACKET_HOLD == (int)SL_PACKET_HOLD,
	       "verdicts");
_Static_assert(MSG_VMA_ZCOPY == SL_ZCOPY && MSG_VMA_ZCOPY_FORCE == SL_ZCOPY_FORCE, "flags");

static int register_recv_callback(int s, vma_recv_callback_t callback, void *context)
{
	return (int)done(ours(s) ? lib.recv_callback(s, (sl_recv_fn *)callback, context) : -EINVAL);
}

/* True: a call of the library may be made, which says itself whether the socket is ours. */
static inline bool may_ask(int s)
{
	if (sl_unlikely(sl_load(&sl_given_left)))
		sl_given_use(s);
	return sl_likely(lib_is_there() && !sl_in_vfork);
}

static int __attribute__((noinline)) received_nothing(long err)
{
	pthread_testcancel(); /* here no packet is lost */
	return (int)done(err);
}

static int recvfrom_zcopy(int s, void *buf, size_t len, int *flags, struct sockaddr *from,
			  socklen_t *fromlen)
{
	long n = may_ask(s) ? lib.recv_zcopy(s, buf, len, flags, from, fromlen) : -EINVAL;

	return sl_likely(n >= 0) ? (int)n : received_nothing(n);
}

static int free_packets(int s, struct vma_packet_t *pkts, size_t count)
{
	return (int)done(may_ask(s) ? lib.free_packets(s, (const struct sl_packet *)pkts, count)
				    : -EINVAL);
}

static int add_conf_rule(char *line)
{
	return (int)done(sl_lib_load() ? lib.conf_add(line) : -EAGAIN);
}

static int thread_offload(int offload, pthread_t tid)
{
	return (int)done(sl_lib_load() ? lib.thread_offload(offload != 0, tid) : -EAGAIN);
}

static int get_socket_rings_num(int fd)
{
	int n = ours(fd) ? lib.ring_fds(fd, NULL, 0) : -EINVAL;

	return (int)done(n == -ENODATA ? 0 : n);
}

static int get_socket_rings_fds(int fd, int *fds, int n)
{
	int have = ours(fd) && fds ? lib.ring_fds(fd, fds, n) : -EINVAL;

	return (int)done(have > n ? n : have);
}

/* All destinations of a socket leave by its lane's ring. */
static int get_socket_tx_ring_fd(int fd, struct sockaddr *to, socklen_t tolen)
{
	(void)to;
	(void)tolen;
	return (int)done(ours(fd) ? lib.ring_tx_fd(fd) : -EINVAL);
}

static int dump_fd_stats(int fd, int level)
{
	return (int)done(fd <= 0 || ours(fd) ? (lib_is_there() ? lib.dump_fd(fd, level) : 0)
					     : -EBADF);
}

static int get_socket_network_header(int fd, void *ptr, uint16_t *len)
{
	return (int)done(ours(fd) ? lib.network_header(fd, ptr, len) : -EINVAL);
}

SAME(struct vma_buff_t, len, struct sl_buff, len);
SAME(struct vma_packet_desc_t, hw_timestamp, struct sl_packet_desc, hw_stamp);
SAME(struct vma_completion_t, events, struct sl_completion, events);
SAME(struct vma_completion_t, user_data, struct sl_completion, user_data);
SAME(struct vma_completion_t, listen_fd, struct sl_completion, listen_fd);
_Static_assert(sizeof(struct vma_completion_t) == sizeof(struct sl_completion), "completion");
_Static_assert(VMA_SOCKETXTREME_PACKET == SL_LANE_PACKET &&
		       VMA_SOCKETXTREME_NEW_CONNECTION_ACCEPTED == SL_LANE_ACCEPTED,
	       "events");

/* Like libvma's, the functions are there with the setting alone. */
static bool is_xtreme(void)
{
	return lib_is_there() && !lib.lane_join_new(-1);
}

static int socketxtreme_poll(int fd, struct vma_completion_t *c, unsigned n, int flags)
{
	(void)flags;
	return (int)done(is_xtreme() ? lib.lane_poll(fd, (struct sl_completion *)c, n)
				     : -EOPNOTSUPP);
}

static int socketxtreme_free_vma_packets(struct vma_packet_desc_t *packets, int n)
{
	if (!is_xtreme())
		return (int)done(-EOPNOTSUPP);
	if (n < 0 || (n && !packets))
		return (int)done(-EINVAL);
	return (int)done(lib.free_descs((const struct sl_packet_desc *)packets, (size_t)n));
}

static int socketxtreme_ref_vma_buff(struct vma_buff_t *buff)
{
	return (int)done(is_xtreme() ? lib.buff_ref((struct sl_buff *)buff) : -EOPNOTSUPP);
}

static int socketxtreme_free_vma_buff(struct vma_buff_t *buff)
{
	return (int)done(is_xtreme() ? lib.buff_free((struct sl_buff *)buff) : -EOPNOTSUPP);
}

static int vma_modify_ring(struct vma_modify_ring_attr *a)
{
	uint32_t all = VMA_MODIFY_RING_CQ_MODERATION | VMA_MODIFY_RING_CQ_ARM;
	int fd = lib_is_there() && a ? a->ring_fd : -1;

	if (fd < 0 || !a->comp_bit_mask || a->comp_bit_mask & ~all)
		return (int)done(-EINVAL);
	if (a->comp_bit_mask & VMA_MODIFY_RING_CQ_MODERATION)
		return (int)done(lib.ring_moderate(fd, a->cq_moderation.cq_moderation_count,
						   a->cq_moderation.cq_moderation_period_usec));
	return 0;
}

/* A ring of packets is what each lane has, so all such profiles are one, like equal profiles of
 * libvma. The other kinds are rings in the program's memory. */
static int vma_add_ring_profile(struct vma_ring_type_attr *profile, int *key)
{
	if (!profile || !key)
		return (int)done(-EINVAL);
	if (profile->ring_type != VMA_RING_PACKET)
		return (int)done(-EOPNOTSUPP);
	*key = PACKET_PROFILE;
	return 0;
}

/* CMSG_VMA_IOCTL_USER_ALLOC. One memory serves both directions, whichever is asked for. */
static int api_ioctl(void *cmsg, size_t len)
{
	struct vma_ioctl_user_alloc a;
	struct cmsghdr h;

	if (!cmsg || len < CMSG_LEN(sizeof(a)))
		return (int)done(-EINVAL);
	memcpy(&h, cmsg, sizeof(h));
	memcpy(&a, CMSG_DATA((struct cmsghdr *)cmsg), sizeof(a));
	if (h.cmsg_level != SOL_SOCKET || h.cmsg_type != CMSG_VMA_IOCTL_USER_ALLOC ||
	    h.cmsg_len < CMSG_LEN(sizeof(a)) || h.cmsg_len > len ||
	    !(a.flags & (IOCTL_USER_ALLOC_TX | IOCTL_USER_ALLOC_RX)))
		return (int)done(-EINVAL);
	return (int)done(sl_lib_load() ? lib.memory_from(a.memalloc, a.memfree) : -EAGAIN);
}

/* Calls that only libvma's own rings can serve. */
#define ABSENT(name, ...)                                                                          \
	static int name(__VA_ARGS__)                                                               \
	{                                                                                          \
		return (int)done(-EOPNOTSUPP);                                                     \
	}
ABSENT(get_ring_direct_descriptors, int fd, struct vma_mlx_hw_device_data *data)
ABSENT(deregister_memory_on_ring, int fd, void *addr, size_t length)

/* (libvma looks at the key first, too, and refuses for a ring of packets.) */
static int register_memory_on_ring(int fd, void *addr, size_t length, uint32_t *key)
{
	return (int)done(key ? -EOPNOTSUPP : -EINVAL);
}

static struct vma_api_t api = {
	.register_recv_callback = register_recv_callback,
	.recvfrom_zcopy = recvfrom_zcopy,
	.free_packets = free_packets,
	.add_conf_rule = add_conf_rule,
	.thread_offload = thread_offload,
	.socketxtreme_poll = socketxtreme_poll,
	.get_socket_rings_num = get_socket_rings_num,
	.get_socket_rings_fds = get_socket_rings_fds,
	.get_socket_tx_ring_fd = get_socket_tx_ring_fd,
	.socketxtreme_free_vma_packets = socketxtreme_free_vma_packets,
	.socketxtreme_ref_vma_buff = socketxtreme_ref_vma_buff,
	.socketxtreme_free_vma_buff = socketxtreme_free_vma_buff,
	.dump_fd_stats = dump_fd_stats,
	.vma_add_ring_profile = vma_add_ring_profile,
	.get_socket_network_header = get_socket_network_header,
	.get_ring_direct_descriptors = get_ring_direct_descriptors,
	.register_memory_on_ring = register_memory_on_ring,
	.deregister_memory_on_ring = deregister_memory_on_ring,
	.vma_modify_ring = vma_modify_ring,
	.vma_extra_supported_mask =
		VMA_EXTRA_API_REGISTER_RECV_CALLBACK | VMA_EXTRA_API_RECVFROM_ZCOPY |
		VMA_EXTRA_API_FREE_PACKETS | VMA_EXTRA_API_ADD_CONF_RULE |
		VMA_EXTRA_API_THREAD_OFFLOAD | VMA_EXTRA_API_GET_SOCKET_RINGS_NUM |
		VMA_EXTRA_API_GET_SOCKET_RINGS_FDS | VMA_EXTRA_API_GET_SOCKET_TX_RING_FD |
		VMA_EXTRA_API_DUMP_FD_STATS | VMA_EXTRA_API_GET_SOCKET_NETWORK_HEADER |
		VMA_EXTRA_API_MODIFY_RING | VMA_EXTRA_API_ADD_RING_PROFILE | VMA_EXTRA_API_IOCTL,
	.ioctl = api_ioctl,
};

bool sl_vma_api(int level, int name, void *val, socklen_t *len)
{
	struct vma_api_t *p = &api;

	if (level != SOL_SOCKET || name != SO_VMA_GET_API || !val || !len || *len < sizeof(p) ||
	    sl_in_vfork || !sl_lib_load())
		return false;
	if (is_xtreme())
		api.vma_extra_supported_mask |= VMA_EXTRA_API_SOCKETXTREME_POLL |
						VMA_EXTRA_API_SOCKETXTREME_FREE_VMA_PACKETS |
						VMA_EXTRA_API_SOCKETXTREME_REF_VMA_BUFF |
						VMA_EXTRA_API_SOCKETXTREME_FREE_VMA_BUFF;
	memcpy(val, &p, sizeof(p));
	*len = sizeof(p);
	return true;
}

static int choose_ring(int fd, const void *val, socklen_t len)
{
	struct vma_ring_alloc_logic_attr a;

	if (!val || len != sizeof(a))
		return -EINVAL;
	memcpy(&a, val, sizeof(a));
	if (a.comp_mask & VMA_RING_ALLOC_MASK_RING_PROFILE_KEY &&
	    a.ring_profile_key != PACKET_PROFILE)
		return -EINVAL;
	if (a.ring_alloc_logic == RING_LOGIC_PER_USER_ID &&
	    !(a.comp_mask & VMA_RING_ALLOC_MASK_RING_USER_ID))
		return -EINVAL;
	return lib.lane_choose(fd, a.ring_alloc_logic, a.user_id);
}

/* Sockets that name the same memory have a ring in common, which other sockets do not use. That is
 * all that libvma 9 makes of it, too: packets do not come into that memory. A socket that has its
 * ring already keeps it. */
static int ring_of_memory(int fd, const void *val, socklen_t len)
{
	struct iovec v;
	uint64_t h;
	int err;

	if (!val || len != sizeof(v))
		return -EINVAL;
	memcpy(&v, val, sizeof(v));
	h = ((uintptr_t)v.iov_base ^ (uint64_t)v.iov_len << 20) * 0x9e3779b97f4a7c15;
	err = lib.lane_choose(fd, RING_LOGIC_PER_USER_ID, (uint32_t)(h >> 32));
	return err == -EISCONN ? 0 : err;
}

int sl_vma_setsockopt(int fd, int name, const void *val, socklen_t len)
{
	uint64_t data;
	uint32_t tag;

	switch (name) {
	case SO_VMA_USER_DATA:
		if (!val || len != sizeof(data))
			return -EINVAL;
		memcpy(&data, val, sizeof(data));
		return lib.lane_join(fd, data);
	case SO_VMA_SHUTDOWN_RX:
		return lib.shutdown(fd, SHUT_RD);
	case SO_VMA_RING_ALLOC_LOGIC:
		return choose_ring(fd, val, len);
	case SO_VMA_FLOW_TAG:
		if (!val || len != sizeof(tag))
			return -EINVAL;
		memcpy(&tag, val, sizeof(tag));
		return lib.flow_tag(fd, tag);
	case SO_VMA_RING_USER_MEMORY:
		return ring_of_memory(fd, val, len);
	}
	return -ENOPROTOOPT;
}

int sl_vma_getsockopt(int fd, int name, void *val, socklen_t *len)
{
	if (!val || !len)
		return -EINVAL;
	switch (name) {
	case SO_VMA_USER_DATA:
		return *len != sizeof(uint64_t) ? -EINVAL : lib.lane_user_data(fd, val);
	case SO_VMA_FLOW_TAG:
		if (*len < sizeof(uint32_t))
			return -EINVAL;
		*len = sizeof(uint32_t);
		return lib.flow_tag_get(fd, val);
	}
	return -ENOPROTOOPT;
}
