/* SPDX-License-Identifier: BSD-2-Clause */
/* What the subcommands of `sluice` share. Each is a function with main's arguments (argv[0] is its
 * name) and returns an exit status: 0, 1 failure or findings, 2 wrong usage. */
#ifndef SL_TOOLS_H
#define SL_TOOLS_H

#include <stdio.h>

#include "base/base.h"
#include "ctl/netdev.h"

int sl_tool_run(int argc, char **argv);
int sl_tool_stat(int argc, char **argv);
int sl_tool_doctor(int argc, char **argv);
int sl_tool_rule(int argc, char **argv);
int sl_tool_daemon(int argc, char **argv);
int sl_tool_flow(int argc, char **argv);
int sl_tool_pace(int argc, char **argv);
int sl_tool_demo(int argc, char **argv);
int sl_tool_reaper(int argc, char **argv);
int sl_tool_vault(int argc, char **argv);

/* A network device as this machine sees it. */
struct sl_device {
	char name[16];
	unsigned ifindex;
	char driver[32]; /* "" unknown */
	unsigned type;   /* ARPHRD_* */
	unsigned flags;  /* IFF_* */
	unsigned mtu;
	unsigned rx_queues;
	bool enslaved;     /* of a bridge, a bond, a VRF */
	bool wanted;       /* SLUICE_DEVICES names it */
	unsigned xdp_prog; /* id of the attached XDP program, 0: none */
	char xdp_name[64]; /* and its name, that of the dispatcher if it is one */
	bool xdp_generic;
	struct sl_netdev xdp; /* what XDP can do there */
	bool tx_csum;         /* hands packets on with the checksum not filled in */
	char lower[16];       /* of a VLAN device: the one below it; "" it is none */
	bool flow_rules;      /* can be told which packets go to which queue */
	bool rx_tags;         /* takes VLAN tags off what it receives */
};

/* All devices of this network namespace, at most max. Returns how many, or -errno. */
int sl_devices(struct sl_device *dev, unsigned max);
/* Why the device would not be offloaded, or NULL. remedy (may be NULL): what mends it, or NULL. */
const char *sl_device_obstacle(const struct sl_device *d, const char **remedy);

/* A number of digits alone, from lo to hi: a user's slip is not to be a number nearby. */
bool sl_tool_number(const char *text, long lo, long hi, int *out);

/* Directory of the running tool, without the last slash. Returns buf. */
const char *sl_tool_dir(char *buf, size_t len);
/* Path of libsluice-preload.so: beside the tool, in ../lib, or below the prefix. 0 or -ENOENT. */
int sl_tool_preload_path(char *buf, size_t len);

/* Is a bpffs mounted on /sys/fs/bpf? */
bool sl_bpffs_mounted(void);
/* Are we in another mount namespace than init (ip netns exec, a container's shell)? */
bool sl_mounts_are_private(void);

#endif
