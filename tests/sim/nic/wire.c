/* SPDX-License-Identifier: BSD-2-Clause */
/* The cable: frames leave by AF_PACKET on the network device that plays the port. */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "nic.h"
#include "sys.h"

#define SNDBUF     (8 << 20)
#define PAUSE_NS   20000
#define MAX_PAUSES 500

static int wire_fd = -1;
static unsigned ifindex, mtu = 1500;
static uint8_t mac[6];

static int ask(int fd, unsigned long what, struct ifreq *ifr)
{
	memset(ifr, 0, sizeof(*ifr));
	memcpy(ifr->ifr_name, sim_config.netdev, sizeof(sim_config.netdev));
	return sim_ioctl(fd, what, ifr);
}

int sim_wire_open(void)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET};
	int fd = sim_socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	struct ifreq ifr;

	/* Without the right to it (the test of CAP_NET_RAW) the device is there, and mute. */
	int ask_fd = fd >= 0 ? fd : sim_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (ask_fd < 0 || ask(ask_fd, SIOCGIFINDEX, &ifr))
		goto close;
	ifindex = (unsigned)ifr.ifr_ifindex;
	if (!ask(ask_fd, SIOCGIFHWADDR, &ifr))
		memcpy(mac, ifr.ifr_hwaddr.sa_data, sizeof(mac));
	if (!ask(ask_fd, SIOCGIFMTU, &ifr))
		mtu = (unsigned)ifr.ifr_mtu;
	if (fd < 0) {
		sim_close(ask_fd);
		return 0;
	}
	at.sll_ifindex = (int)ifindex;
	if (sim_bind(fd, &at, sizeof(at)))
		goto close;
	sim_setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
	sim_setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, SNDBUF);
	wire_fd = sim_fd_keep(fd);
	return 0;
close:
	if (ask_fd >= 0)
		sim_close(ask_fd);
	return -ENODEV;
}

bool sim_wire_up(void)
{
	const short both = IFF_UP | IFF_RUNNING;
	struct ifreq ifr;

	return !sim_nic.link_down && wire_fd >= 0 && !ask(wire_fd, SIOCGIFFLAGS, &ifr) &&
	       (ifr.ifr_flags & both) == both;
}

unsigned sim_wire_ifindex(void)
{
	return ifindex;
}

const uint8_t *sim_wire_mac(void)
{
	return mac;
}

/* A full veth drops, and says so; a cable has pause frames: the port waits a little for it. */
static bool put_on_wire(const uint8_t *frame, size_t len)
{
	struct timespec ts = {.tv_nsec = PAUSE_NS};

	for (int i = 0; i < MAX_PAUSES; i++) {
		if (sim_send(wire_fd, frame, len) == (ssize_t)len)
			return true;
		if (errno != ENOBUFS && errno != EAGAIN)
			return false;
		syscall(SYS_clock_nanosleep, (long)CLOCK_MONOTONIC, 0L, &ts, NULL);
	}
	return false;
}

/* Left the device, and the cable lost it. */
static bool is_lost(void)
{
	static uint32_t n;

	return sim_config.lose && ++n % sim_config.lose == 0;
}

void sim_wire_send(const uint8_t *frame, size_t len, uint64_t departed_ns)
{
	if (len < 14 || len > mtu + 18 || sim_nic.link_down ||
	    !(is_lost() || put_on_wire(frame, len))) {
		sim_nic.drops++;
		return;
	}
	sim_nic.frames++;
	sim_nic.bytes += len;
	sim_capture_frame(frame, len, departed_ns);
}
