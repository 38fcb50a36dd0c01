# SPDX-License-Identifier: BSD-2-Clause
# Does things to devices while checked traffic goes on. A port of the guest leads to QEMU's monitor (QMP), so a
# test pulls its cables and cards itself. (A virtio port: the terminal of a serial line would echo the bytes.)
# Each request has a number, and its answer bears the same number, since QEMU's events come between them.
# shellcheck shell=bash source=lib.sh

QMP_ID=0
qmp_ask() { # command (JSON)
	QMP_ID=$((QMP_ID + 1))
	printf '{"execute": %s, "id": %d}\n' "$1" "$QMP_ID" >&"$QMP"
}
# Reads QEMU's next line into LINE. It waits without sleeping: while all sleep in the guest its clock jumps from timer to
# timer (icount), and any timeout would be over before QEMU answers.
qmp_line() {
	local end=$((SECONDS + 120))
	until read -r -t 0 -u "$QMP"; do [ $SECONDS -le $end ] || return 1; done
	read -r -u "$QMP" LINE
}
qmp_port() { grep -lx qmp /sys/class/virtio-ports/*/name | cut -d/ -f5 | grep .; }
qmp_open() {
	local port
	modprobe virtio_console 2>/dev/null # (in some kernels it is built in)
	port=$(wait_until 20 qmp_port) || { say "no port leads to QEMU" && return 1; }
	exec {QMP}<>"/dev/$port" && qmp_ask '"qmp_capabilities"'
}
qmp() { # command of the human monitor; any output of it is an error
	[ -n "${QMP:-}" ] || qmp_open || return 1
	qmp_ask '"human-monitor-command", "arguments": {"command-line": "'"$1"'"}'
	while qmp_line; do
		case $LINE in
		'{"return": "", "id": '$QMP_ID'}'*) return 0 ;;
		*'"id": '$QMP_ID'}'* | *'"id": '$QMP_ID,*) say "QEMU: $1: $LINE" && return 1 ;;
		esac
	done
	say "QEMU says nothing to $1" && return 1
}
cable() { # pair, 1 or 2, on or off
	qmp "set_link n$1_$2 $3"
}
# Streams run slowly but for the moment when a card is pulled: at full speed the guest takes seconds for each second of
# its clock.
slowly() { : >"$TMP/slow"; }
fast() { rm -f "$TMP/slow" && sleep 0.1; }
unplug() { # pair, 1 or 2
	fast && qmp "device_del n$1_$2" || return 1
	while qmp_line; do
		case $LINE in *'"DEVICE_DELETED"'*"\"n$1_$2\""*) slowly && return 0 ;; esac
	done
	say "device n$1_$2 does not go" && return 1
}
plug() { # pair, 1 or 2; the device appears in the first network namespace
	local device
	device=$(printf '%s\n' "$VM_DEVICES" | grep "id=n$1_$2,")
	qmp "device_add $device" && wait_until 60 nic "$1" "$2" >/dev/null
}
# Unbinds the card's driver, and binds it again. (For virtio_net this is the PCI driver below it.)
driver_off() { # pair, 2
	BUS=$(b ethtool -i "$DEV_B" | sed -n 's/^bus-info: //p')
	DRIVER=$(readlink -f "/sys/bus/pci/devices/$BUS/driver") && fast && echo "$BUS" >"$DRIVER/unbind" && slowly
}
driver_on() { # pair, 1 or 2; the device appears in the first network namespace
	echo "$BUS" >"$DRIVER/bind" && wait_until 60 nic "$1" "$2" >/dev/null
}

# Starts a preloaded program on b, which keeps one connection from before the first event to after the last.
# SERVED_BY=sa: the server on a is preloaded, too.
stream_begin() {
	MODE=one
	bg "${SERVED_BY:-a}" python3 "$VM_DIR/bytes.py" serve "$A4" 7001
	SERVER=$BG
	wait_tcp a 7001
	stream "$TMP/stream"
	STREAM=$BG
	ok "the connection carries bytes" wait_until 60 test -s "$TMP/stream"
}
stream() { # file, to which the program writes how many bytes it has carried
	bg sb python3 "$VM_DIR/bytes.py" ask "$A4" 7001 0 "$1"
}
moves() { # [file pid]: waits until the stream has carried more bytes
	local file=${1:-$TMP/stream} pid=${2:-$STREAM} was
	was=$(head -n 1 "$file")
	wait_until 60 eval '[ "$(head -n 1 "$file")" -gt "$was" ] || gone "$pid"' && ! gone "$pid"
}
kernels() { # [host sport|dport]: prints how many of the connections the kernel of b, or of that host, has
	"${1:-b}" ss -Htn state established "( ${2:-dport} = :7001 )" | wc -l
}
# Counts things that a round must not leak: descriptors, and BPF programs and maps in the kernel.
holds() {
	echo "$(find "/proc/$STREAM/fd" -mindepth 1 | wc -l) $(bpftool prog list | grep -c '^[0-9]') $(bpftool map list | grep -c '^[0-9]')"
}
holds_no_more() { # than these numbers
	local i now most
	read -r -a now < <(holds)
	read -r -a most <<<"$1"
	for i in "${!most[@]}"; do [ "${now[i]}" -le "${most[i]}" ] || return 1; done
}
stood_still() { # round
	say "round $1: $(cat "$TMP/stream")"
	gone "$STREAM" || b ss -Htnoi "( dport = :7001 )"
	ip -n "${NS}b" -s link
	dmesg | tail -n 5
}
# Runs `EVENT ROUND` VM_COUNT times; after each the connection must carry bytes again.
rounds() { # EVENT
	local round moved=0 held='' count=${VM_COUNT:-100}
	for round in $(seq "$count"); do
		"$1" "$round" && moves || { stood_still "$round" && break; }
		moved=$round
		[ $((round % 10)) != 0 ] || say "$round rounds, $(cut -d' ' -f1 /proc/uptime) s up"
		[ "$round" -gt 2 ] || held=$(holds)
	done
	same "it goes on after each" "$count" "$moved"
	# (The library may release the device a moment after the last round; the connection does not wait for that.)
	[ "$moved" = 0 ] || ok "descriptors, programs, maps after the second: $held, and after the last" wait_until 10 holds_no_more "$held"
}
stream_end() {
	touch "$TMP/stream.stop"
	ok "every byte came back right" wait_end "$STREAM" 60
	say "bytes, and connections that the kernel has: $(cat "$TMP/stream")"
}
