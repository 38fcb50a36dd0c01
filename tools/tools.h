/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the subcommands of `sluice`. Each subcommand is a function with main's arguments
 * (argv[0] is its name) and returns an exit status: 0, 1 failure or findings, 2 wrong usage. */
#ifndef SL_TOOLS_H
#define SL_TOOLS_H

#include <stdio.h>

#include "base/base.h"
#include "ctl/kern/netdev.h"

int sl_tool_run(int argc, char **argv);
int sl_tool_stat(int argc, char **argv);
int sl_tool_doctor(int argc, char **argv);
int sl_tool_rule(int argc, char **argv);
int sl_tool_daemon(int argc, char **argv);
int sl_tool_flow(int argc, char **argv);
int sl_tool_ss(int argc, char **argv);
int sl_tool_top(int argc, char **argv);
int sl_tool_capture(int argc, char **argv);
int sl_tool_pace(int argc, char **argv);
int sl_tool_qos(int argc, char **argv);
int sl_tool_tc_wrap(int argc, char **argv);
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
	bool enslaved;     /* a member of a bridge, a bond or a VRF */
	bool wanted;       /* SLUICE_DEVICES names it */
	unsigned xdp_prog; /* id of the attached XDP program, 0: none */
	char xdp_name[64]; /* its name, or the dispatcher's */
	bool xdp_generic;
	struct sl_netdev xdp; /* XDP features of the device */
	bool tx_csum;         /* hands packets on without their checksum */
	char lower[16];       /* the device below a VLAN device; "": it is no VLAN device */
	bool flow_rules;      /* takes rules that choose the queue of a flow */
	bool rx_tags;         /* takes VLAN tags off received packets */
};

/* All devices of this network namespace, at most max. Returns how many, or -errno. */
int sl_devices(struct sl_device *dev, unsigned max);
/* Why the device would not be offloaded, or NULL. remedy (may be NULL): how to change that, or
 * NULL. */
const char *sl_device_obstacle(const struct sl_device *d, const char **remedy);

/* Reads a number of digits alone, from lo to hi: a typing error must not pass for another
 * number. */
bool sl_tool_number(const char *text, long lo, long hi, int *out);

/* Path of libsluice-preload.so: beside the tool, in ../lib, or below the prefix. 0 or -ENOENT. */
int sl_tool_preload_path(char *buf, size_t len);

/* pins.c: opens a pinned map ("rules") of an offloaded device, which is named as the device is or
 * as its directory of pins. The descriptor or -errno. */
int sl_pins_open(const char *device, const char *map);
/* The directories of pins, one for each offloaded device; at most max. Returns how many. */
unsigned sl_pins_list(char names[][64], unsigned max);
/* True: this user may not look at the pins. Says so, for the tool ("rule"). */
bool sl_pins_hidden(const char *tool);

/* True: a bpffs is mounted on /sys/fs/bpf. */
bool sl_bpffs_mounted(void);
/* True: this process is in another mount namespace than init (ip netns exec, a container's
 * shell). */
bool sl_mounts_are_private(void);

#endif
