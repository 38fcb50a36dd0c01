#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The tools on a running program: run, stat in all its views and requests, rule on the pinned map,
# doctor. The program is an unmodified sockperf server.
. "$(dirname "$0")/lib.sh"

TOOL=$BUILD/sluice
need_built
command -v sockperf >/dev/null || skip "no sockperf"
unsanitized "sluice run preloads no sanitizer"
net_up
mount | grep -q 'on /sys/fs/bpf type bpf' || skip "no bpffs"
MODE=tools
export SLUICE_STATS_SHMEM_DIR=$TMP SLUICE_TRACELEVEL=2

bg a "$TOOL" run RX_POLL=1000 --select-poll=0 -- sockperf server -i "$A4" -p 5001 2>"$TMP/log"
SERVER=$BG
stat() { a "$TOOL" stat "$@"; }
for _ in $(seq 50); do
	[ -n "$(stat --list)" ] && break
	sleep 0.1
done
b sockperf ping-pong -i "$A4" -p 5001 -t 2 --mps=500 >"$TMP/client" 2>&1 || fail "sockperf client"

# stat ------------------------------------------------------------------------------------------
ok "the program is listed" grep -q sockperf <(stat --list)
stat -c 1 >"$TMP/v1"
ok "view 1 counts offloaded packets" grep -Eq '^ +[0-9]+ Rx: +[1-9][0-9]{2,}' "$TMP/v1"
ok "view 2 has the queue" grep -q 'queue bytes' <(stat -c 1 -v 2)
stat -c 1 -v 3 >"$TMP/v3"
ok "view 3 has socket, lane, device" eval 'grep -q "Fd=\[" "$TMP/v3" && grep -q "RING=\[" "$TMP/v3" &&
	grep -q "PORT=\[$DEV_A\]" "$TMP/v3"'
block() { awk -v b="$1" '/^===/ { on = 0 } /^\t/ { on = index($0, "\t" b) == 1 } on' "$TMP/v3"; } # name
ok "the ring's block counts what came and went" test "$(block RING= |
	grep -cE '^(Tx|Rx) Offload: +[1-9][0-9]* / [1-9][0-9]{2,} \[kilobytes/packets\]$')" = 2
ok "the ring's has interrupts that were asked for and that came" eval 'block RING= | grep -qE "^Interrupt requests: +[1-9]" &&
	block RING= | grep -qE "^Interrupt received: +[1-9]"'
ok "a socket's has its queue, in VMA's lines" eval 'block Fd= | grep -qE "^Rx byte: cur 0 / max [1-9][0-9]* / dropped 0 / limit [1-9]" &&
	block Fd= | grep -qE "^Rx pkt : cur 0 / max [1-9][0-9]* / dropped 0 / short of frames 0$"'
ok "the completion queue's has drops, queues and polls" eval 'block CQ= | grep -qx "Packets dropped:  *0" &&
	block CQ= | grep -qx "Packets queue len:  *0" && block CQ= | grep -qE "^Drained max: +[0-9]+$" &&
	block CQ= | grep -qE "^Polls: +[0-9]+ / [1-9][0-9]* \([0-9.]+%\) \[empty/all\]$"'
ok "the buffer pool's has its size" eval 'block BUFFER_POOL | grep -qE "^Size: +[1-9]" && block BUFFER_POOL | grep -qE "^Free: +[1-9]"'
ok "view 3 knows the address" grep -q "Local Address   = \[$A4:5001\]" "$TMP/v3"
ok "view 5 is like netstat" grep -Eq "^udp +Yes .* $A4:5001 .*/sockperf" <(stat -v 5)

# Lines of the examples in VMA's manual (8.1.1), with what they count by the second. Each line is a pattern.
like_manual() { # options of stat
	local line
	stat -c 1 "$@" >"$TMP/manual"
	while IFS= read -r line; do
		grep -qE -- "^$line\$" "$TMP/manual" || { echo "# nothing like '$line'" && return 1; }
	done
}
ok "view 1 is like the manual's examples 1 and 2" like_manual -d 2 <<-EOF
	 *fd +-+ offloaded -+ +-+ os -+ *
	 *pkt/s +Kbyte/s +eagain/s +error/s +poll% +pkt/s +Kbyte/s +eagain/s +error/s
	 *[0-9]+ Rx: +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+
	 *Tx: +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+
EOF
ok "view 1 of totals is like example 1" like_manual <<<' *fd +-+ total offloaded -+ +-+ total os -+ *'
ok "view 5 has ends as netstat has them" like_manual -v 5 <<<"udp +Yes +[0-9]+ +[0-9]+ +$A4:5001 +0\.0\.0\.0:\* .*"
ok "view 3 is like example 3" like_manual --view=3 --details=2 --interval=1 --cycles=1 --find_pid --forbid_clean <<-EOF
	=+
	[[:space:]]Fd=\[[0-9]+\]
	- udp, (Blocked|Non-blocked)
	- Local Address   = \[$A4:5001\]
	Rx byte: cur [0-9]+ / max [0-9]+ / dropped/s [0-9]+ / limit [0-9]+
	Rx pkt : cur [0-9]+ / max [0-9]+ / dropped/s [0-9]+ / short of frames/s [0-9]+
	[[:space:]]RING=\[[0-9]+\]
	Tx Offload: {10}[0-9]+ / [0-9]+ \[kilobytes/packets\]/s
	Interrupt requests: {2}[0-9]+ /s
	Interrupt received: {2}[0-9]+ /s
	[[:space:]]CQ=\[[0-9]+\]
	Packets dropped: {5}[0-9]+ /s
	Packets queue len: {3}[0-9]+
	Drained max: {9}[0-9]+
	Buffer pool size: {4}[1-9][0-9]*
	Buffer disorder: {5}[0-9]+\.[0-9]{2}%
EOF
ok "a program by its name, some of its sockets" like_manual --name=sockperf --sockets=0-9999 <<<' *[0-9]+ Rx:.*'
ok "a name that no program has" eval 'stat --name=other 2>&1 | grep -q "Failed to identify process"'
ok "differences per second are 0 at rest" grep -Eq '^ +[0-9]+ Rx: +0 ' <(stat -c 1 -d 2)
ok "JSON is JSON" python3 -c '
import json, sys
s = json.load(open(sys.argv[1]))
k = [x for x in s["sockets"] if x["local"].endswith(":5001")][0]
assert k["offloaded"] and k["rx_pkts"] > 100 and s["ports"][0]["attached"], s
' <(stat --json)
ok "Prometheus has the counter" grep -Eq '^sluice_socket_rx_pkts_total\{pid="[0-9]+",program="sockperf",.*\} [1-9]' \
	<(stat --prometheus)
ok "only the descriptors asked for" eval '! grep -q "Rx:" <(stat -c 1 -s 900-901)'
stat -z
b sockperf ping-pong -i "$A4" -p 5001 -t 1 --mps=10 >/dev/null 2>&1
ok "counters were set to zero" grep -Eq '^ +[0-9]+ Rx: +[0-9]{1,2} ' <(stat -c 1)
fd=$(stat --json | python3 -c 'import json, sys; print([k["fd"] for k in json.load(sys.stdin)["sockets"] if k["local"].endswith(":5001")][0])')
ok "-S shows one descriptor, 0 all of them" eval '[ "$(stat -S $fd | grep -c "Fd=")" = 1 ] && stat -S 0 | grep -q "Fd=\[$fd\]"'
ok "a wrong level of -S is refused" eval 'stat -S 3 loud 2>/dev/null; [ $? = 2 ]'
ok "the log level is taken" stat -l error
ok "so are its details" stat --details_level=2
stat -S "$fd" 1 2>/dev/null &
b sockperf ping-pong -i "$A4" -p 5001 -t 2 --mps=10 >/dev/null 2>&1
ok "and in force" python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["log_level"] == 1' \
	<(stat --json)
ok "-S with a level writes to the program's log" eval 'grep -qE "\[fd=$fd\] Rx byte: max [0-9]+ / dropped 0 \(0.00%\) / limit [1-9]" "$TMP/log" &&
	grep -qE "\[fd=$fd\] Tx OS info: 0 KB / 0 / 0 / 0 " "$TMP/log"'
ok "level none is taken, but not for a dump" eval 'stat -l none && ! stat -S "$fd" none 2>/dev/null'
lines=$(wc -l <"$TMP/log")
stat -S "$fd" 0 2>/dev/null &
b sockperf ping-pong -i "$A4" -p 5001 -t 2 --mps=10 >/dev/null 2>&1
ok "and the log is silent" eval '[ "$(stat --json | python3 -c "import json, sys; print(json.load(sys.stdin)[\"log_level\"])")" = -1 ] &&
	[ "$(wc -l <"$TMP/log")" = "$lines" ]'
ok "a wrong view is refused" eval 'stat -v 9 2>/dev/null; [ $? = 2 ]'
ok "vma_stats is the same tool" eval 'ln -s "$TOOL" "$TMP/vma_stats" && a "$TMP/vma_stats" -c 1 | grep -q Rx:'

# rule ------------------------------------------------------------------------------------------
rule() { a "$TOOL" rule "$@"; }
ok "a rule is added" rule add --device "$DEV_A" use os udp_sender "$B4:9"
ok "and one above it" rule add --device "$DEV_A" --program nc use sluice udp_sender "*:9"
ok "both are listed in order" eval 'rule list --device "$DEV_A" | tr -s " \n" " " |
	grep -q "1 use sluice udp_sender \*:9 program nc 2 use os udp_sender $B4:9"'
ok "the test asks them" grep -q '^  os, by' <(rule test --device "$DEV_A" udp_sender "$B4:9")
ok "for the program too" grep -q '^  sluice, by' <(rule test --device "$DEV_A" --program nc udp_sender "$B4:9")
printf 'use os tcp_client *:*:*:1-1023\n' >"$TMP/ports"
ok "and says when a port is missing" grep -q '^  that depends on' \
	<(rule test --file "$TMP/ports" tcp_client "$B4:9:$A4:*")
ok "bpftool sees it" grep -q '"action": 2' <(bpftool -p map dump pinned "/sys/fs/bpf/sluice/$DEV_A/rules" | head -n 120)
ok "rules are deleted" eval 'rule del --device "$DEV_A" 1 && rule del --device "$DEV_A" 2'
ok "and gone" grep -q 'no rules' <(rule list --device "$DEV_A")
refused() { # a tool's call: as wrong usage
	a "$TOOL" "$@" >/dev/null 2>&1
	[ $? = 2 ]
}
ok "a place that is no number is refused" refused rule add --device "$DEV_A" --at 1x use os udp_sender "*:9"
ok "a process id, too" eval 'refused stat -p 1x && refused pace -p 1x && refused flow list -p 1x'
ok "and a port that is none" refused flow list -l "*:65536"
ok "no rule has come of it" grep -q 'no rules' <(rule list --device "$DEV_A")
ok "deleting nothing fails" eval '! rule del --device "$DEV_A" 1 2>/dev/null'
printf 'use os tcp server *:5001\nuse os udp_connect *:53\n' >"$TMP/conf"
ok "a wrong line is placed" eval 'rule list --file "$TMP/conf" 2>&1 >/dev/null | grep -q "conf:1:8: expected a role"'

# The tools do not call absent what their user may not see. ----------------------------------------
nobody() { a setpriv --reuid=65534 --regid=65534 --clear-groups env -u SLUICE_STATS_SHMEM_DIR "$TOOL" "$@" >"$TMP/nobody" 2>&1; }
for c in "rule list" "rule test udp_sender $B4:9" "rule add use os udp_sender *:9" "pace show"; do
	# shellcheck disable=SC2086
	ok "$c: the maps are root's" eval '! nobody $c && grep -q "this user may not read /sys/fs/bpf/sluice" "$TMP/nobody"'
done
ok "a program of root's, for another user" eval '! nobody stat -p "$SERVER" && grep -q "process\.\.\. it is another user.s" "$TMP/nobody"'
ok "captured, too" eval '! nobody capture -w /dev/null -p "$SERVER" && grep -q "sockets: it is another user.s" "$TMP/nobody"'
ok "no such process" eval '! stat -p 4194304 2>"$TMP/nobody"; grep -q "there is no such process" "$TMP/nobody"'
ok "one without Sluice" eval '! stat -p $$ 2>"$TMP/nobody"; grep -q "it runs without Sluice" "$TMP/nobody"'

# doctor and run --------------------------------------------------------------------------------
a "$TOOL" doctor "$DEV_A" >"$TMP/doctor"
ok "doctor sees native XDP" grep -q 'ok .*native XDP' "$TMP/doctor"
ok "and who has the device" grep -q "offloaded by process" "$TMP/doctor"
ok "and a device that is not there" eval '! a "$TOOL" doctor nothere >/dev/null'
ok "explain names the device" grep -q "^$DEV_A: offloaded: driver veth" <(a "$TOOL" run --explain)
ok "a wrong setting is refused" eval '"$TOOL" run RX_POLL=fast true 2>/dev/null; [ $? = 2 ]'
ok "an unknown one too" eval '"$TOOL" run RX_POL=1 true 2>/dev/null; [ $? = 2 ]'
ok "one of the environment is told once, by the library" eval '[ "$(a env VMA_RX_POLL=fast "$TOOL" run -- \
	python3 -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind((\"$A4\", 0))" 2>&1 | grep -c "VMA_RX_POLL=.fast")" = 1 ]'
ok "a program that is not there" eval '"$TOOL" run /nonexistent 2>/dev/null; [ $? = 127 ]'
ok "the program's exit status is run's" eval '"$TOOL" run -- sh -c "exit 7"; [ $? = 7 ]'
# shellcheck disable=SC2016
printf 'exit $(($1 + ${LD_PRELOAD:+2}))\n' >"$TMP/plain" && chmod +x "$TMP/plain"
ok "a script without #! is the shell's" eval '"$TOOL" run "$TMP/plain" 7; [ $? = 9 ]'
# (A linker of musl ends a program into which a library of glibc is preloaded. This one is glibc's, by such a name.)
ln -s "$(gcc -print-file-name=ld-linux-x86-64.so.2)" "$TMP/ld-musl-x86_64.so.1"
printf '#include <stdlib.h>\nint main(void){return getenv("LD_PRELOAD") ? 1 : 3;}' |
	gcc -x c -Wl,--dynamic-linker="$TMP/ld-musl-x86_64.so.1" -o "$TMP/musl" - 2>/dev/null &&
	ok "a program of another C library is told, and run without the library" eval '"$TOOL" run "$TMP/musl" 2>"$TMP/err"; [ $? = 3 ] &&
		grep -q "another C library" "$TMP/err"'
printf 'int main(void){return 3;}' | gcc -x c -static -o "$TMP/static" - 2>/dev/null &&
	ok "a static program is told, and run" eval '"$TOOL" run "$TMP/static" 2>"$TMP/err"; [ $? = 3 ] &&
		grep -q "statically linked" "$TMP/err"'

bg a env SLUICE_STATS_FD_NUM=2 "$TOOL" run -- python3 -c 'import signal, socket, sys
all = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]
for s in all: s.bind((sys.argv[1], 0))
print("bound", flush=True)
signal.pause()' "$A4" >"$TMP/out" 2>/dev/null
wait_line "$TMP/out" bound
ok "STATS_FD_NUM=2: two of four sockets have counters" test "$(stat -c 1 -p "$(stat --list | sed -n 's/^ *\([0-9]*\).*python.*/\1/p')" | grep -c Rx:)" = 2
stop "$BG"
kill -9 "$SERVER"
for _ in $(seq 50); do
	kill -0 "$SERVER" 2>/dev/null || break
	sleep 0.1
done
ok "what a killed program left is removed" eval '[ -z "$(stat --list)" ] && ! ls "$TMP"/sluice.*.stats 2>/dev/null'
# With a program attached on the other side the device takes no such MTU.
mtu_says() { # MTU FRAME_SIZE WORDS
	b ip link set "$DEV_B" mtu "$1" && b env SLUICE_FRAME_SIZE="$2" "$TOOL" doctor "$DEV_B" | grep -A1 "more than $3 bytes go through the kernel"
}
if kernel_is 6.6; then
	ok "what comes in several frames is no finding" eval '! mtu_says 9000 2048 ".*"'
	ok "what does not, is" mtu_says 20000 auto 9216
else
	ok "what no frame holds has a remedy" eval 'mtu_says 9000 2048 1594 | grep -q "remedy: SLUICE_FRAME_SIZE"'
	ok "larger ones are taken by themselves" mtu_says 9000 auto 3642
fi
if b ip tuntap add dev tap0 mode tap 2>/dev/null && b ip link set tap0 mtu 9000 up && kernel_is 6.3; then
	ok "a driver that knows of one buffer" eval 'b "$TOOL" doctor tap0 | grep -A1 "one buffer alone" | grep -q "remedy: ip link set"'
fi
done_testing
