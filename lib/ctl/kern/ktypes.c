/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's BTF (Documentation/bpf/btf.rst), looked through for a few names.
 *
 * Theory of operation: the BTF is mapped, which Linux can since 6.16, else read. One pass finds
 * functions and structures by name. A type's place follows only from the lengths of the types
 * before it, so the pass notes the place of every EVERY-th type (a place for each type would be 1.5
 * MB, whose page faults took longer than the rest of the pass). The fields of these structures go
 * into BTF of our own, flat: a field of an anonymous member becomes one of the outer structure, and
 * a pointer points to anything. libbpf compares no more than that. */
#include "ctl/kern/ktypes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/heap.h"
#include "base/sys.h"
#include "ctl/kern/libbpf.h"
#include "steer.h"

#define PATH      "/sys/kernel/btf/vmlinux"
#define PATH_VETH "/sys/kernel/btf/veth" /* where the driver is a module */
#define VETH_BUFF "veth_xdp_buff"
#define DEPTH     16 /* of anonymous members, and of names for a type */
#define EVERY     64

static const char *const func_names[SL_KFUNCS] = {
	"bpf_xdp_metadata_rx_timestamp",
	"bpf_xdp_metadata_rx_vlan_tag",
	"bpf_cast_to_kern_ctx",
};
/* A structure that another one contains comes before it. */
enum { SOCK_COMMON, SOCK, SKB, NET_DEVICE, NF_HOOK_STATE, BPF_NF_CTX, XDP_BUFF, RECORDS };
static const struct record {
	const char *name;
	const char *field[6];
} records[RECORDS] = {
	[SOCK_COMMON] = {"sock_common", {"skc_dport", "skc_num", "skc_state"}},
	[SOCK] = {"sock", {"__sk_common"}},
	[SKB] = {"sk_buff", {"sk", "len", "transport_header", "network_header", "head"}},
	[NET_DEVICE] = {"net_device", {"flags"}},
	[NF_HOOK_STATE] = {"nf_hook_state", {"pf", "out"}},
	[BPF_NF_CTX] = {"bpf_nf_ctx", {"state", "skb"}},
	[XDP_BUFF] = {VETH_BUFF, {"skb"}},
};

struct types {
	uint8_t *raw;
	size_t size;
	const uint8_t *at; /* the types */
	const char *text;  /* the names */
	uint32_t at_len, text_len;
	uint32_t *place; /* offsets in `at` of the types 1, 1 + EVERY, ... */
	uint32_t n;      /* types; 0 is void */
};

static struct {
	bool looked;
	uint32_t func[SL_KFUNCS];
	struct sl_ktypes_sums sums; /* skb 0: not known */
	void *btf;                  /* of the records; NULL: none */
	uint32_t btf_len;
} found;

/* Reading --------------------------------------------------------------------------------------
 */

/* (The kernel returns one page a call.) */
static int read_types(struct types *t, int fd)
{
	size_t n = 0;
	long r;

	t->raw = sl_sys_pages(t->size, 0);
	if (!t->raw)
		return -ENOMEM;
	while (n < t->size) {
		r = sl_sys_read(fd, t->raw + n, t->size - n);
		if (r <= 0)
			return r ? (int)r : -EIO;
		n += (size_t)r;
	}
	return 0;
}

static int get_raw(struct types *t, const char *path)
{
	int fd = sl_sysi(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), err;
	struct stat st;
	long p;

	if (fd < 0)
		return fd;
	err = sl_sysi(SYS_fstat, fd, &st);
	if (!err && st.st_size <= (long)sizeof(struct btf_header))
		err = -ENODATA;
	if (!err) {
		t->size = (size_t)st.st_size;
		p = sl_sys(SYS_mmap, NULL, t->size, PROT_READ, MAP_PRIVATE, fd, 0L);
		if (p > 0)
			t->raw = (uint8_t *)p;
		else
			err = read_types(t, fd);
	}
	sl_sys_close(fd);
	return err;
}

static void put_types(struct types *t)
{
	if (t->raw)
		sl_sys(SYS_munmap, t->raw, t->size);
	sl_free(t->place);
}

static int find_parts(struct types *t)
{
	const struct btf_header *h = (const struct btf_header *)t->raw;
	size_t room = t->size - sizeof(*h);

	if (h->magic != BTF_MAGIC || h->version != BTF_VERSION || h->hdr_len < sizeof(*h) ||
	    h->hdr_len - sizeof(*h) > room)
		return -EPROTO;
	room = t->size - h->hdr_len;
	if (h->type_off > room || h->type_len > room - h->type_off || h->str_off > room ||
	    h->str_len > room - h->str_off || !h->str_len || h->type_off % 4)
		return -EPROTO;
	t->at = t->raw + h->hdr_len + h->type_off;
	t->at_len = h->type_len;
	t->text = (const char *)t->raw + h->hdr_len + h->str_off;
	t->text_len = h->str_len;
	return t->text[t->text_len - 1] ? -EPROTO : 0;
}

/* Bytes after the twelve that each type has. -1: a kind that this code does not know. */
static long more_of(const struct btf_type *t)
{
	long n = (long)BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return 12;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case BTF_KIND_ENUM64:
		return 12 * n;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return 8 * n;
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	}
	return -1;
}

static const char *type_name(const struct types *t, uint32_t off)
{
	return off < t->text_len ? t->text + off : "";
}

/* True for most other names: a call of strcmp() for each type took longer than the rest. */
static inline bool differs(const char *a, const char *b)
{
	return a[0] != b[0] || a[1] != b[1] || (a[1] && a[2] != b[2]);
}

static inline void note_func(const struct types *t, const struct btf_type *type)
{
	const char *name = type_name(t, type->name_off);

	for (uint32_t i = 0; i < SL_KFUNCS; i++)
		if (!differs(name, func_names[i]) && !found.func[i] && !strcmp(name, func_names[i]))
			found.func[i] = t->n;
}

static inline void note_record(const struct types *t, const struct btf_type *type,
			       const struct btf_type *is[RECORDS])
{
	const char *name = type_name(t, type->name_off);

	for (uint32_t i = 0; i < RECORDS; i++)
		if (!differs(name, records[i].name) && !is[i] && !strcmp(name, records[i].name))
			is[i] = type;
}

static int look_through(struct types *t, const struct btf_type *is[RECORDS])
{
	uint32_t off = 0;
	long more;

	t->place = sl_calloc(t->at_len / sizeof(struct btf_type) / EVERY + 1, sizeof(*t->place));
	if (!t->place)
		return -ENOMEM;
	for (t->n = 1; t->at_len - off >= sizeof(struct btf_type); t->n++) {
		const struct btf_type *type = (const struct btf_type *)(t->at + off);

		if (t->n % EVERY == 1)
			t->place[t->n / EVERY] = off;
		off += sizeof(*type);
		more = more_of(type);
		if (more < 0 || more > (long)(t->at_len - off))
			return -EPROTO;
		off += (uint32_t)more;
		if (BTF_INFO_KIND(type->info) == BTF_KIND_FUNC)
			note_func(t, type);
		else if (BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT)
			note_record(t, type, is);
	}
	return 0;
}

/* Fields ---------------------------------------------------------------------------------------
 */

/* The type of that id, which is below t->n and not 0. */
static const struct btf_type *type_of(const struct types *t, uint32_t id)
{
	const uint8_t *at = t->at + t->place[(id - 1) / EVERY];

	for (uint32_t i = (id - 1) % EVERY; i > 0; i--)
		at += sizeof(struct btf_type) + (size_t)more_of((const struct btf_type *)at);
	return (const struct btf_type *)at;
}

/* A type without its typedefs and qualifiers. NULL: void, or nonsense. */
static const struct btf_type *strip(const struct types *t, uint32_t id)
{
	for (unsigned i = 0; i < DEPTH && id && id < t->n; i++) {
		const struct btf_type *type = type_of(t, id);

		switch (BTF_INFO_KIND(type->info)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			id = type->type;
			continue;
		}
		return type;
	}
	return NULL;
}

static uint32_t bit_of(const struct btf_type *type, const struct btf_member *m)
{
	return BTF_INFO_KFLAG(type->info) ? BTF_MEMBER_BIT_OFFSET(m->offset) : m->offset;
}

static bool is_composite(const struct btf_type *type)
{
	return type && (BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT ||
			BTF_INFO_KIND(type->info) == BTF_KIND_UNION);
}

/* Finds a field by name, in type and its anonymous members: its own type, and *bit. NULL: none. */
static const struct btf_type *find_field(const struct types *t, const struct btf_type *type,
					 const char *name, uint32_t *bit, unsigned depth)
{
	const struct btf_member *m = (const struct btf_member *)(type + 1);

	for (uint32_t i = 0; i < BTF_INFO_VLEN(type->info); i++, m++) {
		const char *own = type_name(t, m->name_off);
		const struct btf_type *its = strip(t, m->type), *inner;
		uint32_t at = bit_of(type, m);

		if (!strcmp(own, name)) {
			*bit = at;
			return its;
		}
		if (*own || !is_composite(its) || depth == DEPTH)
			continue;
		inner = find_field(t, its, name, bit, depth + 1);
		if (inner) {
			*bit += at;
			return inner;
		}
	}
	return NULL;
}

/* The type in our BTF that stands for one of the kernel's; -errno. */
static int stand_in(struct btf *btf, const struct types *t, const struct btf_type *type)
{
	char name[] = "u_";

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_PTR:
		return btf__add_ptr(btf, 0);
	case BTF_KIND_INT:
		if (!type->size || type->size > 8)
			return -EPROTO;
		name[1] = (char)('0' + type->size);
		return btf__add_int(btf, name, type->size, 0);
	case BTF_KIND_STRUCT:
		return btf__find_by_name_kind(btf, type_name(t, type->name_off), BTF_KIND_STRUCT);
	}
	return -EPROTO;
}

/* A record without the fields that the kernel does not have: libbpf says so, where it matters. */
static int add_record(struct btf *btf, const struct types *t, const struct record *r,
		      const struct btf_type *type)
{
	int id[sl_array_len(r->field)] = {0}, err = 0;
	uint32_t bit[sl_array_len(r->field)];

	for (unsigned i = 0; i < sl_array_len(r->field) && r->field[i]; i++) {
		const struct btf_type *its = find_field(t, type, r->field[i], &bit[i], 0);

		id[i] = its ? stand_in(btf, t, its) : 0;
	}
	if (btf__add_struct(btf, r->name, type->size) < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < sl_array_len(r->field) && !err; i++)
		if (id[i] > 0)
			err = btf__add_field(btf, r->field[i], id[i], bit[i], 0);
	return err;
}

static void keep_records(const struct types *t, const struct btf_type *is[RECORDS])
{
	struct btf *btf = btf__new_empty();
	const void *raw = NULL;
	uint32_t len = 0;
	int err = 0;

	for (unsigned i = 0; btf && i < RECORDS && !err; i++)
		if (is[i])
			err = add_record(btf, t, &records[i], is[i]);
	if (btf && !err)
		raw = btf__raw_data(btf, &len);
	found.btf = raw ? sl_malloc(len) : NULL;
	if (found.btf) {
		memcpy(found.btf, raw, len);
		found.btf_len = len;
	}
	btf__free(btf);
}

/* A name in a module's types: its own, or, below, one of the kernel's. */
static const char *name_in(const struct types *kernel, const struct types *module, uint32_t off)
{
	return off < kernel->text_len ? kernel->text + off
				      : type_name(module, off - kernel->text_len);
}

/* Where the first field called skb of a module's struct VETH_BUFF is, in bytes. 0: there is none.
 */
static uint32_t skb_in(const struct types *kernel, const struct types *module)
{
	const struct btf_type *type;

	for (uint32_t off = 0; module->at_len - off >= sizeof(*type);) {
		const struct btf_member *m;
		long more;

		type = (const struct btf_type *)(module->at + off);
		more = more_of(type);
		off += sizeof(*type);
		if (more < 0 || more > (long)(module->at_len - off))
			return 0;
		off += (uint32_t)more;
		if (BTF_INFO_KIND(type->info) != BTF_KIND_STRUCT ||
		    strcmp(name_in(kernel, module, type->name_off), VETH_BUFF))
			continue;
		m = (const struct btf_member *)(type + 1);
		for (uint32_t i = 0; i < BTF_INFO_VLEN(type->info); i++, m++)
			if (!strcmp(name_in(kernel, module, m->name_off), "skb"))
				return bit_of(type, m) / 8;
	}
	return 0;
}

static uint32_t skb_in_module(const struct types *kernel)
{
	struct types module = {0};
	uint32_t at = 0;

	if (!get_raw(&module, PATH_VETH) && !find_parts(&module))
		at = skb_in(kernel, &module);
	put_types(&module);
	return at;
}

static void find_sums(const struct types *t, const struct btf_type *is[RECORDS])
{
	const struct btf_type *skb = is[SKB], *veth = is[XDP_BUFF];
	uint32_t at = 0, bit;

	if (!skb || !find_field(t, skb, "ip_summed", &bit, 0))
		return;
	if (!veth)
		at = skb_in_module(t);
	else if (find_field(t, veth, "skb", &at, 0))
		at /= 8;
	found.sums = (struct sl_ktypes_sums){(uint16_t)at, (uint16_t)(bit / 8), bit % 8};
}

static void look(void)
{
	const struct btf_type *is[RECORDS] = {NULL};
	struct types t = {0};

	if (found.looked)
		return;
	found.looked = true;
	if (!get_raw(&t, PATH) && !find_parts(&t) && !look_through(&t, is)) {
		keep_records(&t, is);
		find_sums(&t, is);
	} else {
		memset(found.func, 0, sizeof(found.func));
	}
	put_types(&t);
}

uint32_t sl_ktypes_func(uint32_t kfunc)
{
	look();
	return found.func[kfunc - SL_KFUNC_FIRST];
}

bool sl_ktypes_sums(struct sl_ktypes_sums *at)
{
	look();
	*at = found.sums;
	return at->skb && found.func[SL_KFUNC_CTX - SL_KFUNC_FIRST];
}

int sl_ktypes_file(void)
{
	long err;
	int fd;

	look();
	if (!found.btf)
		return -ENOENT;
	if (!sl_file_fits(found.btf_len))
		return -EFBIG;
	fd = sl_sysi(SYS_memfd_create, "sluice-types", MFD_CLOEXEC);
	if (fd < 0)
		return fd;
	err = sl_sys_write(fd, found.btf, found.btf_len);
	if (err == (long)found.btf_len)
		return fd;
	sl_sys_close(fd);
	return err < 0 ? (int)err : -EIO;
}
