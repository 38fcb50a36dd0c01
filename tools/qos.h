/* SPDX-License-Identifier: BSD-2-Clause */
/* Quality of service of a network device, as `sluice qos` and `tc_wrap` read and change it. */
#ifndef SL_QOS_H
#define SL_QOS_H

#include <linux/dcbnl.h>
#include <stdbool.h>
#include <stdint.h>

#define SL_QOS_DSCPS    64
#define SL_QOS_APPS_MAX (SL_QOS_DSCPS * IEEE_8021QAZ_MAX_TCS)
#define SL_QOS_SKPRIOS  16

/* The answers of a device's driver over DCB netlink (net/dcb/dcbnl.c). A has_ flag that is false:
 * the driver does not answer this part. */
struct sl_qos {
	bool has_dcbx, has_ets, has_pfc, has_maxrate, has_buffer;
	uint8_t dcbx;               /* DCB_CAP_DCBX_* */
	struct ieee_ets ets;        /* shares in percent */
	struct ieee_pfc pfc;        /* delay: the length of the cable in metres */
	struct ieee_maxrate rate;   /* kbit/s, 0: unlimited */
	struct dcbnl_buffer buffer; /* bytes */
	/* DSCP values with a priority, in the kernel's order. */
	struct dcb_app app[SL_QOS_APPS_MAX];
	unsigned apps;
};

/* A connection to the kernel about one device. */
struct sl_dcb {
	int fd;
	const char *name; /* of the caller, at least as long as the connection */
};

/* 0, or -errno (no socket). The caller ends it with sl_dcb_close(). */
int sl_dcb_open(struct sl_dcb *d, const char *name);
void sl_dcb_close(struct sl_dcb *d);
/* Reads all of it. 0, or -errno: -EOPNOTSUPP the driver knows no DCB, -ENODEV no such device. */
int sl_dcb_read(const struct sl_dcb *d, struct sl_qos *q);
/* Sets one DCB_ATTR_IEEE_* attribute to these bytes. 0, or -errno: what the driver answered. */
int sl_dcb_set(const struct sl_dcb *d, uint16_t attr, const void *data, size_t bytes);
/* Adds (or deletes, when gone) the mapping of a DSCP value to a priority. 0, or -errno. */
int sl_dcb_map_dscp(const struct sl_dcb *d, bool gone, uint16_t dscp, uint8_t prio);
/* Sets the DCBX mode. 0; -EBUSY: the driver refused the mode; another -errno. */
int sl_dcb_set_dcbx(const struct sl_dcb *d, uint8_t mode);

/* Which socket priorities a user priority (UP) comes from. */
struct sl_skprio {
	struct {
		uint8_t skprio, up;
		uint16_t vid; /* of the VLAN device with this egress map; 0: of the device itself */
	} map[256];
	unsigned n;
	unsigned tcs; /* traffic classes of the mqprio queueing discipline, 0: it has none */
};
/* Reads mqprio's map, RoCE's skprio2up and the egress maps of the VLAN devices above the device. */
void sl_skprio_read(struct sl_skprio *s, const char *name);
/* Makes 8 traffic classes: by qos/tc_num in sysfs where the driver has it, else by mqprio. 0, or
 * -errno. */
int sl_skprio_make_tcs(const char *name);
/* The number of traffic classes, 0: none. */
unsigned sl_skprio_tcs(const char *name);
/* The path of RoCE's skprio2up file of the device. False: the device has no RDMA device. */
bool sl_skprio_path(const char *name, char *path, size_t len);
/* Prints the socket priorities of this UP, each behind lead. */
void sl_skprio_print(const struct sl_skprio *s, unsigned up, const char *lead);

/* Reads at most 8 numbers from lo to hi, divided by commas. The values that the text does not
 * reach keep what they have. How many, or -EINVAL. */
int sl_qos_list(const char *text, long lo, long hi, long out[8]);
/* Reads at most 8 rates in Gbit/s as kbit/s; fractions are allowed. How many, or -EINVAL. */
int sl_qos_rates(const char *text, uint64_t out[8]);
/* Reads names of transmission algorithms (strict, ets, vendor). How many, or -EINVAL. */
int sl_qos_tsa(const char *text, uint8_t out[8]);
/* Checks what the kernel's drivers check, and says it in words: the shares of the ETS classes
 * must sum to 100. NULL: they may be set. buf holds the text. */
const char *sl_qos_ets_fault(const struct ieee_ets *ets, char *buf, size_t len);

/* True: the driver chooses the priority of a received packet by its DSCP value. */
bool sl_qos_trusts_dscp(const struct sl_qos *q);
/* Prints it in mlnx_qos' layout; all: also classes that no priority uses. */
void sl_qos_print(const struct sl_qos *q, const struct sl_skprio *s, bool all);

#endif
