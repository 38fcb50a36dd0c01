/* SPDX-License-Identifier: BSD-2-Clause */
/* The cable's other direction: takes what arrives off the veth (AF_PACKET), before the kernel's
 * stack, and makes of it what a cable would have carried: checksums are whole, segments are cut. */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "nic.h"
#include "sys.h"

#define RCVBUF       (32 << 20)
#define BATCH        64
#define TAG_BYTES    4u
#define NO_OUTGOING  23 /* PACKET_IGNORE_OUTGOING */
#define MOST         (SIM_MAX_FRAME + 64)
#define COUNTER_PATH "%s/sys/class/infiniband/" SIM_NAME "/ports/1/hw_counters/out_of_buffer"

static int fd = -1;
static uint8_t buf[MOST];

int sim_arrive_open(void)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htobe16(ETH_P_ALL),
				 .sll_ifindex = (int)sim_wire_ifindex()};
	int s;

	if (fd >= 0)
		return 0;
	s = sim_socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (s < 0)
		return errno;
	sim_setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, RCVBUF);
	sim_setsockopt(s, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	if (sim_setsockopt(s, SOL_PACKET, NO_OUTGOING, 1) ||
	    sim_setsockopt(s, SOL_PACKET, PACKET_AUXDATA, 1) ||
	    sim_setsockopt(s, SOL_PACKET, PACKET_VNET_HDR, 1) || sim_bind(s, &at, sizeof(at))) {
		int err = errno;

		sim_close(s);
		return err;
	}
	fd = sim_fd_keep(s);
	/* The kernel's work queue switches stamps on: without one a frame would seem to have come
	 * when it is read. */
	syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 30000000}, NULL);
	return 0;
}

void sim_arrive_child(void)
{
	if (fd >= 0)
		sim_close(fd);
	fd = -1;
}

/* Checksums ------------------------------------------------------------------------------------ */

static uint32_t sum(uint32_t s, const uint8_t *p, size_t n)
{
	for (; n > 1; p += 2, n -= 2)
		s += (uint32_t)p[0] << 8 | p[1];
	return n ? s + ((uint32_t)p[0] << 8) : s;
}

static uint16_t fold(uint32_t s)
{
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)s;
}

/* The sender left the sum to its device: the checksum holds the pseudo header's. */
static void finish_sum(uint8_t *frame, size_t len, size_t start, size_t at)
{
	uint16_t s;

	if (start + at + 2 > len)
		return;
	s = (uint16_t)~fold(sum(0, frame + start, len - start));
	s = s ? s : 0xffff;
	frame[start + at] = (uint8_t)(s >> 8);
	frame[start + at + 1] = (uint8_t)s;
}

/* Looks at the checksums as the device does, behind a tag of 802.1Q, too, and tells which IP it is.
 */
static void inspect(struct sim_arrival *a)
{
	bool tagged = a->len > 18 && (a->frame[12] << 8 | a->frame[13]) == ETH_P_8021Q;
	uint32_t l3 = tagged ? 14 + TAG_BYTES : 14, n, hdr, proto, s = 0;
	const uint8_t *ip = a->frame + l3;
	int type = ip[-2] << 8 | ip[-1];

	if (a->len < l3 + 20)
		return;
	if (type == ETH_P_IP && ip[0] >> 4 == 4) {
		hdr = (ip[0] & 15) * 4u;
		n = (uint32_t)(ip[2] << 8 | ip[3]);
		if (hdr < 20 || n < hdr || n > a->len - l3 || (ip[6] & 0x3f) || ip[7])
			return;
		a->l3 = MLX5_CQE_L3_HDR_TYPE_IPV4;
		a->l3_ok = fold(sum(0, ip, hdr)) == 0xffff;
		proto = ip[9];
		s = sum(0, ip + 12, 8);
	} else if (type == ETH_P_IPV6 && a->len >= l3 + 40) {
		hdr = 40;
		n = 40u + (uint32_t)(ip[4] << 8 | ip[5]);
		if (n > a->len - l3)
			return;
		a->l3 = MLX5_CQE_L3_HDR_TYPE_IPV6;
		a->l3_ok = true;
		proto = ip[6];
		s = sum(0, ip + 8, 32);
	} else {
		return;
	}
	if (proto == 17 && n - hdr >= 8 && !ip[hdr + 6] && !ip[hdr + 7])
		a->l4_ok = a->l3 == MLX5_CQE_L3_HDR_TYPE_IPV4;
	else if (proto == 6 || proto == 17)
		a->l4_ok = fold(sum(s + proto + n - hdr, ip + hdr, n - hdr)) == 0xffff;
}

/* Arrival -------------------------------------------------------------------------------------- */

static uint64_t arrived, arrived_real;

static void steer(const uint8_t *frame, size_t len, void *arg)
{
	struct sim_arrival a = {.frame = frame,
				.len = (uint32_t)len,
				.arrived_ns = arrived,
				.real_ns = arrived_real};

	inspect(&a);
	sim_flow_steer(&a);
}

/* The socket says this of a packet, beside its bytes. */
struct told {
	uint64_t real_ns;
	uint16_t proto, tci;
	bool tagged;
};

static struct told read_told(struct msghdr *m)
{
	struct told t = {0};

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
			struct timespec ts;

			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			t.real_ns = (uint64_t)ts.tv_sec * SIM_NS_PER_S + (uint64_t)ts.tv_nsec;
		} else if (c->cmsg_level == SOL_PACKET && c->cmsg_type == PACKET_AUXDATA) {
			struct tpacket_auxdata aux;

			memcpy(&aux, CMSG_DATA(c), sizeof(aux));
			t.tagged = aux.tp_status & TP_STATUS_VLAN_VALID;
			t.tci = aux.tp_vlan_tci;
			t.proto = aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid
									    : ETH_P_8021Q;
		}
	}
	return t;
}

static void take(uint8_t *frame, size_t len, const struct virtio_net_hdr *v, const struct told *t)
{
	uint64_t now = sim_now_ns(), real = sim_clock_wall_ns();
	uint8_t kind = v->gso_type & (uint8_t)~VIRTIO_NET_HDR_GSO_ECN;
	unsigned behind = 0; /* bytes of the tag */

	arrived_real = t->real_ns ? t->real_ns : real;
	arrived = t->real_ns && t->real_ns <= real ? now - (real - t->real_ns) : now;
	if (t->tagged) { /* the device leaves the tag where it is */
		memmove(frame - TAG_BYTES, frame, 12);
		frame -= TAG_BYTES;
		len += TAG_BYTES;
		behind = TAG_BYTES;
		frame[12] = (uint8_t)(t->proto >> 8);
		frame[13] = (uint8_t)t->proto;
		frame[14] = (uint8_t)(t->tci >> 8);
		frame[15] = (uint8_t)t->tci;
	}
	if (kind == VIRTIO_NET_HDR_GSO_TCPV4 || kind == VIRTIO_NET_HDR_GSO_TCPV6) {
		unsigned l4 = v->csum_start + behind;

		if (l4 + 20u <= len)
			sim_segment(frame, len, l4 + (frame[l4 + 12] >> 4) * 4u, v->gso_size, steer,
				    NULL);
		return;
	}
	if (v->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		finish_sum(frame, len, v->csum_start + behind, v->csum_offset);
	steer(frame, len, NULL);
}

bool sim_arrive(void)
{
	union {
		struct cmsghdr head;
		uint8_t bytes[256];
	} control;
	struct virtio_net_hdr vnet;
	int i;

	if (fd < 0)
		return false;
	for (i = 0; i < BATCH; i++) {
		struct iovec iov[2] = {{&vnet, sizeof(vnet)}, {buf + 8, sizeof(buf) - 8}};
		struct msghdr m = {.msg_iov = iov,
				   .msg_iovlen = 2,
				   .msg_control = &control,
				   .msg_controllen = sizeof(control)};
		long n = syscall(SYS_recvmsg, (long)fd, &m, (long)MSG_DONTWAIT);
		struct told t;

		if (n < (long)sizeof(vnet) + 14)
			break;
		if (!sim_nic.rules)
			continue;
		t = read_told(&m);
		take(buf + 8, (size_t)n - sizeof(vnet), &vnet, &t);
	}
	return i > 0;
}

void sim_arrive_tell(void)
{
	static uint64_t told, before;
	static bool begun;
	char path[300], text[32];
	int f;

	if (sim_nic.out_of_buffer == told && begun)
		return;
	snprintf(path, sizeof(path), COUNTER_PATH, sim_config.dir);
	f = sim_open(path, O_RDWR | O_CLOEXEC, 0);
	if (f < 0)
		return;
	if (!begun) { /* what other processes' queues have lost so far */
		long n = syscall(SYS_pread64, (long)f, text, sizeof(text) - 1, 0L);

		for (long i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
			before = before * 10 + (uint64_t)(text[i] - '0');
		begun = true;
	}
	told = sim_nic.out_of_buffer;
	if (syscall(SYS_pwrite64, (long)f, text,
		    (long)snprintf(text, sizeof(text), "%lu\n", before + told), 0L) < 0)
		sim_say("cannot write %s", path);
	sim_close(f);
}
