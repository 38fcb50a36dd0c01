/* SPDX-License-Identifier: BSD-2-Clause */
/* A simulated mlx5 NIC: what the files of this directory share.
 *
 * Theory of operation: the object is preloaded into a program that uses the unmodified libibverbs
 * and libmlx5. It stands where the kernel and the device would: interpose.c catches the few calls
 * by which libibverbs reaches the kernel, uverbs*.c answer the uverbs ioctls, and one thread
 * (engine.c) is the hardware: it reads the send queues in the program's memory (sq.c), does
 * checksums and segmentation (offload.c), keeps each paced queue's schedule (pace.c), puts the
 * frames on a veth through AF_PACKET (wire.c), into a capture file (capture.c), and writes
 * completions with time stamps (cq.c). What arrives is taken off the veth (arrive.c), compared with
 * the rules (flow.c) and written into the buffers of a receive queue (rq.c); the kernel gets none
 * of it, since a program at the veth's ingress drops what the rules match (steal.c). Faults are
 * asked for on a control socket (control.c).
 *
 * One lock (sim_lock) is over all of it. The layouts are those of <infiniband/mlx5dv.h> and
 * <rdma/mlx5-abi.h>; nothing here is Mellanox's code.
 *
 * Not simulated: shared receive queues, RSS, CQ resize, DEVX, import of a device by another
 * process, fork with the device open (the child has no device). Each process has a device of its
 * own. */
#ifndef SIM_NIC_H
#define SIM_NIC_H

#include <endian.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_NAME        "simulated0"
#define SIM_MAX_RATES   128
#define SIM_MAX_FRAME   65536
#define SIM_MAX_DM      (1u << 20)
#define SIM_PAGE        4096u
#define SIM_NS_PER_S    1000000000ull
#define SIM_MAX_TSO     262144u
#define SIM_MAX_SQ_WQES 32768u
#define SIM_NEVER_ARMED 0xffffffffu /* what no doorbell record of a queue says */
#define SIM_MAX_CQES    4194303u
#define SIM_HALVES      4u /* of the doorbell registers of a page */

/* The device's properties: SIM_NIC_OPTIONS, a comma-separated list of name=value (device.c). */
struct sim_config {
	char dir[192];          /* SIM_NIC: sysfs tree, control socket, report */
	char netdev[16];        /* SIM_NIC_NETDEV: where the frames come out */
	char capture[256];      /* SIM_NIC_CAPTURE: pcap file with departure times, or "" */
	uint32_t min_inline;    /* bytes that every send must carry inline: 0 or 18 */
	uint32_t real_time;     /* stamps in real time can be asked for */
	uint32_t burst;         /* burst and packet size of a rate can be set */
	uint32_t rates;         /* entries of the rate table */
	uint32_t rate_min_kbps; /* slowest and fastest rate */
	uint32_t rate_max_kbps;
	uint32_t tso;       /* the device segments */
	uint32_t csum;      /* the device writes checksums */
	uint32_t dm;        /* device memory, bytes; 0: none */
	uint32_t scheduled; /* stamp a paced frame with its place in the schedule, else as it was */
	uint32_t lose;      /* the cable loses each frame of that number; 0: none */
	uint32_t clock_khz; /* of the device's free-running clock */
	uint32_t deny_raw;  /* raw-packet queue pairs are refused, as without CAP_NET_RAW */
	uint32_t flows;     /* rules that fit */
	uint32_t refuse;    /* SIM_REFUSE_*: parts of rules that the device does not know */
	uint32_t verbose;   /* every ioctl on stderr */
};
extern struct sim_config sim_config;
#define SIM_REFUSE_TOS    1u
#define SIM_REFUSE_LABEL  2u
#define SIM_REFUSE_TUNNEL 4u
#define SIM_REFUSE_TAG    8u

/* The kinds of object that a program's handles name. */
enum sim_type { SIM_NONE, SIM_PD, SIM_MR, SIM_CQ, SIM_QP, SIM_DM, SIM_UAR, SIM_CHANNEL, SIM_FLOW };

struct sim_mr {
	uint64_t addr; /* as work requests name it; from 0 for device memory */
	uint64_t len;
	uint32_t lkey;
	uint32_t pd;
	uint32_t dm;    /* handle, 0: host memory */
	uint8_t *bytes; /* of device memory */
};

struct sim_cq {
	uint8_t *buf;        /* the program's */
	volatile __be32 *db; /* [0] consumed, [1] armed at */
	uint32_t entries;    /* power of two */
	uint32_t entry_bytes;
	uint32_t produced;
	uint32_t number;
	bool real_time;
	bool overrun;
	uint32_t channel; /* handle, 0: none */
	uint32_t armed;   /* last doorbell that was answered */
	uint32_t events;  /* sent to the channel */
	uint64_t user_handle;
};

/* The schedule of a paced queue: see pace.c. */
struct sim_pace {
	uint32_t rate_kbps; /* 0: not paced */
	uint32_t burst_bytes;
	uint64_t next_ns; /* when the next frame is due */
	bool backlog;     /* something waited at the last look */
};

struct sim_qp {
	uint8_t *sq; /* the program's */
	const volatile __be32 *db;
	uint32_t sq_wqes; /* blocks of 64 bytes, power of two */
	uint16_t consumed;
	uint32_t number;
	uint32_t uidx;
	uint32_t pd, send_cq; /* handles */
	uint32_t recv_cq;     /* handle */
	uint8_t *rq;          /* the program's; NULL: it has no receive queue */
	uint32_t rq_wqes;     /* places, power of two */
	uint32_t rq_bytes;    /* of a place */
	uint16_t rq_consumed;
	uint32_t caps[5]; /* as struct ib_uverbs_qp_cap */
	uint32_t port;
	uint64_t user_handle;
	int state; /* enum ibv_qp_state */
	int rate;  /* index in the rate table, -1: none */
	bool signal_all;
	struct sim_pace pace;
	bool stalled;        /* fault: nothing is sent */
	uint32_t fail_after; /* fault: the request that fails, counted from now; 0: none */
	uint8_t fail_syndrome;
	uint8_t nop_syndrome;      /* fault: the next request that sends nothing fails; 0: not */
	uint32_t uar;              /* the doorbell page; SIM_MAX_UARS: not known */
	uint64_t bell[SIM_HALVES]; /* what its registers had at the last look */
	uint8_t last[64];          /* beginning of the request that was done last */
	unsigned last_bytes;       /* of it here; 0: none, or an error */
};

struct sim_dm {
	uint32_t off;
	uint32_t len;
};

struct sim_channel {
	uint64_t inode; /* of the program's end, whatever descriptor it has by now */
	int nic_fd;
};

/* A rule: a frame fits it if each of these words of it, read as the network writes them, has that
 * value under the mask. */
#define SIM_FLOW_WORDS 40u
struct sim_flow {
	uint32_t qp;       /* handle */
	uint32_t priority; /* the lowest number comes first */
	uint32_t tag;
	uint32_t nwords;
	uint64_t since_ns;      /* frames before were the kernel's (CLOCK_REALTIME) */
	bool coming, going;     /* frames from sim_steal_when() on are its own, or are no longer */
	bool several;           /* the frame has a group's address: each rule that fits gets it */
	uint16_t vid, vid_mask; /* of the tag that frames must have; mask 0: with or without one */
	struct sim_flow_word {
		uint16_t at;
		uint32_t mask, value;
	} word[SIM_FLOW_WORDS];
};

struct sim_obj {
	enum sim_type type;
	int ctx;       /* index of the device context that made it */
	uint32_t refs; /* of other objects: busy */
	union {
		struct sim_mr mr;
		struct sim_cq cq;
		struct sim_qp qp;
		struct sim_dm dm;
		struct sim_channel channel;
		struct sim_flow flow;
		uint32_t page; /* SIM_UAR */
	};
};

/* An open device. */
struct sim_ctx {
	bool used;
	int event_fd; /* our end of the asynchronous events' socket, -1: none */
	bool dead;    /* was open when the device died: nothing of it comes back */
};
#define SIM_MAX_CTX 32

/* State of the device that is nobody's object, and what it counted. */
struct sim_nic {
	bool running; /* set up: the calls are interposed */
	int pid;      /* of the process that has the device open */
	bool gone;    /* unplugged */
	bool fatal;
	bool link_down;     /* by the control socket */
	uint32_t fail_call; /* fault: the ioctl that fails, counted from now; 0: none */
	int fail_errno;
	uint32_t lose_events;  /* fault: this many completion events are lost */
	uint32_t rates_usable; /* the rate table's size as of now */
	uint32_t dm_usable;
	uint32_t flows_usable;
	uint64_t frames, bytes; /* that left */
	uint64_t drops;         /* link down, too long, or not taken by the veth */
	uint64_t requests;      /* work requests done */
	uint64_t blocks;        /* of 64 bytes, of these */
	uint64_t inline_bytes;  /* carried in work requests */
	uint64_t dm_sends, dm_bytes;
	uint64_t segments; /* made by TSO */
	uint64_t received, received_bytes;
	uint64_t out_of_buffer; /* frames for a queue that had no buffer */
	uint64_t rules;         /* there are now */
	uint64_t completions, errors, events_lost;
	uint64_t bells, bells_wrong; /* seen (not all are); at variance with the queue */
	uint64_t blue_flames;        /* queues whose last request was in the doorbell */
	uint32_t most_qps;           /* there ever were at once */
};
extern struct sim_nic sim_nic;
extern struct sim_ctx sim_ctx[SIM_MAX_CTX];
extern pthread_mutex_t sim_lock;

void sim_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define sim_debug(...)                                                                             \
	do {                                                                                       \
		if (sim_config.verbose)                                                            \
			sim_say(__VA_ARGS__);                                                      \
	} while (0)

/* device.c */
struct sim_ctx *sim_ctx_of(int fd); /* NULL: it is none, errno may change */
int sim_device_open(int fd);        /* makes fd a device context; 0 or -errno */
void sim_device_close(struct sim_ctx *ctx);
unsigned sim_device_report(char *text, size_t size);

/* fds.c */
int sim_fd_keep(int fd); /* its number from now on; a negative one is left as it is */
void sim_fd_close(int fd);
unsigned sim_fd_next(unsigned first); /* the lowest of ours from there on; UINT32_MAX: none */

/* object.c: handles. All under the lock. */
#define SIM_MAX_OBJ 4096
uint32_t sim_obj_new(enum sim_type type, int ctx); /* 0: none left */
struct sim_obj *sim_obj_get(uint32_t handle, enum sim_type type);
uint32_t sim_obj_handle(const struct sim_obj *obj);
int sim_obj_free(uint32_t handle, enum sim_type type); /* 0, EINVAL, EBUSY */
void sim_obj_free_all(int ctx);
/* The next object of the type after *at, which begins as 0 and is moved on; NULL at the end. */
struct sim_obj *sim_obj_next(uint32_t *at, enum sim_type type);

/* uverbs.c: the whole ioctl. Returns 0 or errno. */
struct ib_uverbs_ioctl_hdr;
int sim_uverbs(struct sim_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr);

/* engine.c */
int sim_engine_start(void);
void sim_engine_stop(void);

/* sq.c: does one work request. Returns 0 if it did, the ns until there may be one, or -1 if there
 * is nothing to do. */
int64_t sim_sq_step(struct sim_qp *qp, uint64_t now_ns);

/* bell.c: of a queue that was made, at each turn, of one that goes */
void sim_bell_begin(struct sim_qp *qp);
void sim_bell_look(struct sim_qp *qp);
void sim_bell_end(struct sim_qp *qp);

/* cq.c */
struct sim_completion {
	uint16_t wqe;
	uint8_t opcode; /* of the work request */
	uint8_t syndrome;
	uint64_t departed_ns;
};
void sim_cq_push(struct sim_qp *qp, const struct sim_completion *done);
/* A frame that came by the cable. */
struct sim_arrival {
	const uint8_t *frame;
	uint32_t len;
	uint64_t arrived_ns, real_ns;
	bool l3_ok, l4_ok; /* checksums */
	uint8_t l3;        /* MLX5_CQE_L3_HDR_TYPE_* */
	uint8_t syndrome;  /* instead of a frame: the buffer gets none */
};
void sim_cq_notify(struct sim_cq *cq); /* sends the event that was armed, if it is due */

void sim_cq_push_received(struct sim_qp *qp, const struct sim_arrival *a, uint16_t wqe,
			  uint32_t tag);

/* rq.c: writes the frame into the queue's next buffer, or drops and counts it. */
void sim_rq_deliver(struct sim_qp *qp, const struct sim_arrival *a, uint32_t tag);
bool sim_rq_flush(struct sim_qp *qp); /* of a queue in error: completes its buffers */

/* flow.c */
struct ib_uverbs_create_flow;
/* Reads a rule that is size bytes long. 0 or errno. */
int sim_flow_parse(struct sim_flow *f, const struct ib_uverbs_create_flow *in, size_t size);
void sim_flow_steer(const struct sim_arrival *a);
/* steal.c: has the kernel drop what the rules match, as of now. 0 or errno. */
int sim_steal(void);
/* When the first frame came to what sim_steal() has made last (CLOCK_REALTIME); 0: none has. */
uint64_t sim_steal_when(void);
void sim_steal_child(void);

/* arrive.c */
int sim_arrive_open(void); /* 0 or errno */
bool sim_arrive(void);     /* true: something arrived */
void sim_arrive_child(void);
void sim_arrive_tell(void); /* writes the counter of drops into the sysfs tree */

/* pace.c */
int sim_pace_set(struct sim_qp *qp, uint32_t kbps, uint32_t burst_bytes, uint32_t packet_bytes);
void sim_pace_clear(struct sim_qp *qp);
uint64_t sim_pace_wait(const struct sim_pace *pace, uint64_t now_ns);
uint64_t sim_pace_account(struct sim_pace *pace, uint64_t now_ns, uint64_t bytes);

/* clock.c */
void sim_clock_init(void);
uint64_t sim_now_ns(void);        /* CLOCK_MONOTONIC */
uint64_t sim_clock_wall_ns(void); /* CLOCK_REALTIME */
uint64_t sim_clock_cycles(uint64_t ns);
uint64_t sim_clock_real_ns(uint64_t ns);
void sim_clock_tick(uint64_t now_ns); /* refreshes the pages that the program maps */

/* pages.c */
#define SIM_PAGE_CLOCK      0u
#define SIM_PAGE_CLOCK_INFO 1u /* struct mlx5_ib_clock_info */
#define SIM_PAGE_UAR        2u /* and on: doorbell pages */
#define SIM_MAX_UARS        256u
#define SIM_PAGES           (SIM_PAGE_UAR + SIM_MAX_UARS)
int sim_pages_init(void); /* 0 or -errno */
void *sim_page(unsigned n);
void *sim_page_map(void *at, int prot, unsigned n); /* as mmap() */

/* devmem.c */
int sim_dm_alloc(struct sim_dm *dm, uint64_t len, uint32_t log_align); /* 0 or errno */
uint8_t *sim_dm_bytes(const struct sim_dm *dm);
int sim_dm_fd(void);

/* offload.c */
#define SIM_CSUM_L3 1
#define SIM_CSUM_L4 2
typedef void (*sim_emit_fn)(const uint8_t *frame, size_t len, void *arg);
void sim_checksum(uint8_t *frame, size_t len, unsigned what);
/* Cuts what follows the header of hdr bytes into TCP segments of at most mss. 0 or -1. */
int sim_segment(const uint8_t *frame, size_t len, size_t hdr, unsigned mss, sim_emit_fn emit,
		void *arg);

/* wire.c */
int sim_wire_open(void);
bool sim_wire_up(void);
unsigned sim_wire_ifindex(void);
const uint8_t *sim_wire_mac(void);
void sim_wire_send(const uint8_t *frame, size_t len, uint64_t departed_ns);

/* capture.c */
int sim_capture_open(const char *path);
void sim_capture_frame(const uint8_t *frame, size_t len, uint64_t departed_ns);
void sim_capture_flush(void);

/* control.c */
int sim_control_open(void);
void sim_control_poll(void); /* answers what was asked; takes the lock itself */
void sim_control_close(void);
void sim_event_all(uint32_t type, uint64_t element); /* to every open device */

#endif
