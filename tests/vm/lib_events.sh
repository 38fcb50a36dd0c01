# SPDX-License-Identifier: BSD-2-Clause
# What happens to devices while checked traffic goes on. The guest's second serial line leads to QEMU's own
# monitor (QMP), so a test pulls its cables and cards itself.
# shellcheck shell=bash source=lib.sh

qmp() { # command of the human monitor; what that answers but nothing is an error
	local line
	[ -n "${QMP:-}" ] || {
		stty -F /dev/ttyS1 raw -echo
		exec {QMP}<>/dev/ttyS1
		printf '{"execute": "qmp_capabilities"}\n' >&"$QMP"
		read -r -t 20 line <&"$QMP" && read -r -t 20 line <&"$QMP"
	}
	printf '{"execute": "human-monitor-command", "arguments": {"command-line": "%s"}}\n' "$1" >&"$QMP"
	while read -r -t 20 line <&"$QMP"; do
		case $line in
		'{"return": ""}'*) return 0 ;;
		*'"return"'* | *'"error"'*) say "QEMU: $1: $line" && return 1 ;;
		esac
	done
	say "QEMU says nothing" && return 1
}
cable() { # pair, 1 or 2, on or off
	qmp "set_link n$1_$2 $3"
}
unplug() { # pair, 1 or 2
	qmp "device_del n$1_$2" && wait_until 60 not nic_anywhere "$1" "$2"
}
plug() { # pair, 1 or 2; it comes to the first network namespace
	local device
	device=$(printf '%s\n' "$VM_DEVICES" | grep "id=n$1_$2,")
	wait_until 60 qmp "device_add $device" && wait_until 60 nic "$1" "$2" >/dev/null
}
nic_anywhere() {
	nic "$1" "$2" >/dev/null || ip -n "${NS}b" link 2>/dev/null | grep -qi "02:00:00:00:$(printf %02x "$1"):0$2"
}

# One connection of a preloaded program on b, from before the first event to after the last.
stream_begin() {
	MODE=one
	bg a python3 "$VM_DIR/bytes.py" serve "$A4" 7001
	wait_tcp a 7001
	bg sb python3 "$VM_DIR/bytes.py" ask "$A4" 7001 0 "$TMP/stream"
	STREAM=$BG
	ok "the connection carries bytes" wait_until 60 test -s "$TMP/stream"
}
moves() { # it has carried more bytes
	local was
	was=$(head -n 1 "$TMP/stream")
	wait_until "${1:-60}" eval '[ "$(head -n 1 "$TMP/stream")" -gt "'"$was"'" ] || gone '"$STREAM" && ! gone "$STREAM"
}
# What a round must not leave behind: descriptors, programs in the kernel.
holds() {
	echo "$(find "/proc/$STREAM/fd" -mindepth 1 | wc -l) $(bpftool prog list 2>/dev/null | grep -c '^[0-9]')"
}
stream_end() {
	touch "$TMP/stream.stop"
	ok "every byte came back right" wait_end "$STREAM" 60
	say "bytes, and connections that the kernel has: $(cat "$TMP/stream")"
}
