#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# CPython's own tests of HTTP and XML-RPC, and of its socket servers.
. "$(dirname "$0")/lib_cpython.sh"
cpython_up
cpython_begin
for module in test_httplib test_httpservers test_urllib2_localnet test_docxmlrpc test_socketserver; do
	cpython $module
done
# (The tests that are left out wait for seconds.)
cpython test_xmlrpc -x MultiPathServerTestCase
cpython_end 5
done_testing
