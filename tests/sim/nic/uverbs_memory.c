/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that a program registers or maps: its own, the device's, doorbell pages, the clock. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "sys.h"
#include "uverbs.h"

#define UAR_MMAP     0x100000ull /* page numbers from which doorbell pages are mapped */
#define KEY_OF(h, n) ((h) << 8 | ((n)&0xff))

static uint32_t keys; /* made so far: an old key is no new one */

/* True: the page is there, as the kernel needs it to pin it. */
static bool is_mapped(uint64_t addr)
{
	uint8_t byte;
	struct iovec local = {&byte, 1}, remote = {(void *)(uintptr_t)addr, 1};

	return syscall(SYS_process_vm_readv, (long)sim_getpid(), &local, 1L, &remote, 1L, 0L) == 1;
}

int sim_reg_mr(const struct sim_call *call)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ib_uverbs_reg_mr in;
	struct sim_obj *pd;
	uint32_t h, key;

	sim_attr_get(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in));
	pd = sim_obj_get(in.pd_handle, SIM_PD);
	if (!pd || !in.length || (in.start & (SIM_PAGE - 1)) != (in.hca_va & (SIM_PAGE - 1)))
		return EINVAL;
	if (!is_mapped(in.start) || !is_mapped(in.start + in.length - 1))
		return EFAULT;
	h = sim_obj_new(SIM_MR, call->ctx_index);
	if (!h)
		return ENOMEM;
	key = KEY_OF(h, keys++);
	sim_obj_get(h, SIM_MR)->mr = (struct sim_mr){
		.addr = in.hca_va, .len = in.length, .lkey = key, .pd = in.pd_handle};
	pd->refs++;
	resp = (struct ib_uverbs_reg_mr_resp){.mr_handle = h, .lkey = key, .rkey = key};
	sim_attr_put(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	return 0;
}

int sim_mr_destroy(const struct sim_call *call)
{
	return sim_obj_free((uint32_t)sim_attr_value(call, UVERBS_ATTR_DESTROY_MR_HANDLE), SIM_MR);
}

int sim_mr_query(const struct sim_call *call)
{
	struct sim_obj *obj = sim_attr_obj(call, UVERBS_ATTR_QUERY_MR_HANDLE, SIM_MR);

	if (!obj)
		return EINVAL;
	sim_attr_put(call, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &obj->mr.lkey, sizeof(obj->mr.lkey));
	sim_attr_put(call, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &obj->mr.lkey, sizeof(obj->mr.lkey));
	sim_attr_put(call, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &obj->mr.len, sizeof(obj->mr.len));
	sim_attr_put(call, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &obj->mr.addr, sizeof(obj->mr.addr));
	return 0;
}

int sim_dm_mr_reg(const struct sim_call *call)
{
	struct sim_obj *pd = sim_attr_obj(call, UVERBS_ATTR_REG_DM_MR_PD_HANDLE, SIM_PD);
	struct sim_obj *dm = sim_attr_obj(call, UVERBS_ATTR_REG_DM_MR_DM_HANDLE, SIM_DM);
	uint64_t off = sim_attr_value(call, UVERBS_ATTR_REG_DM_MR_OFFSET);
	uint64_t len = sim_attr_value(call, UVERBS_ATTR_REG_DM_MR_LENGTH);
	uint64_t access = sim_attr_value(call, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS);
	uint32_t h, key;

	if (!pd || !dm || !(access & IBV_ACCESS_ZERO_BASED) || len > dm->dm.len ||
	    off > dm->dm.len - len)
		return EINVAL;
	h = sim_obj_new(SIM_MR, call->ctx_index);
	if (!h)
		return ENOMEM;
	key = KEY_OF(h, keys++);
	sim_obj_get(h, SIM_MR)->mr = (struct sim_mr){.len = len,
						     .lkey = key,
						     .pd = sim_obj_handle(pd),
						     .dm = sim_obj_handle(dm),
						     .bytes = sim_dm_bytes(&dm->dm) + off};
	pd->refs++;
	dm->refs++;
	sim_attr_put_handle(call, UVERBS_ATTR_REG_DM_MR_HANDLE, h);
	sim_attr_put(call, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, &key, sizeof(key));
	sim_attr_put(call, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, &key, sizeof(key));
	return 0;
}

int sim_dm_create(const struct sim_call *call)
{
	uint32_t log_align = (uint32_t)sim_attr_value(call, UVERBS_ATTR_ALLOC_DM_ALIGNMENT), h;
	uint64_t len = sim_attr_value(call, UVERBS_ATTR_ALLOC_DM_LENGTH), in_page;
	struct sim_dm dm;
	uint16_t page;
	int err = sim_dm_alloc(&dm, len, log_align);

	if (err)
		return err;
	h = sim_obj_new(SIM_DM, call->ctx_index);
	if (!h)
		return ENOMEM;
	sim_obj_get(h, SIM_DM)->dm = dm;
	page = (uint16_t)(dm.off / SIM_PAGE);
	in_page = dm.off % SIM_PAGE;
	sim_attr_put_handle(call, UVERBS_ATTR_ALLOC_DM_HANDLE, h);
	sim_attr_put(call, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, &in_page, sizeof(in_page));
	sim_attr_put(call, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, &page, sizeof(page));
	return 0;
}

int sim_dm_destroy(const struct sim_call *call)
{
	return sim_obj_free((uint32_t)sim_attr_value(call, UVERBS_ATTR_FREE_DM_HANDLE), SIM_DM);
}

int sim_dm_query(const struct sim_call *call)
{
	struct sim_obj *obj = sim_attr_obj(call, MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, SIM_DM);
	uint64_t in_page, len;
	uint16_t page;

	if (!obj)
		return EINVAL;
	page = (uint16_t)(obj->dm.off / SIM_PAGE);
	in_page = obj->dm.off % SIM_PAGE;
	len = obj->dm.len;
	sim_attr_put(call, MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, &in_page, sizeof(in_page));
	sim_attr_put(call, MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, &page, sizeof(page));
	sim_attr_put(call, MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, &len, sizeof(len));
	return 0;
}

/* A doorbell page that nobody has; SIM_MAX_UARS: none. */
static uint32_t unused_uar(void)
{
	uint32_t page, at;
	struct sim_obj *obj;

	for (page = 0; page < SIM_MAX_UARS; page++) {
		at = 0;
		while ((obj = sim_obj_next(&at, SIM_UAR)) && obj->page != page)
			;
		if (!obj)
			break;
	}
	return page;
}

int sim_uar_alloc(const struct sim_call *call)
{
	uint32_t page = unused_uar(), len = SIM_PAGE, h;
	uint64_t off = (UAR_MMAP + page) * SIM_PAGE;

	if (page == SIM_MAX_UARS)
		return ENOMEM;
	h = sim_obj_new(SIM_UAR, call->ctx_index);
	if (!h)
		return ENOMEM;
	sim_obj_get(h, SIM_UAR)->page = page;
	sim_attr_put_handle(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, h);
	sim_attr_put(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &off, sizeof(off));
	sim_attr_put(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &len, sizeof(len));
	sim_attr_put(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &page, sizeof(page));
	return 0;
}

int sim_uar_destroy(const struct sim_call *call)
{
	return sim_obj_free((uint32_t)sim_attr_value(call, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE),
			    SIM_UAR);
}

void *sim_map(void *at, size_t len, int prot, uint64_t page)
{
	unsigned command = page >> 8 & 0xff;

	if (command == MLX5_IB_MMAP_DEVICE_MEM && page < UAR_MMAP)
		return sim_mmap(at, len, prot, MAP_SHARED, sim_dm_fd(),
				(((page & 0xff) | page >> 16 << 8) * SIM_PAGE));
	if (len == SIM_PAGE && page >= UAR_MMAP && page < UAR_MMAP + SIM_MAX_UARS)
		return sim_page_map(at, prot, SIM_PAGE_UAR + (unsigned)(page - UAR_MMAP));
	if (len == SIM_PAGE && command == MLX5_IB_MMAP_CORE_CLOCK)
		return sim_page_map(at, prot, SIM_PAGE_CLOCK);
	if (len == SIM_PAGE && command == MLX5_IB_MMAP_CLOCK_INFO)
		return sim_page_map(at, prot, SIM_PAGE_CLOCK_INFO);
	errno = EINVAL;
	return MAP_FAILED;
}
