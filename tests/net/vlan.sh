#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A VLAN device is the kernel's, which is said; its packets come and go all the same.
. "$(dirname "$0")/lib.sh"
need python3
VLANS=${VLANS:-5}
net_up
logged() { cat "$TMP"/sluice.*.log 2>/dev/null | grep -q -e "$1"; }
udp_differ basic 1 ''
ok "it is said" logged "$DEV_B stays with the kernel: it is a VLAN device"
done_testing
