#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# CPython's own tests of FTP, SMTP, POP, NNTP and telnet, and of asyncore.
. "$(dirname "$0")/lib_cpython.sh"
cpython_up
cpython_begin
for module in test_ftplib test_smtplib test_poplib test_telnetlib test_nntplib test_asyncore test_asynchat; do
	cpython $module
done
cpython_end 10
done_testing
