#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# CPython's own tests of sockets, select, poll, epoll and selectors.
. "$(dirname "$0")/lib_cpython.sh"
cpython_up
cpython_begin
# (The tests that are left out wait for seconds, or for a virtual machine's host, or look at how an address is written.)
cpython test_socket -x VSOCK NetworkConnectionBehaviourTest test_sendall_interrupted testStringToIPv6
cpython test_epoll
cpython test_select
cpython test_poll -x test_poll2
cpython test_selectors -x test_select_interrupt_noraise test_timeout
cpython_end 5
done_testing
