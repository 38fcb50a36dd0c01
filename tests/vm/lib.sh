# SPDX-License-Identifier: BSD-2-Clause
# The harness of the tests in guests. A test is one file: it describes the guest in variables (see
# lib_boot.sh) and sources this file. On the machine this file boots the guest, which runs the same test
# again. In the guest the rest of the test runs, with all functions of tests/net/lib.sh.
#
#   VM_NICS="virtio igb"
#   . "$(dirname "$0")/lib.sh"
#   use 1                # the hosts of net_up are joined by the first pair of NICs, not by veth
#   net_up
#   ...
#   done_testing
#
#   nic N I              name of device I (1, 2) of pair N, wherever it is
#   use N...             net_up joins its hosts by these pairs of NICs, in this order
#   suite TEST...        runs these tests (net/udp_basic ...) and prints the logs of failed ones; VM_SUITE
#                        in the environment overrides the list, MODES the modes of each test
#   kernel_quiet         asserts that nothing has gone wrong in the guest's kernel
#
# shellcheck shell=bash
VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ -z "${VM_GUEST:-}" ]; then
	export VM_FETCH_SECONDS VM_NICE VM_NICS VM_KERNEL VM_CPUS VM_MEM VM_SECONDS VM_APPEND
	VM_PASS="VM_SUITE VM_COUNT ${VM_PASS:-}"
	export VM_PASS
	exec "$VM_DIR/lib_boot.sh" "$0" "$@"
fi
SUITE_MODES=${MODES:-} # (kept for the tests of the suite: net/lib.sh changes MODES for this script)
. "$VM_DIR/../net/lib.sh"
. "$VM_DIR/lib_links.sh"
modprobe -a virtio_net igb veth 2>/dev/null
wait_until 20 test -n "$(ls /sys/class/net)"

use() {
	LINKS=$*
	export LINKS
}

suite() {
	local t list=()
	for t in ${VM_SUITE:-$*}; do
		case $t in */*) ;; *) t=net/$t ;; esac
		if [ -e "$TESTS/$t.sh" ]; then list+=("tests/$t.sh"); else list+=("$BUILD/tests/$t"); fi
	done
	(cd "$TOP" && MODES=$SUITE_MODES tests/run.sh -j 1 -t "${VM_TEST_SECONDS:-400}" "${list[@]}") && PASSED=$((PASSED + 1)) && return
	FAILED=$((FAILED + 1))
	for t in $(grep -lx FAILED "$BUILD"/logs/*.result); do # (the logs end with the guest)
		say "== ${t%.result}"
		cat "${t%.result}"
	done
}

kernel_quiet() {
	local said
	# (Leaves out the trace that the kernel prints when it ends a program for lack of memory.)
	said=$(dmesg | sed '/invoked oom-killer/,/Out of memory: Killed/d' | grep -E 'BUG:|WARNING:|Oops|Call Trace|refcount_t|hung task|unregister_netdevice: waiting' | head -n 5)
	same "the guest's kernel has nothing to say" "" "$said"
}
