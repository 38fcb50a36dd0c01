#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# CPython's own tests of TLS in asyncio.
. "$(dirname "$0")/lib_cpython.sh"
cpython_up
cpython_begin
cpython test_asyncio.test_sslproto
# (The tests that are left out wait for seconds.)
cpython test_asyncio.test_ssl -x test_create_server_ssl_over_ssl test_flush_before_shutdown
cpython_end 5
done_testing
