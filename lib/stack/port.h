/* SPDX-License-Identifier: BSD-2-Clause */
/* A port is a device taken into use (port.c). */
#ifndef SL_PORT_H
#define SL_PORT_H

#include "base/base.h"
#include "base/stats.h"
#include "ctl/front/broker.h"
#include "ctl/rules/rule.h"
#include "io/xsk.h"
#include "ctl/device/moderate.h"
#include "net/route.h"

struct sl_port {
	struct sl_port_info info;
	uint32_t index; /* place in the table of ports */
	/* A VLAN device uses the queues and the steering program of the device below it. */
	struct sl_port *base; /* port of the device below a VLAN device; NULL: not a VLAN device */
	uint32_t lower;       /* ifindex of the device whose steering maps hold the claims */
	uint32_t vlan;        /* as in struct sl_flow_key */
	uint32_t vni_after;   /* as in struct sl_link */
	uint32_t vlan_nr;     /* number in sl_in_vlan and in the claims; 0: not a VLAN device */
	/* A VLAN device's PCP by a packet's priority. The array is of the priorities that programs
	 * use, for threads that send; atomic. The map is guarded by the lock of ports. */
	uint8_t pcp[16];
	struct sl_egress egress;
	bool tags; /* the steering program sees VLAN tags; guarded by the lock of ports */
	bool left; /* the VLAN device changed and cannot be offloaded: the kernel gets its packets
		    */
	struct sl_port_stats *stats;
	uint8_t os_stamps; /* SL_OS_STAMPS_*; 0: not asked yet */
	bool emptied;      /* the device no longer exists and its fill rings were emptied */
	bool lost;         /* the device exists, and the keeper opens it anew; the keeper's */
	uint64_t ended_ns; /* when it was seen that the steering has ended; the keeper's */
	uint8_t gone;      /* times the keeper has looked since the steering program was detached */
	bool retired;      /* free place in the table, until another device takes it (retire.c) */
	bool cost_link;    /* opening the port took its link down */
	uint64_t opened_ns;  /* when it was taken into use */
	uint64_t restart_ns; /* link and neighbours may be missing until then; 0: the link was up */
	struct sl_xsk_counts
		counted; /* kernel counts already added to stats; used by the keeper only */
	struct sl_moderation moderation; /* the keeper's */
	struct sl_xsk_queue queue[SL_MAX_QUEUES];
};

/* The VLAN tags of its packets, which a VXLAN device has none of. */
static inline uint32_t sl_port_tags(const struct sl_port *p)
{
	return p->vlan & SL_VXLAN_TAG_BIT ? 0 : p->vlan;
}

/* Opens the device for offload, or returns its open port. NULL: not possible (logged once for each
 * device and reason). Slow; any thread, no lane held. */
struct sl_port *sl_port_open(uint32_t ifindex);
/* True: the device is not open here, and another process has it. Any thread. */
bool sl_port_is_taken(uint32_t ifindex);
/* Like sl_port_open(), for a call that must not wait: opening a device takes tens of milliseconds,
 * so it is left to the keeper (sl_port_open_wanted()), which begins after so long. *coming: the
 * keeper will open it, or find out why that cannot be; then the result is NULL. Any thread, no lane
 * held. */
struct sl_port *sl_port_open_soon(uint32_t ifindex, uint64_t after_ns, bool *coming);
/* The keeper's: opens the device that sl_port_open_soon() left to it, if it is time. True: there
 * was one. */
bool sl_port_open_wanted(uint64_t now_ns);
/* True: a device is left to the keeper, and not open yet. (Not for a thread that opens one.) */
bool sl_port_is_wanted(void);
/* When the keeper begins with it; a time that is past: at once. */
uint64_t sl_port_wanted_ns(void);
void sl_port_hurry(void); /* the keeper begins at once */
/* The keeper begins ns from now. False: it has begun, or was put off long enough. */
bool sl_port_postpone(uint64_t ns);
/* Called when a signal handler needs a device that is not open: another thread will open it. */
extern void (*sl_port_put_off)(void);
/* Tells the port that its device changed. A VLAN device may be down, gone, or no longer one that
 * can be offloaded. No lane held. */
void sl_port_link_changed(struct sl_port *p, const struct sl_link *link, bool gone);
/* The device whose queues carry this device's packets: the one below a VLAN device, else itself. */
uint32_t sl_port_lower(uint32_t ifindex);
/* Bytes of the longest IP packet that its queues can receive. */
uint32_t sl_port_rx_mtu(const struct sl_port *p);
/* Source MAC address for packets out of p. Lowers *mtu where two VLAN tags leave less room. */
void sl_port_wire(const struct sl_port *p, uint8_t smac[6], uint32_t *mtu);
/* The PCP of a packet with this priority that leaves by p: the inner tag's, the outer tag's << 4; 0
 * without VLAN. Follows changes of the devices' maps: then sl_route_gen is raised, so that headers
 * are made anew. Any thread. */
uint8_t sl_port_pcp(const struct sl_port *p, uint32_t prio);
/* The open port, or NULL. */
struct sl_port *sl_port_find(uint32_t ifindex);
struct sl_port *sl_port_at(uint32_t index); /* from 0 on; NULL: no more */
void sl_port_child(void);                   /* in a child of fork: forgets all ports */
/* True: the device no longer exists. No packet comes for its claims; only the guard reads them. */
bool sl_port_is_gone(const struct sl_port *port);
/* True: its steering has ended, and the device, or the one below, may be opened anew. */
bool sl_port_is_lost(const struct sl_port *port);
/* True: opening the device has failed in a way that time does not mend. Any thread. */
bool sl_port_is_hopeless(uint32_t ifindex);
/* Raised when a port is opened or used again, and when its steering ends. Any thread; read with
 * sl_load(). */
extern uint32_t sl_ports_changed;
/* Applies the rules in force to a socket: those of the port, or with NULL those of the
 * configuration file. Arguments and result as sl_rule_decide() and its question. Counts the
 * decision in the rule's `hits`. */
enum sl_rule_action sl_port_decide(const struct sl_port *port, uint32_t role,
				   const struct sl_addr *first, uint16_t first_port,
				   const struct sl_addr *second, uint16_t second_port);
/* Like that, with the question itself, without its VNI. *narrow: the packets that the socket may
 * claim. */
enum sl_rule_action sl_port_decide_narrow(const struct sl_port *port, const struct sl_rule_ask *ask,
					  struct sl_narrow *narrow);
/* True: a socket that is decided is to go there (SL_RULE_SLUICE, SL_RULE_OS) now. Rules that the
 * program has added do not move it: they must not have been what decides, nor be now. */
bool sl_port_may_move(const struct sl_port *port, const struct sl_rule_ask *ask,
		      enum sl_rule_action to);
/* Called by the keeper about once a second. Counts packets that the kernel dropped and checks that
 * the steering program is still attached. If somebody detached it (`ip link set dev X xdp off`),
 * or changed the queues, the kernel gets the port's traffic: this is logged once, and the port is
 * `lost`, to be retired and opened anew. No lane held. */
void sl_ports_check(void);
/* The process ends: what devices were told for it is undone. */
void sl_ports_end(void);
/* The parts of sl_ports_check() for tags, and for a VLAN device: neither tells by an event. */
void sl_port_check_tags(struct sl_port *p);
void sl_port_check_vlan(struct sl_port *p);
/* Frees its VLAN number for reuse. */
void sl_port_vlan_over(const struct sl_port *p);
/* Closed: no port is opened until sl_ports_close(false). sl_ports_leave() closes. */
void sl_ports_close(bool closed);
/* Call when the device is gone or changed: a past failure to open it no longer counts. */
void sl_port_forget(uint32_t ifindex);
/* True: the configuration allows the device (SLUICE_DEVICES) and its kind can be offloaded. */
bool sl_port_allowed(const struct sl_link *link);

#endif
