/* SPDX-License-Identifier: BSD-2-Clause */
/* For `sluice doctor`: a device's queueing discipline, which offloaded packets pass by, and its
 * version of IGMP. */
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/settings.h"
#include "doctor.h"
#include "tools.h"

/* The value of force_igmp_version of a device or of all; 0: none is forced. */
static int forced_version(const char *name)
{
	char path[80];
	int version = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%.15s/force_igmp_version", name);
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &version) != 1)
		version = 0;
	if (f)
		fclose(f);
	return version;
}

/* (The kernel takes that of all before the device's own.) */
static void check_igmp(const char *name)
{
	int all = forced_version("all"), version = all ? all : forced_version(name);

	if (sl_settings.suppress_igmp_warning || version < 1 || version > 2)
		return;
	sl_say_note("held to IGMPv%d: routers do not learn %s; remedy: sysctl -w "
		    "net.ipv4.conf.%s.force_igmp_version=0",
		    version,
		    version == 1 ? "that a group is left" : "which sources of a group are wanted",
		    all ? "all" : name);
}

/* The root queueing discipline by RTM_GETLINK; "": not known. */
static void read_qdisc(unsigned ifindex, char *name, size_t len)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg i;
	} ask = {.h = {.nlmsg_len = sizeof(ask),
		       .nlmsg_type = RTM_GETLINK,
		       .nlmsg_flags = NLM_F_REQUEST},
		 .i = {.ifi_index = (int)ifindex}};
	static char buf[32768] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *h = (struct nlmsghdr *)buf;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t n = -1;
	int left;

	name[0] = 0;
	if (fd >= 0 && send(fd, &ask, sizeof(ask), 0) == sizeof(ask))
		n = recv(fd, buf, sizeof(buf), 0);
	if (fd >= 0)
		close(fd);
	if (n < 0 || !NLMSG_OK(h, (size_t)n) || h->nlmsg_type != RTM_NEWLINK)
		return;
	left = (int)IFLA_PAYLOAD(h);
	for (struct rtattr *a = IFLA_RTA(NLMSG_DATA(h)); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == IFLA_QDISC)
			snprintf(name, len, "%.*s", (int)RTA_PAYLOAD(a), (char *)RTA_DATA(a));
}

/* Those that a device has by itself are no choice of the administrator's. */
static void check_qdisc(unsigned ifindex)
{
	static const char *const usual[] = {"",           "noqueue",  "noop", "mq",
					    "pfifo_fast", "fq_codel", "fq"};
	static const char *const classes[] = {"mqprio", "taprio"};
	char name[32];

	read_qdisc(ifindex, name, sizeof(name));
	for (unsigned i = 0; i < sl_array_len(usual); i++)
		if (!strcmp(name, usual[i]))
			return;
	for (unsigned i = 0; i < sl_array_len(classes); i++)
		if (!strcmp(name, classes[i])) {
			sl_say_good("queueing discipline %s: offloaded packets leave by the queue "
				    "of their class",
				    name);
			return;
		}
	sl_say_note("offloaded packets pass its queueing discipline by (%s); remedy, where it "
		    "limits: sluice pace, or a rule use os",
		    name);
}

void sl_doctor_link(const struct sl_device *d)
{
	check_igmp(d->name);
	check_qdisc(d->ifindex);
}
