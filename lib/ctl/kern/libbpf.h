/* SPDX-License-Identifier: BSD-2-Clause */
/* libbpf and libxdp, loaded when the first device is opened. With the libraries that they need
 * themselves they would be nearly half of the time in which this library is loaded; a process that
 * has its devices from the daemon, or no device, never needs them. Include this header in place of
 * theirs: it makes each name of theirs stand for a pointer. */
#ifndef SL_LIBBPF_H
#define SL_LIBBPF_H

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "base/base.h"

/* Their functions that this project calls; the skeletons (bpftool-gen(8)) call some of them. */
#define SL_LIBBPF_CALLS(X)                                                                         \
	X(bpf_btf_get_fd_by_id)                                                                    \
	X(bpf_iter_create)                                                                         \
	X(bpf_link_create)                                                                         \
	X(bpf_link_update)                                                                         \
	X(bpf_map__fd)                                                                             \
	X(bpf_map__reuse_fd)                                                                       \
	X(bpf_map__set_initial_value)                                                              \
	X(bpf_map__set_max_entries)                                                                \
	X(bpf_map__value_size)                                                                     \
	X(bpf_map_create)                                                                          \
	X(bpf_map_delete_elem)                                                                     \
	X(bpf_map_get_fd_by_id)                                                                    \
	X(bpf_map_get_next_key)                                                                    \
	X(bpf_map_lookup_batch)                                                                    \
	X(bpf_map_lookup_elem)                                                                     \
	X(bpf_map_update_elem)                                                                     \
	X(bpf_obj_get)                                                                             \
	X(bpf_obj_get_info_by_fd)                                                                  \
	X(bpf_obj_pin)                                                                             \
	X(bpf_object__attach_skeleton)                                                             \
	X(bpf_object__close)                                                                       \
	X(bpf_object__destroy_skeleton)                                                            \
	X(bpf_object__detach_skeleton)                                                             \
	X(bpf_object__find_map_by_name)                                                            \
	X(bpf_object__find_map_fd_by_name)                                                         \
	X(bpf_object__find_program_by_name)                                                        \
	X(bpf_object__load)                                                                        \
	X(bpf_object__load_skeleton)                                                               \
	X(bpf_object__open_mem)                                                                    \
	X(bpf_object__open_skeleton)                                                               \
	X(bpf_prog_get_fd_by_id)                                                                   \
	X(bpf_prog_get_next_id)                                                                    \
	X(bpf_prog_load)                                                                           \
	X(bpf_program__fd)                                                                         \
	X(bpf_program__insn_cnt)                                                                   \
	X(bpf_program__set_expected_attach_type)                                                   \
	X(bpf_program__set_autoload)                                                               \
	X(bpf_program__set_flags)                                                                  \
	X(bpf_program__set_ifindex)                                                                \
	X(bpf_program__set_log_buf)                                                                \
	X(bpf_program__set_log_level)                                                              \
	X(bpf_program__set_type)                                                                   \
	X(bpf_xdp_attach)                                                                          \
	X(bpf_xdp_detach)                                                                          \
	X(bpf_xdp_query)                                                                           \
	X(bpf_xdp_query_id)                                                                        \
	X(btf__add_field)                                                                          \
	X(btf__add_int)                                                                            \
	X(btf__add_ptr)                                                                            \
	X(btf__add_struct)                                                                         \
	X(btf__find_by_name_kind)                                                                  \
	X(btf__free)                                                                               \
	X(btf__new_empty)                                                                          \
	X(btf__raw_data)                                                                           \
	X(libbpf_set_print)
#define SL_LIBXDP_CALLS(X)                                                                         \
	X(libxdp_get_error)                                                                        \
	X(libxdp_set_print)                                                                        \
	X(xdp_multiprog__close)                                                                    \
	X(xdp_multiprog__get_from_ifindex)                                                         \
	X(xdp_multiprog__is_legacy)                                                                \
	X(xdp_multiprog__main_prog)                                                                \
	X(xdp_multiprog__next_prog)                                                                \
	X(xdp_program__attach)                                                                     \
	X(xdp_program__close)                                                                      \
	X(xdp_program__detach)                                                                     \
	X(xdp_program__fd)                                                                         \
	X(xdp_program__from_bpf_obj)                                                               \
	X(xdp_program__from_id)                                                                    \
	X(xdp_program__id)                                                                         \
	X(xdp_program__name)

struct sl_libbpf {
#define X(name) __typeof__(&name) name##_;
	SL_LIBBPF_CALLS(X)
	SL_LIBXDP_CALLS(X)
#undef X
};

/* Loads both libraries; 0, or -ELIBACC: they are not there, or too old, and *why (if not NULL) says
 * so. Any thread, but none that holds a lock of ours: dlopen(3) may wait for a thread that is in it
 * and waits for ours. Allocates. */
int sl_libbpf_load(const char **why);

/* Their functions. Loads them, too, but has no way to say that they are not there: the first caller
 * in a process calls sl_libbpf_load() before. */
const struct sl_libbpf *sl_libbpf(void);

#define bpf_btf_get_fd_by_id                  sl_libbpf()->bpf_btf_get_fd_by_id_
#define bpf_iter_create                       sl_libbpf()->bpf_iter_create_
#define bpf_link_create                       sl_libbpf()->bpf_link_create_
#define bpf_link_update                       sl_libbpf()->bpf_link_update_
#define bpf_map__fd                           sl_libbpf()->bpf_map__fd_
#define bpf_map__reuse_fd                     sl_libbpf()->bpf_map__reuse_fd_
#define bpf_map__set_initial_value            sl_libbpf()->bpf_map__set_initial_value_
#define bpf_map__set_max_entries              sl_libbpf()->bpf_map__set_max_entries_
#define bpf_map__value_size                   sl_libbpf()->bpf_map__value_size_
#define bpf_map_create                        sl_libbpf()->bpf_map_create_
#define bpf_map_delete_elem                   sl_libbpf()->bpf_map_delete_elem_
#define bpf_map_get_fd_by_id                  sl_libbpf()->bpf_map_get_fd_by_id_
#define bpf_map_get_next_key                  sl_libbpf()->bpf_map_get_next_key_
#define bpf_map_lookup_batch                  sl_libbpf()->bpf_map_lookup_batch_
#define bpf_map_lookup_elem                   sl_libbpf()->bpf_map_lookup_elem_
#define bpf_map_update_elem                   sl_libbpf()->bpf_map_update_elem_
#define bpf_obj_get                           sl_libbpf()->bpf_obj_get_
#define bpf_obj_get_info_by_fd                sl_libbpf()->bpf_obj_get_info_by_fd_
#define bpf_obj_pin                           sl_libbpf()->bpf_obj_pin_
#define bpf_object__attach_skeleton           sl_libbpf()->bpf_object__attach_skeleton_
#define bpf_object__close                     sl_libbpf()->bpf_object__close_
#define bpf_object__destroy_skeleton          sl_libbpf()->bpf_object__destroy_skeleton_
#define bpf_object__detach_skeleton           sl_libbpf()->bpf_object__detach_skeleton_
#define bpf_object__find_map_by_name          sl_libbpf()->bpf_object__find_map_by_name_
#define bpf_object__find_map_fd_by_name       sl_libbpf()->bpf_object__find_map_fd_by_name_
#define bpf_object__find_program_by_name      sl_libbpf()->bpf_object__find_program_by_name_
#define bpf_object__load                      sl_libbpf()->bpf_object__load_
#define bpf_object__load_skeleton             sl_libbpf()->bpf_object__load_skeleton_
#define bpf_object__open_mem                  sl_libbpf()->bpf_object__open_mem_
#define bpf_object__open_skeleton             sl_libbpf()->bpf_object__open_skeleton_
#define bpf_prog_get_fd_by_id                 sl_libbpf()->bpf_prog_get_fd_by_id_
#define bpf_prog_get_next_id                  sl_libbpf()->bpf_prog_get_next_id_
#define bpf_prog_load                         sl_libbpf()->bpf_prog_load_
#define bpf_program__fd                       sl_libbpf()->bpf_program__fd_
#define bpf_program__insn_cnt                 sl_libbpf()->bpf_program__insn_cnt_
#define bpf_program__set_expected_attach_type sl_libbpf()->bpf_program__set_expected_attach_type_
#define bpf_program__set_autoload             sl_libbpf()->bpf_program__set_autoload_
#define bpf_program__set_flags                sl_libbpf()->bpf_program__set_flags_
#define bpf_program__set_ifindex              sl_libbpf()->bpf_program__set_ifindex_
#define bpf_program__set_log_buf              sl_libbpf()->bpf_program__set_log_buf_
#define bpf_program__set_log_level            sl_libbpf()->bpf_program__set_log_level_
#define bpf_program__set_type                 sl_libbpf()->bpf_program__set_type_
#define bpf_xdp_attach                        sl_libbpf()->bpf_xdp_attach_
#define bpf_xdp_detach                        sl_libbpf()->bpf_xdp_detach_
#define bpf_xdp_query                         sl_libbpf()->bpf_xdp_query_
#define bpf_xdp_query_id                      sl_libbpf()->bpf_xdp_query_id_
#define btf__add_field                        sl_libbpf()->btf__add_field_
#define btf__add_int                          sl_libbpf()->btf__add_int_
#define btf__add_ptr                          sl_libbpf()->btf__add_ptr_
#define btf__add_struct                       sl_libbpf()->btf__add_struct_
#define btf__find_by_name_kind                sl_libbpf()->btf__find_by_name_kind_
#define btf__free                             sl_libbpf()->btf__free_
#define btf__new_empty                        sl_libbpf()->btf__new_empty_
#define btf__raw_data                         sl_libbpf()->btf__raw_data_
#define libbpf_set_print                      sl_libbpf()->libbpf_set_print_
#define libxdp_get_error                      sl_libbpf()->libxdp_get_error_
#define libxdp_set_print                      sl_libbpf()->libxdp_set_print_
#define xdp_multiprog__close                  sl_libbpf()->xdp_multiprog__close_
#define xdp_multiprog__get_from_ifindex       sl_libbpf()->xdp_multiprog__get_from_ifindex_
#define xdp_multiprog__is_legacy              sl_libbpf()->xdp_multiprog__is_legacy_
#define xdp_multiprog__main_prog              sl_libbpf()->xdp_multiprog__main_prog_
#define xdp_multiprog__next_prog              sl_libbpf()->xdp_multiprog__next_prog_
#define xdp_program__attach                   sl_libbpf()->xdp_program__attach_
#define xdp_program__close                    sl_libbpf()->xdp_program__close_
#define xdp_program__detach                   sl_libbpf()->xdp_program__detach_
#define xdp_program__fd                       sl_libbpf()->xdp_program__fd_
#define xdp_program__from_bpf_obj             sl_libbpf()->xdp_program__from_bpf_obj_
#define xdp_program__from_id                  sl_libbpf()->xdp_program__from_id_
#define xdp_program__id                       sl_libbpf()->xdp_program__id_
#define xdp_program__name                     sl_libbpf()->xdp_program__name_

#endif
