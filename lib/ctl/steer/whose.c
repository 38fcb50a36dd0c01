/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells a steering program of ours from programs of others, and finds its device. */
#include "ctl/steer/whose.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/netns.h"
#include "ctl/steer/maps.h"

static int map_named(const uint32_t *ids, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++) {
		struct bpf_map_info info = {0};
		uint32_t len = sizeof(info);
		int fd = bpf_map_get_fd_by_id(ids[i]);

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, name))
			return fd;
		sl_sys_close(fd);
	}
	return -ENOENT;
}

bool sl_steer_config(int prog_fd, struct sl_port_config *cfg)
{
	uint32_t ids[32], zero = 0, len;
	struct bpf_map_info map = {0};
	struct bpf_prog_info info = {0};
	bool ours;
	int fd;

	info.map_ids = (uintptr_t)ids;
	info.nr_map_ids = sl_array_len(ids);
	len = sizeof(info);
	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len) ||
	    (strcmp(info.name, SL_STEER_PROG) && strcmp(info.name, SL_STEER_SKB_PROG)))
		return false;
	fd = map_named(ids, sl_min(info.nr_map_ids, sl_array_len(ids)),
		       sl_map_names[SL_MAP_CONFIG]);
	if (fd < 0)
		return false;
	len = sizeof(map);
	ours = !bpf_obj_get_info_by_fd(fd, &map, &len) && map.value_size == sizeof(*cfg) &&
	       !bpf_map_lookup_elem(fd, &zero, cfg);
	sl_sys_close(fd);
	return ours;
}

bool sl_steer_may_remove(int prog_fd, uint32_t ifindex, bool attached)
{
	struct sl_port_config cfg;

	if (!sl_steer_config(prog_fd, &cfg))
		return false;
	return attached || (cfg.ifindex == ifindex && cfg.netns == sl_netns_ino());
}
