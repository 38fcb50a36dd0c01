/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps of a test by RDMA that fail, with their causes and remedies; events and addresses. */
#if __has_include(<infiniband/verbs.h>)
#include "rdma_step.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "doctor.h"

/* A step that failed: the call, an error or the status of its event, and their remedy. */
struct trouble {
	const char *step;
	int err; /* positive errno; 0: any other */
	const char *cause, *remedy;
};

/* The first that fits decides. */
static const struct trouble troubles[] = {
	/* (librdmacm says so in both cases.) */
	{"rdma_create_event_channel", ENODEV,
	 "there is no RDMA device, or the kernel's connection manager is not there",
	 "modprobe rdma_ucm; rdma link; modprobe mlx5_ib, or rdma link add rxe0 type rxe netdev "
	 "DEV"},
	{"rdma_create_event_channel", ENOENT, "the kernel's connection manager is not there",
	 "modprobe rdma_ucm"},
	{"rdma_create_event_channel", EACCES, "/dev/infiniband/rdma_cm is not for this user",
	 "chmod 666 /dev/infiniband/rdma_cm (a udev rule), or run as root"},
	{"rdma_create_event_channel", 0, "the kernel's connection manager does not answer",
	 "modprobe rdma_ucm ib_uverbs"},
	{"rdma_create_id", 0, "the connection manager gives no identifier",
	 "modprobe rdma_ucm ib_uverbs; ls -l /dev/infiniband"},
	{"rdma_bind_addr", EADDRINUSE, "the port has a user",
	 "another port: --rdma-server ADDR:PORT"},
	{"rdma_bind_addr", 0, "no RDMA device has this address",
	 "rdma link, to see whose netdev has it"},
	{"rdma_listen", 0, "it cannot listen there", "another port: --rdma-server ADDR:PORT"},
	{"rdma_resolve_addr", ENODEV, "the route's device has no RDMA device",
	 "rdma link; modprobe mlx5_ib, or rdma link add rxe0 type rxe netdev DEV"},
	{"rdma_resolve_addr", EADDRNOTAVAIL, "the route's device has no RDMA device",
	 "rdma link; modprobe mlx5_ib, or rdma link add rxe0 type rxe netdev DEV"},
	{"rdma_resolve_addr", ETIMEDOUT, "the peer's neighbour entry is not resolved",
	 "ping the peer; ip neigh"},
	{"rdma_resolve_addr", EHOSTUNREACH, "the peer's neighbour entry is not resolved",
	 "ping the peer; ip neigh"},
	{"rdma_resolve_addr", ENETUNREACH, "there is no route to the peer", "ip route get PEER"},
	{"rdma_resolve_addr", 0, "the address is not resolved", "ip route get PEER; rdma link"},
	{"rdma_resolve_route", ETIMEDOUT, "the subnet manager does not answer",
	 "start opensm (InfiniBand); sminfo"},
	{"rdma_resolve_route", 0, "no path of the fabric leads there",
	 "rdma link show (state ACTIVE?); saquery (InfiniBand)"},
	{"rdma_set_option", ENOSYS, "the kernel has no RDMA_OPTION_ID_ACK_TIMEOUT",
	 "Linux 5.1 or later"},
	{"rdma_set_option", 0, "RDMA_OPTION_ID_ACK_TIMEOUT is refused",
	 "Linux 5.1 or later; --ack-timeout from 1 to 31"},
	{"ibv_alloc_pd", 0, "the device gives no protection domain",
	 "ls -l /dev/infiniband/uverbs*; rdma resource"},
	{"ibv_reg_mr", 0, "memory is not registered: locked memory may be limited",
	 "ulimit -l unlimited (LimitMEMLOCK=infinity)"},
	{"ibv_create_cq", 0, "the device gives no completion queue",
	 "ulimit -l unlimited; rdma resource show"},
	{"ibv_create_qp", 0, "the device gives no queue pair",
	 "ulimit -l unlimited; rdma resource show"},
	{"rdma_connect", EPROTO, "nobody serves the test there",
	 "sluice doctor --rdma-server, on the peer"},
	{"rdma_connect", ECONNREFUSED, "nobody serves the test there",
	 "sluice doctor --rdma-server, on the peer"},
	{"rdma_connect", EBUSY, "the server tests with another client", "wait, and try again"},
	{"rdma_connect", ETIMEDOUT, "the request is not answered",
	 "let UDP port 4791 through the firewalls (RoCE); ping the peer"},
	{"rdma_connect", 0, "the connection is not made", "rdma link, on both machines; dmesg"},
	{"CONNECT_RESPONSE", EPROTO, "the peer answers as another program",
	 "sluice doctor --rdma-server of the same version, on the peer"},
	{"CONNECT_RESPONSE", 0, "the connection was established before the program said so",
	 "librdmacm of rdma-core 22 or later"},
	{"rdma_init_qp_attr", 0, "the kernel gives no attributes of the queue pair",
	 "dmesg; Linux 5.1 or later"},
	{"ibv_modify_qp", ETIMEDOUT, "the peer's MAC address is not resolved",
	 "ping the peer; ip neigh"},
	{"ibv_modify_qp", 0, "the device refuses the attributes",
	 "the same MTU and RoCE version on both machines (cma_roce_mode); dmesg"},
	{"ibv_create_ah", 0, "the device makes no way for datagrams",
	 "ping the peer; ip neigh; dmesg"},
	{"rdma_establish", 0, "the connection is not established",
	 "Linux 5.1 or later; dmesg, on both machines"},
	{"rdma_accept", 0, "the connection is not accepted", "dmesg, on both machines"},
	{"completion", ETIMEDOUT, "messages are not answered",
	 "let UDP port 4791 through the firewalls (RoCE); is the server still there?"},
	{"completion", 0, "a message was not taken",
	 "the same MTU on the whole path; UDP port 4791 open (RoCE); dmesg"},
	{"", 0, "it failed", "dmesg"},
};

void sl_rdma_fail(const char *step, int err, const char *detail)
{
	const struct trouble *t = troubles;

	while (*t->step && (strcmp(t->step, step) != 0 || (t->err && t->err != -err)))
		t++;
	sl_say_finding(t->remedy, "%s: %s (%s)", step, t->cause, detail ? detail : strerror(-err));
}

void sl_rdma_fail_pair(const struct sl_rdma_pair *p, int err)
{
	const char *step = p->step ? p->step : "completion";
	bool status = !strcmp(step, "completion") && p->bad;

	sl_rdma_fail(step, err, status ? p->lib->ibv.wc_status_str(p->bad) : NULL);
}

int64_t sl_rdma_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int sl_rdma_hear(const struct sl_rdma_lib *lib, struct sl_rdma_channel *ch, int wait_ms,
		 const sigset_t *mask, struct sl_rdma_heard *out)
{
	struct pollfd p = {.fd = ch->fd, .events = POLLIN};
	struct sl_rdma_event *e;
	struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000l};
	int n = ppoll(&p, 1, wait_ms < 0 ? NULL : &wait, mask);

	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	if (lib->get_cm_event(ch, &e))
		return -errno;
	*out = (struct sl_rdma_heard){.id = e->id, .type = e->type, .status = e->status};
	if (e->type == SL_RDMA_CONNECT_REQUEST || e->type == SL_RDMA_CONNECT_RESPONSE) {
		out->peer_qp = e->param.qp_num;
		if (e->param.private_data && e->param.private_len >= sizeof(out->hello))
			memcpy(&out->hello, e->param.private_data, sizeof(out->hello));
	}
	lib->ack_cm_event(e);
	return 0;
}

/* Reasons of a rejection by the connection manager of InfiniBand and RoCE (IBTA 12.6.7.2). */
#define REJECTED_NO_LISTENER 8
#define REJECTED_BY_PROGRAM  28

/* The errno of an event that says that something failed. */
static int status_errno(const struct sl_rdma_heard *h)
{
	if (h->type == SL_RDMA_UNREACHABLE && !h->status)
		return -ETIMEDOUT;
	if (h->type != SL_RDMA_REJECTED || h->status < 0)
		return h->status < 0 ? h->status : -EIO;
	if (h->status == REJECTED_BY_PROGRAM)
		return -EBUSY;
	return h->status == REJECTED_NO_LISTENER ? -ECONNREFUSED : -EIO;
}

bool sl_rdma_expect(const struct sl_rdma_lib *lib, struct sl_rdma_channel *ch, const char *step,
		    enum sl_rdma_event_type type, struct sl_rdma_heard *h)
{
	int err = sl_rdma_hear(lib, ch, SL_RDMA_STEP_MS, NULL, h);

	if (!err && h->type == type)
		return true;
	if (!err && type == SL_RDMA_CONNECT_RESPONSE && h->type == SL_RDMA_ESTABLISHED)
		step = "CONNECT_RESPONSE";
	sl_rdma_fail(step, err ? err : status_errno(h), NULL);
	return false;
}

struct sl_rdma_param sl_rdma_param_of(const struct sl_rdma_pair *p, struct sl_rdma_hello *hello)
{
	*hello = (struct sl_rdma_hello){.magic = htonl(SL_RDMA_MAGIC),
					.ud_qp = htonl(p->qp[SL_RDMA_UD]->qp_num),
					.ud_qkey = htonl(SL_RDMA_QKEY)};
	return (struct sl_rdma_param){.private_data = hello,
				      .private_len = sizeof(*hello),
				      .responder_resources = 1,
				      .initiator_depth = 1,
				      .retry_count = 7,
				      .rnr_retry_count = 7,
				      .qp_num = p->qp[SL_RDMA_RC]->qp_num};
}

struct addrinfo *sl_rdma_look_up(const char *text)
{
	struct addrinfo *found = NULL;
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = text ? 0 : AI_PASSIVE};
	char host[256] = "", port[16] = SL_RDMA_PORT;
	const char *colon = text ? strrchr(text, ':') : NULL;
	bool six = colon && strchr(text, ':') != colon; /* more than one colon */
	int err;

	if (text && text[0] == '[') {
		sscanf(text, "[%255[^]]]:%15[0-9]", host, port);
	} else {
		snprintf(host, sizeof(host), "%s", text ? text : "");
		if (colon && !six) {
			host[sl_min((size_t)(colon - text), sizeof(host) - 1)] = 0;
			snprintf(port, sizeof(port), "%s", colon + 1);
		}
	}
	err = getaddrinfo(*host ? host : NULL, port, &hints, &found);
	if (err)
		sl_say_finding("an address and a port, as 192.0.2.1:" SL_RDMA_PORT
			       " or [2001:db8::1]:" SL_RDMA_PORT,
			       "%s: %s", text ? text : "", gai_strerror(err));
	return err ? NULL : found;
}

const struct sl_rdma_lib *sl_rdma_load(void)
{
	const char *lacks;
	const struct sl_rdma_lib *lib = sl_rdma_lib(&lacks);

	if (lib)
		sl_say_good("librdmacm is loaded");
	else if (strncmp(lacks, "lib", 3) == 0)
		sl_say_finding("install librdmacm1 (apt-get install librdmacm1 ibverbs-providers)",
			       "%s is not there", lacks);
	else
		sl_say_finding("rdma-core 22 or later (apt-get install librdmacm1)",
			       "the installed librdmacm has no %s", lacks);
	return lib;
}

#endif
