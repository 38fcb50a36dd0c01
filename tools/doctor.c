/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice doctor: reports the machine's abilities, what will fall back, and the remedies. */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/pages.h"
#include "base/settings.h"
#include "ctl/front/broker.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/netdev.h"
#include "ctl/kern/netns.h"
#include "ctl/lease/client.h"
#include "ctl/lease/proto.h"
#include "ctl/steer/pin.h"
#include "ctl/umem/memory.h"
#include "doctor.h"
#include "steer.h"
#include "tools.h"

/* A page less XDP's headroom in front and the kernel's part behind (veth; others take less). */
#define ONE_BUFFER_MTU 3520

static struct sl_device devs[256];
static int ndevs;

static uint32_t frame_size(void)
{
	static uint32_t size;

	if (!size)
		size = sl_settings.frame_size ? (uint32_t)sl_settings.frame_size
					      : sl_broker_frame_size();
	return size;
}

static void check_kernel(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	if (major > 5 || (major == 5 && minor >= 10))
		sl_say_good("kernel %s", u.release);
	else
		sl_say_finding("run Linux 5.10 or later", "kernel %s is too old", u.release);
}

static bool leased; /* the daemon gives this user a lease */

/* Asks sluiced for a lease as a program would, and gives it back at once. */
static void check_daemon(void)
{
	bool is_auto = !strcmp(sl_settings.daemon, "auto");
	const char *path = is_auto ? SL_LEASE_PATH : sl_settings.daemon, *why = "";
	bool absent;
	int err;

	if (!strcmp(sl_settings.daemon, "off")) {
		sl_say_note("SLUICE_DAEMON=off: programs do without sluiced");
		return;
	}
	err = sl_lease_open(path, sl_settings.group, &why);
	leased = !err;
	absent = err == -ENOENT || err == -ECONNREFUSED;
	sl_lease_end();
	if (leased)
		sl_say_good("sluiced at %s lends to this user", path);
	else if (is_auto && absent)
		sl_say_note(
			"no sluiced at %s: only programs with capabilities are offloaded, and one a "
			"device",
			path);
	else if (err == -EACCES || err == -EPERM)
		sl_say_finding("a line for this user in sluiced's policy, sluiced.conf(5)",
			       "sluiced at %s does not lend to this user: %s", path, why);
	else if (absent)
		sl_say_finding("systemctl start sluiced, or SLUICE_DAEMON=auto",
			       "no sluiced at %s, which SLUICE_DAEMON names", path);
	else
		sl_say_finding("systemctl restart sluiced, or SLUICE_DAEMON=off",
			       "sluiced at %s gives no lease: %s", path,
			       *why ? why : strerror(-err));
}

/* A lane has a descriptor for each receive queue of each device, besides the sockets' own. */
static void check_descriptors(void)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	if (r.rlim_cur >= 1024)
		sl_say_good("%llu descriptors a process", (unsigned long long)r.rlim_cur);
	else
		sl_say_finding(
			"ulimit -n 1024 or more",
			"%llu descriptors a process: Sluice needs one for each receive queue and "
			"lane, and sockets for which there is none stay with the kernel",
			(unsigned long long)r.rlim_cur);
}

static void check_af_xdp(void)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		sl_say_good("AF_XDP sockets");
		close(fd);
	} else if (errno == EAFNOSUPPORT) {
		sl_say_finding("a kernel with CONFIG_XDP_SOCKETS", "the kernel has no AF_XDP");
	} else if (leased) {
		sl_say_good("AF_XDP sockets come from the daemon");
	} else {
		sl_say_finding("run as root, or with CAP_NET_RAW", "AF_XDP sockets: %s",
			       strerror(errno));
	}
}

/* Bits of CapEff, from linux/capability.h. */
static void check_capabilities(void)
{
	static const struct {
		int bit;
		const char *name;
	} wanted[] = {{12, "CAP_NET_ADMIN"}, {13, "CAP_NET_RAW"}, {39, "CAP_BPF"}};
	unsigned long long caps = 0;
	char line[256], missing[128] = "";
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "CapEff: %llx", &caps);
	if (f)
		fclose(f);
	if (caps & (1ull << 21)) /* CAP_SYS_ADMIN includes CAP_BPF */
		caps |= 1ull << 39;
	for (unsigned i = 0; i < sl_array_len(wanted); i++)
		if (!(caps & (1ull << wanted[i].bit)))
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing),
				 " %s", wanted[i].name);
	if (missing[0] && leased)
		sl_say_good("missing:%s; the daemon offloads programs of this user without",
			    missing);
	else if (missing[0])
		sl_say_finding(
			"start sluiced(8), run the program as root, or give it these capabilities",
			"missing:%s; programs of this user stay with the kernel", missing);
	else
		sl_say_good("capabilities for XDP and AF_XDP");
}

static void check_bpffs(void)
{
	if (sl_bpffs_mounted())
		sl_say_good("bpffs on /sys/fs/bpf");
	else
		sl_say_finding(
			"mount -t bpf bpf /sys/fs/bpf",
			"no bpffs%s: maps are not pinned, devices are not shared with other XDP programs",
			sl_mounts_are_private()
				? " in this mount namespace (`ip netns exec` makes one; "
				  "`sluice run` then mounts it)"
				: "");
}

static void check_memlock(void)
{
	struct rlimit r;

	getrlimit(RLIMIT_MEMLOCK, &r);
	if (r.rlim_cur == RLIM_INFINITY)
		sl_say_good("locked memory is not limited");
	else if (leased)
		sl_say_good("locked memory is the daemon's");
	else if (geteuid() == 0)
		sl_say_note("locked memory is limited to %llu KB; packet memory of a process with "
			    "CAP_IPC_LOCK does not count",
			    (unsigned long long)r.rlim_cur / 1024);
	else
		sl_say_finding("ulimit -l unlimited", "locked memory is limited to %llu KB",
			       (unsigned long long)r.rlim_cur / 1024);
}

/* True: packet memory can be on transparent huge pages. */
static bool has_transparent(void)
{
	const size_t bytes = SL_HUGE_PAGE;
	void *mem = sl_pages_map_anon(bytes, false);
	bool can = mem && sl_pages_collapse(mem, bytes);

	if (mem)
		munmap(mem, bytes);
	return can;
}

static void check_huge_pages(void)
{
	unsigned long free_pages = 0, kb = 0, need;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "HugePages_Free: %lu", &free_pages);
		sscanf(line, "Hugepagesize: %lu", &kb);
	}
	if (f)
		fclose(f);
	need = kb ? ((unsigned long)sl_settings.frames * (unsigned long)frame_size() / 1024 + kb -
		     1) / kb
		  : 0;
	if (kb && free_pages >= need)
		sl_say_good("huge pages: %lu of %lu KB are free", free_pages, kb);
	else if (sl_settings.mem_alloc_type != SL_MEM_ANON && has_transparent())
		sl_say_good("huge pages: none reserved, transparent ones are used");
	else if (sl_settings.mem_alloc_type == SL_MEM_HUGE)
		sl_say_finding("echo 64 > /proc/sys/vm/nr_hugepages",
			       "huge pages are asked for, %lu are free, a program needs %lu",
			       free_pages, need);
	else
		sl_say_note(
			"no huge pages (%lu free, a program would use %lu): ordinary pages are used",
			free_pages, need);
}

/* Measured on 6.18 without Sluice, two cores: 16 tasks of one session that woke each other left
 * four tasks of other sessions a tenth of the turns that they get without autogroups, and none for
 * three seconds. */
static void check_autogroup(void)
{
	FILE *f = fopen("/proc/sys/kernel/sched_autogroup_enabled", "re");
	int on = 0;

	if (f && fscanf(f, "%d", &on) == 1 && on)
		sl_say_note(
			"each session is a group of its own to the scheduler: on a machine that is full a "
			"busy session may keep others waiting for seconds (seen with Linux 6.18); "
			"remedy: sysctl kernel.sched_autogroup_enabled=0");
	if (f)
		fclose(f);
}

static void check_preload(void)
{
	char path[1024];

	if (sl_tool_preload_path(path, sizeof(path)))
		sl_say_finding("make install, or run the tool from the build directory",
			       "libsluice-preload.so is not beside the tool nor in " SLUICE_PREFIX
			       "/lib");
	else
		sl_say_good("%s", path);
}

static void check_xdp_mode(const struct sl_device *d)
{
	if (!d->xdp.xdp_known)
		sl_say_note("the kernel does not say what the driver can (it does from 6.3 on)");
	else if (d->xdp.xdp & SL_XDP_FEATURE_BASIC)
		sl_say_good("native XDP");
	else
		sl_say_note("no native XDP in driver %s: packet sockets are used "
			    "(CAP_SYS_ADMIN), or generic mode, which is slower",
			    d->driver);
	if (!strcmp(d->driver, "veth") && d->xdp_prog && !d->xdp_generic)
		sl_say_note(
			"the XDP program on this veth has switched the segmentation offloads of its "
			"other end off, for all programs there; remedy: SLUICE_RX_BACKEND=packet for "
			"%s, or take the program off",
			leased ? "sluiced" : "the program that attached it");
	else if (!strcmp(d->driver, "veth") && leased)
		sl_say_note(
			"sluiced uses XDP on a veth unless SLUICE_RX_BACKEND in its environment says "
			"packet; that switches the segmentation offloads of the other end off, for "
			"all programs there");
	else if (!strcmp(d->driver, "veth") && sl_settings.rx_backend == SL_RX_XDP)
		sl_say_note(
			"XDP on a veth switches the segmentation offloads of its other end off, for all "
			"programs there; remedy: SLUICE_RX_BACKEND=auto");
	if (d->xdp.xdp_known && (d->xdp.xdp & SL_XDP_FEATURE_ZEROCOPY))
		sl_say_good("AF_XDP zero-copy");
	else if (sl_settings.zerocopy == SL_ZEROCOPY_FORCE)
		sl_say_finding("SLUICE_ZEROCOPY=auto", "no AF_XDP zero-copy, and it is forced");
	else
		sl_say_note("no AF_XDP zero-copy: copy mode is used");
}

static unsigned owner_in(const char *dir, unsigned ifindex)
{
	struct sl_port_config cfg;
	char path[128];
	__u32 zero = 0;
	unsigned pid = 0;
	int fd;

	snprintf(path, sizeof(path), SL_PIN_ROOT "/%s/config", dir);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return 0;
	if (!bpf_map_lookup_elem(fd, &zero, &cfg) && cfg.ifindex == ifindex &&
	    cfg.netns == sl_netns_ino())
		pid = cfg.pid;
	close(fd);
	return pid;
}

/* Process that has offloaded the device, by its pins; 0: none known. */
static unsigned owner_of(const struct sl_device *d)
{
	char name[SL_PIN_NAME];
	unsigned pid;

	sl_pin_name(name, d->name, 0);
	pid = owner_in(name, d->ifindex);
	if (pid)
		return pid;
	sl_pin_name(name, d->name, sl_netns_ino());
	return owner_in(name, d->ifindex);
}

/* Shows the programs behind a dispatcher, or the one that is attached alone. */
static void check_attached(const struct sl_device *d)
{
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex((int)d->ifindex);

	sl_say_note("XDP program attached: %s, id %u%s", d->xdp_name[0] ? d->xdp_name : "unnamed",
		    d->xdp_prog, d->xdp_generic ? ", generic mode" : "");
	if (!libxdp_get_error(mp)) {
		for (struct xdp_program *p = xdp_multiprog__next_prog(NULL, mp); p;
		     p = xdp_multiprog__next_prog(p, mp))
			sl_say_note("  with %s, id %u", xdp_program__name(p), xdp_program__id(p));
		xdp_multiprog__close(mp);
	}
}

static bool is_daemon(unsigned pid)
{
	char path[32], name[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%15s", name) != 1)
		name[0] = 0;
	if (f)
		fclose(f);
	return !strcmp(name, "sluiced");
}

static void check_owner(const struct sl_device *d)
{
	unsigned pid = owner_of(d);
	const char *way = d->xdp_prog ? "" : ", by packet sockets";

	if (pid && is_daemon(pid))
		sl_say_note("sluiced, process %u, lends it%s", pid, way);
	else if (pid)
		sl_say_note("offloaded by process %u%s; other processes stay with the kernel on it",
			    pid, way);
}

static void check_queues(const struct sl_device *d)
{
	char remedy[64];

	snprintf(remedy, sizeof(remedy), "ethtool -L %.15s combined 64", d->name);
	if (d->rx_queues > 64)
		sl_say_finding(remedy, "%u RX queues; at most 64 can be covered", d->rx_queues);
	else
		sl_say_good("%u RX queue%s", d->rx_queues, d->rx_queues == 1 ? "" : "s");
	if (d->flow_rules && d->rx_queues > 1)
		sl_say_good("rules for flows: sluiced can divide it among groups (divide in "
			    "sluiced.conf)");
}

/* True: the steering program can see VLAN tags, in the frame or from the driver. */
static bool sees_tags(const struct sl_device *d)
{
	if (d->xdp.hints_known && d->xdp.hints & SL_XDP_HINT_TAG &&
	    !strstr(d->xdp_name, "dispatcher"))
		return true;
	return !d->rx_tags && !sl_netdev_has_tags_beside(d->driver);
}

/* Tells which questions the driver answers to a steering program bound to the device. A program in
 * a dispatcher is not bound. */
static void check_hints(const struct sl_device *d)
{
	if (!sees_tags(d) && d->rx_tags && !sl_netdev_has_tags_beside(d->driver))
		sl_say_note(
			"takes VLAN tags off and does not tell XDP: VLAN devices on it stay with the "
			"kernel; remedy: ethtool -K %.15s rxvlan off",
			d->name);
	if (!d->xdp.hints_known || strstr(d->xdp_name, "dispatcher"))
		return;
	if (d->xdp.hints & SL_XDP_HINT_STAMP)
		sl_say_good("hardware receive time stamps, of packets that the device has stamped");
	else
		sl_say_note("no hardware receive time stamps: the driver does not tell XDP");
}

/* Notes that veth and virtio hand packets over with the checksum left to be filled in. */
static void check_checksum(const struct sl_device *d)
{
	bool may = !strcmp(d->driver, "veth") || !strcmp(d->driver, "virtio_net");

	if (may && d->tx_csum)
		sl_say_note(
			"packets between %s devices carry no full checksum; it is accepted on them "
			"(a peer that should send one: ethtool -K <peer> tx off)",
			d->driver);
}

static const struct sl_device *device_named(const char *name)
{
	for (int i = 0; i < ndevs; i++)
		if (!strcmp(devs[i].name, name))
			return &devs[i];
	return NULL;
}

/* Checks the device below: a VLAN device is offloaded through it. */
static void check_vlan(const struct sl_device *d)
{
	const struct sl_device *below = d;
	char remedy[64];

	while (below && below->lower[0])
		below = device_named(below->lower);
	if (!below || sl_device_obstacle(below, NULL)) {
		sl_say_note("stays with the kernel, as the device below it does");
		return;
	}
	if (!sees_tags(below) && sl_netdev_has_tags_beside(below->driver)) {
		sl_say_note("stays with the kernel: VLAN tags are beside the frames of %s, and the "
			    "steering program cannot ask for them there",
			    below->name);
		return;
	}
	if (!sees_tags(below)) {
		snprintf(remedy, sizeof(remedy), "ethtool -K %.15s rxvlan off", below->name);
		sl_say_finding(
			remedy,
			"stays with the kernel: %s takes VLAN tags off, and the steering program "
			"cannot ask for them",
			below->name);
		return;
	}
	sl_say_good("can be offloaded by %s, as long as it has that one's MAC address and at "
		    "most 32 entries in its egress-qos-map",
		    below->name);
}

static void check_mtu(const struct sl_device *d)
{
	bool several = d->xdp.xdp & SL_XDP_FEATURE_RX_SG && sl_broker_gathers(d->driver);
	unsigned most = several ? SL_PACKET_MOST : sl_frame_mtu(frame_size());

	if (d->xdp.xdp_known && !(d->xdp.xdp & SL_XDP_FEATURE_RX_SG) && d->mtu > ONE_BUFFER_MTU)
		sl_say_finding(
			"ip link set DEV mtu 3498 or less",
			"its driver knows XDP of packets in one buffer alone, and may refuse it "
			"with an MTU of %u",
			d->mtu);
	if (d->mtu <= most)
		return;
	if (frame_size() < 4096 && !several)
		sl_say_finding(
			"SLUICE_FRAME_SIZE=4096",
			"packets of more than %u bytes go through the kernel: frames hold no more",
			most);
	else
		sl_say_note("packets of more than %u bytes go through the kernel", most);
}

static void check_device(const struct sl_device *d)
{
	const char *remedy, *obstacle = sl_device_obstacle(d, &remedy);

	sl_say_about(d->name, d->driver);
	if (obstacle) {
		/* Down, left out or not Ethernet: usually intended. */
		bool meant = !(d->flags & IFF_UP) || !d->wanted || d->type != ARPHRD_ETHER;

		if (remedy && !meant)
			sl_say_finding(remedy, "stays with the kernel: %s", obstacle);
		else
			sl_say_note("stays with the kernel: %s", obstacle);
		return;
	}
	if (d->lower[0]) {
		check_vlan(d);
		sl_doctor_link(d);
		return;
	}
	sl_say_good("can be offloaded, MTU %u", d->mtu);
	if (d->xdp_prog)
		check_attached(d);
	check_owner(d);
	check_mtu(d);
	check_xdp_mode(d);
	check_queues(d);
	check_hints(d);
	check_checksum(d);
	sl_doctor_link(d);
	sl_doctor_nic(d, leased);
}

/* The options of the command line. */
struct wish {
	bool json;
	const char *program;  /* NULL: none is looked at */
	const char *peer;     /* the path to it is tested by RDMA */
	bool serve;           /* such tests of others are served */
	const char *serve_at; /* NULL: at each address */
	struct sl_rdma_test test;
};

static void usage(FILE *to)
{
	fputs("usage: sluice doctor [--json] [--program FILE] [device ...]\n"
	      "       sluice doctor [--json] --rdma PEER[:PORT] [--count N] [--bytes N] [--ack-timeout N]\n"
	      "       sluice doctor --rdma-server [ADDR[:PORT]] [--once]\n"
	      "Says what this machine can do, what will fall back, and the remedy; or tests a path by RDMA. Exit "
	      "status:\n"
	      "0 all is well, 1 something could be mended. See sluice-doctor(1).\n",
	      to);
}

static bool take_number(const char *text, int lo, int hi, unsigned *out)
{
	int n;

	if (!text || !sl_tool_number(text, lo, hi, &n))
		return false;
	*out = (unsigned)n;
	return true;
}

/* Takes an option. Returns how many arguments it is, or 0: it is none, or its value is wrong. */
static int take_option(char *const *arg, struct wish *w)
{
	const char *value = arg[1];

	if (!strcmp(arg[0], "--json"))
		return w->json = true, 1;
	if (!strcmp(arg[0], "--program") && value)
		return w->program = value, 2;
	if (!strcmp(arg[0], "--once"))
		return w->test.once = true, 1;
	if (!strcmp(arg[0], "--rdma-server")) {
		w->serve = true;
		w->serve_at = value && value[0] != '-' ? value : NULL;
		return w->serve_at ? 2 : 1;
	}
	if (!strcmp(arg[0], "--rdma") && value)
		return w->peer = value, 2;
	if (!strcmp(arg[0], "--count"))
		return take_number(value, 1, 1000000, &w->test.count) ? 2 : 0;
	if (!strcmp(arg[0], "--bytes"))
		return take_number(value, 16, 1024, &w->test.bytes) ? 2 : 0;
	if (!strcmp(arg[0], "--ack-timeout"))
		return take_number(value, 1, 31, &w->test.timeout) ? 2 : 0;
	return 0;
}

static void check_machine(void)
{
	sl_say_about("machine", NULL);
	check_kernel();
	check_daemon();
	check_af_xdp();
	if (sl_settings.rx_backend == SL_RX_PACKET)
		sl_say_good("packet sockets are asked for in place of XDP (SLUICE_RX_BACKEND; "
			    "CAP_SYS_ADMIN)");
	check_capabilities();
	check_bpffs();
	check_memlock();
	check_descriptors();
	check_huge_pages();
	check_autogroup();
	check_preload();
	sl_doctor_settings();
	sl_doctor_rules();
	sl_doctor_preloads();
}

static void check_devices(int argc, char **argv)
{
	int shown = 0;

	ndevs = sl_devices(devs, sl_array_len(devs));
	sl_doctor_names();
	for (int a = 1; a < argc; a++)
		if (!device_named(argv[a]))
			sl_say_finding("a name that ip link shows in this network namespace",
				       "there is no device %s here", argv[a]);
	for (int i = 0; i < ndevs; i++) {
		bool asked = argc < 2 && !(devs[i].flags & IFF_LOOPBACK);

		for (int a = 1; a < argc; a++)
			asked |= !strcmp(argv[a], devs[i].name);
		if (asked) {
			check_device(&devs[i]);
			shown++;
		}
	}
	if (!shown && argc < 2)
		sl_say_finding("ip link", "there is no device but the loopback");
}

int sl_tool_doctor(int argc, char **argv)
{
	struct wish w = {.test = {.count = 1000, .bytes = 64, .timeout = 14}};
	const char *why;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return usage(stdout), 0;
	while (argc > 1 && argv[1][0] == '-') {
		int n = take_option(argv + 1, &w);

		if (!n)
			return usage(stderr), 2;
		argc -= n;
		argv += n;
	}
	sl_doctor_load();
	if (sl_libbpf_load(&why) < 0) {
		fprintf(stderr, "sluice doctor: %s\n", why);
		return 1;
	}
	libxdp_set_print(NULL);
	libbpf_set_print(NULL);
	sl_say_begin(w.json);
	if (w.peer) {
		sl_doctor_rdma(w.peer, &w.test);
	} else if (w.serve) {
		sl_doctor_rdma_serve(w.serve_at, &w.test);
	} else {
		check_machine();
		if (w.program)
			sl_doctor_program(w.program);
		check_devices(argc, argv);
	}
	return sl_say_end();
}
