#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# CPython's own tests of TLS.
. "$(dirname "$0")/lib_cpython.sh"
cpython_up
cpython_begin
# (Left out are tests that look at how an address is written, and some that wait for seconds.)
cpython test_ssl -x test_parse_all_sans test_echo test_alpn_protocols test_check_hostname_idn \
	test_sni_callback TestPostHandshakeAuth.test_pha_
cpython_end 5
done_testing
