#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# CPython's own tests of asyncio: those with sockets in them.
. "$(dirname "$0")/lib_cpython.sh"
cpython_up
cpython_begin
for module in sock_lowlevel streams server sendfile events buffered_proto; do
	cpython test_asyncio.test_$module
done
# (The tests that are left out look at how the address is written.)
cpython test_asyncio.test_base_events -x connection_ip_addr connection_no_inet_pton
cpython_end 5
done_testing
