#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A call that has moved a part of its bytes when its connection is handed back moves the rest by the
# kernel, and returns what the kernel would have returned.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
meet
PY=$(dirname "$0")/tcp_midway.py
for fam in ${FAMILIES:-4 6}; do
	own=A$fam
	MODE=kernel bg a python3 "$PY" peer "${!own}" 7000
	wait_tcp a 7000
	MODE=kernel differ "midway$fam" pb timeout 50 python3 "$PY" subject "${!own}" 7000
	MODE=one differ "midway$fam" pb timeout 50 python3 "$PY" subject "${!own}" 7000 \
		"$BUILD/sluice" flow -k "$SLUICE_STATS_SHMEM_DIR" hand-back -l
	stop "$BG"
done
done_testing
