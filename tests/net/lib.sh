# SPDX-License-Identifier: BSD-2-Clause
# The harness of the shell tests: hosts in network namespaces, joined by veth, and the programs on them.
#
# A test sources this file, calls net_up, runs programs on host a and host b, asserts, and ends
# with `done_testing`. Names carry the test's PID, so tests run side by side; a trap takes
# everything down, and what a killed test left behind is swept by the next one.
#
#   net_up [-m MTU] [-q QUEUES] [-t] [-w] [-c]
#       -m  MTU of the devices          -q  RX and TX queues of each device
#       -t  transmit checksum offload off ("tx off"): full checksums on the wire
#       -w  hosts joined through a middle namespace w, for tests/net/wire (implies -t, no GSO)
#       -c  a third host c, on a second network with b (10.X.Y+1.0/24, fd00:..:2::/64)
#
#   VERBS=1 gives a and b a simulated NIC each (tests/sim): preloaded programs send by verbs.
#   VLANS="5", or "100ad 5" for two tags, puts a and b on VLAN devices over the veth (LOW_A LOW_B); on
#   stand-ins where the kernel has none (tests/vlan; STAND_IN is set then).
#
#   After it: NS (prefix of the namespaces), DEV_A DEV_B, A4 B4 A6 B6 (addresses), BIN (test
#   programs), TMP (scratch directory, removed at exit).
#
#   a CMD.. / b CMD.. / w / c     run on that host, by the kernel's sockets
#   sa CMD.. / sb CMD..           the same, preloaded (SL_ENV holds the settings, NAME=value each)
#   pa CMD.. / pb CMD..           peer and subject by $MODE: kernel (neither preloaded),
#                                 one (b is), both
#   bg WHO CMD..                  in the background; BG is its PID, and the trap ends it
#   MODES                         the values for `for MODE in $MODES`: kernel, one, both; "oracle" becomes
#                                 kernel in a test that compares with the kernel, and is dropped in others
#
#   LEASED=1          preloaded programs run without privileges, through a daemon on their host (daemon_up)
#   RX=packet|xdp     how preloaded programs receive (SLUICE_RX_BACKEND); on a veth packet sockets are the default;
#                     verbs, with VERBS=1: by the simulated NICs
#
#   ok WHAT CMD..     passes if the command does; else the test fails (it goes on)
#   same WHAT A B     passes if the strings are equal
#   fail, skip, die   as they say
#
# shellcheck shell=bash

set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
# Debian's programs, not the wrappers that a developer may have in front of them.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
# Small steering tables: the kernel takes 0.1 s of CPU to make the large ones, and a test starts many programs.
export SLUICE_MAX_FLOWS=${SLUICE_MAX_FLOWS:-16384}
# These tests look at a socket right after bind(2), when by default its device may not be open yet (first_bind.sh and
# first_nonblock.sh have the default, and so have programs as they are: apps, preload).
case $0 in */net/* | */sim/* | */vm/*) export SLUICE_START=${SLUICE_START:-wait} ;; esac
TESTS=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
TOP=${TESTS%/*}
BUILD=${BUILD:-$TOP/build}
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
BIN=$BUILD/tests/net
PRELOAD=$BUILD/libsluice-preload.so
T_NAME=${0##*/} T_NAME=${T_NAME%.sh}
NS=sl$$
TMP=
PIDS=()
FAILED=0
PASSED=0
SL_ENV=()
[ -z "${RX:-}" ] || export SLUICE_RX_BACKEND=$RX
DAEMON_BY=()
MODE=${MODE:-kernel}

# Sets PRE to the environment that a preloaded program needs, also when the library was built with a sanitizer.
# (Each process that the harness itself starts takes 10 ms of a core: it starts none for this.)
find_env() { # [host]
	local pre=$PRELOAD nic=NIC_${1:-}
	PRE=()
	[ -z "${!nic:-}" ] || pre=$SIM_LIB:$pre
	case ${BUILD##*/} in
	*asan*)
		[ -n "${LIBASAN:-}" ] || LIBASAN=$(gcc -print-file-name=libasan.so)
		pre=$LIBASAN:$pre
		PRE+=("ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:abort_on_error=1:$ASAN_LOG"
			"UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:$ASAN_LOG")
		;;
	*tsan*) # only for programs built with it: they bring the runtime, which must be the only one
		PRE+=("TSAN_OPTIONS=halt_on_error=${TSAN_HALT:-1}:suppressions=$TESTS/net/tsan.supp:$ASAN_LOG")
		;;
	esac
	PRE+=("LD_PRELOAD=$pre")
	[ -z "${!nic:-}" ] || mapfile -t -O ${#PRE[@]} PRE < <(nic_env "$TMP/nic.$1" "${!nic}")
}
preload_env() { # [host]: prints it
	local PRE
	find_env "$@"
	printf '%s\n' "${PRE[@]}"
}

# Programs here end with sockets open, as programs do; the unit tests look for leaks.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}

# True: the script, or a script that sources it, compares runs with the kernel's run. (The kernel's run is needed
# each time, since its answers contain the addresses of this run.)
compares() {
	local f text words='\b(differ|(udp|tcp|ghost)_differ|tcp_round|segs_end|KERNELS)\b'
	for f in "${BASH_SOURCE[@]}"; do
		[[ ${f##*/} != lib*.sh ]] || continue
		IFS= read -rd '' text <"$f"
		[[ ! $text =~ $words ]] || return 0
	done
	return 1
}
if [ -n "${MODES:-}" ]; then
	if compares; then MODES=${MODES/oracle/kernel}; else MODES=${MODES/oracle /}; fi
elif [ -e "$PRELOAD" ]; then
	MODES="kernel one both"
else
	MODES=kernel
fi

# For a test whose peer is the kernel's in any case: "both" is "one" there, which it runs once.
peer_is_kernels() {
	case " $MODES " in
	*" one "*) MODES=${MODES/ both/} ;;
	*) MODES=${MODES/both/one} ;;
	esac
}

# Results --------------------------------------------------------------------------------------
say() { printf '%s\n' "$*"; }
pass() { PASSED=$((PASSED + 1)); say "ok: [$MODE] $*"; }
fail() { FAILED=$((FAILED + 1)); say "FAILED: [$MODE] $*"; }
die() { say "FAILED: [$MODE] $*"; exit 1; }
skip() { say "skipped: $*"; exit 77; }
ok() {
	local what=$1
	shift
	if "$@"; then pass "$what"; else fail "$what (failed: $*)"; fi
}
not() { ! "$@"; }
same() { # what, expected, got
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1"
		say "  expected: $(printf '%s' "$2" | head -c 2000)"
		say "  got:      $(printf '%s' "$3" | head -c 2000)"
	fi
}
# Runs a command and compares its output with that of the kernel's run, which comes first. A program
# that fails (status not 0) fails the test in any mode.
declare -A ORACLE=() # what the kernel's run said, by name
differ() { # name, command...
	local name=$1 out rc
	shift
	out=$("$@" 2>"$TMP/differ.err")
	rc=$?
	[ $rc = 0 ] || {
		fail "$name (status $rc)"
		printf '%s\n' "$out" | tail -n 8
		grep -v '^$' "$TMP/differ.err" | tail -n 12
		return
	}
	if [ "$MODE" = kernel ]; then
		printf '%s\n' "$out" >"$TMP/oracle.$name"
		ORACLE[$name]=$out
		ok "$name says something" test -n "$out"
	elif [ "$out" = "${ORACLE[$name]-}" ]; then # (as a rule; no process is needed to see that)
		pass "$name as on the kernel"
	elif [ ! -e "$TMP/oracle.$name" ]; then
		fail "$name: no oracle (MODES must begin with kernel)"
	elif printf '%s\n' "$out" | diff "$TMP/oracle.$name" - >"$TMP/diff"; then
		pass "$name as on the kernel"
	else
		fail "$name differs from the kernel (< kernel, > $MODE)"
		head -n ${DIFF_LINES:-30} "$TMP/diff"
	fi
}
done_testing() {
	[ -z "${SHOW_ORACLE:-}" ] || cat "$TMP"/oracle.* 2>/dev/null
	[ $((PASSED + FAILED)) -gt 0 ] || die "nothing was asserted"
	check_sanitizer
	[ "$FAILED" = 0 ] || { say "$FAILED assertions failed, $PASSED passed"; exit 1; }
	exit 0
}
need() {
	local p
	for p in "$@"; do
		command -v "$p" >/dev/null || [ -x "$p" ] || skip "$p is not here"
	done
}
need_built() { [ -e "$PRELOAD" ] && [ -x "$BUILD/sluice" ] || skip "library and tools are not built"; }
unsanitized() { # why the test is not for a build with sanitizers
	case ${BUILD##*/} in *san*) skip "$1" ;; esac
}

# Waiting: for a condition, never for a time ----------------------------------------------------
wait_until() { # seconds, command...
	local end=$((SECONDS + $1)) ms=10
	shift
	until "$@" 2>/dev/null; do
		[ $SECONDS -le $end ] || return 1
		nap $ms
		ms=$((ms < 80 ? ms + 10 : 80)) # (each process that the command starts takes milliseconds of a core)
	done
}
# Sleeps without a process of its own, by a FIFO that nobody writes to.
nap() { # milliseconds
	local s
	printf -v s %d.%03d $(($1 / 1000)) $(($1 % 1000))
	if [ -p "$TMP/nap" ]; then read -rt "$s" s <>"$TMP/nap"; else sleep "$s"; fi
}
# Waits at most that long until so many sockets (1) are bound to the port on that host; TCP's must listen.
bound() { "$BIN/bound" "/run/netns/$NS$1" "${@:2}"; } # host, seconds, udp or tcp, port [sockets]
udp_bound() { bound "$1" 0 udp "$2"; }
# Shows where the programs in the background stand and their output, after a wait for one of them has failed.
show_where() {
	local p t
	[ -z "${BG:-}" ] || ! gone "$BG" || say "pid $BG has ended: $(wait "$BG"; echo $?)"
	tail -n 5 "$TMP/a" "$TMP/b" 2>/dev/null
	for p in "${PIDS[@]}"; do
		for t in /proc/"$p"/task/*; do
			[ -e "$t/stack" ] || continue
			say "--- $p $(cat "$t/comm"): $(cat "$t/syscall")"
			cat "$t/stack"
		done 2>/dev/null
	done
}
wait_udp() { bound "$1" "${3:-30}" udp "$2" || { show_where; die "nobody binds UDP port $2 on $1"; }; }
wait_tcp() { bound "$1" "${3:-30}" tcp "$2" || { show_where; die "nobody listens on TCP port $2 on $1"; }; }
file_has() { # file, pattern
	local lines
	case $2 in
	*[!A-Za-z0-9\ ]*) grep -q -e "$2" "$1" ;; # (any other pattern is asked for without a process)
	*) mapfile -t lines <"$1" && [[ "${lines[*]}" == *"$2"* ]] ;;
	esac
}
# True: a line of a log of this test's programs (their SLUICE_LOG_FILE) matches the pattern.
logged() { grep -qs -e "$1" "$TMP"/sluice.*.log; }
wait_line() { wait_until "${3:-30}" file_has "$1" "$2" || die "$1 never said: $2"; }
# The file of a program (steady) whose second word counts: prints it; sets COUNT to it, without a process. (The program
# writes the file while it is read: a file that is empty just then is read as 0.)
answered() { count_of "$1"; echo "$COUNT"; } # file
count_of() {
	COUNT=
	read -r _ COUNT _ <"$1"
	COUNT=${COUNT:-0}
} 2>/dev/null
grows() { count_of "$1"; [ "$COUNT" -ge "$2" ]; } # file, count
gone() { ! kill -0 "$1" 2>/dev/null; }
# Waits until a program ends by itself, and returns its status.
wait_end() { # pid [seconds]
	wait_until "${2:-60}" gone "$1" || { say "pid $1 does not end"; kill -9 "$1"; wait "$1" 2>/dev/null; return 124; }
	wait "$1"
}
stop() { # pid...: by SIGTERM, and after 10 s by SIGKILL
	local p
	for p in "$@"; do
		kill "$p" 2>/dev/null
		wait_until 10 gone "$p" || { fail "pid $p ignores SIGTERM"; kill -9 "$p" 2>/dev/null; }
		wait "$p" 2>/dev/null
	done
	return 0
}

# Running ----------------------------------------------------------------------------------------
in_ns() { # replaces this (sub)shell
	local who=$1 host=${1#s}
	shift
	local PRE=() by=()
	if [ "$who" != "$host" ]; then
		find_env "$host"
		PRE+=("SLUICE_LOG_FILE=$TMP/sluice.%d.log" "${SL_ENV[@]}")
		if [ -n "${LEASED:-}" ]; then
			by=(-u "${LEASED_UID:-65534}" 65534)
			PRE=("SLUICE_DAEMON=$TMP/sluiced.$host" "${PRE[@]}")
			[ -z "${LEASED_CAPS:-}" ] || exec "$BIN/within" "/run/netns/$NS$host" -- setpriv --reuid="${by[1]}" --regid=65534 \
				--clear-groups --bounding-set="-all$LEASED_CAPS" --no-new-privs "--inh-caps=${LEASED_CAPS#,}" \
				"--ambient-caps=${LEASED_CAPS#,}" env "${PRE[@]}" "$@"
		fi
	fi
	exec "$BIN/within" "${by[@]}" "/run/netns/$NS$host" "${PRE[@]}" -- "$@"
}
a() { (in_ns a "$@"); }
b() { (in_ns b "$@"); }
c() { (in_ns c "$@"); }
w() { (in_ns w "$@"); }
sa() { (in_ns sa "$@"); }
sb() { (in_ns sb "$@"); }
pick() { # pa or pb: sets WHO to the host's command that runs in this mode
	case $1:$MODE in
	pa:both) WHO=sa ;;
	pb:one | pb:both) WHO=sb ;;
	pa:*) WHO=a ;;
	pb:*) WHO=b ;;
	*) WHO=$1 ;;
	esac
}
by_mode() { pick "$1" && echo "$WHO"; } # prints it
pa() { (pick pa && in_ns "$WHO" "$@"); }
pb() { (pick pb && in_ns "$WHO" "$@"); }
bg() {
	local WHO
	pick "$1"
	shift
	(in_ns "$WHO" "$@") <&0 &
	BG=$!
	PIDS+=("$BG")
}

# A counter of the kernel's UDP on a host. Offloaded datagrams are not counted.
udp_stat() { "$BIN/counters" Udp "$2" "/run/netns/$NS$1"; } # host, column (InDatagrams OutDatagrams NoPorts RcvbufErrors ...)

# Asserts that at most a tenth of N datagrams went through the kernel of host b, when b is preloaded:
# so the test has tested the library, not its fall-back to the kernel.
offload_begin() { K_IN=$(udp_stat b InDatagrams); }
offload_end() { # number of datagrams received by b
	[ "$MODE" != kernel ] || return 0
	local in
	in=$(($(udp_stat b InDatagrams) - K_IN))
	ok "$in of $1 datagrams came through b's kernel" test $((in * 10)) -le "$1"
}

# The network --------------------------------------------------------------------------------------
sweep() { # namespaces and pins of dead tests
	local ns pid p
	for ns in /run/netns/sl[0-9]*; do
		ns=${ns##*/}
		pid=${ns#sl}
		pid=${pid%[a-z]}
		case $pid in '' | *[!0-9]*) continue ;; esac
		kill -0 "$pid" 2>/dev/null && continue
		for p in $(ip netns pids "$ns" 2>/dev/null); do kill -9 "$p" 2>/dev/null; done
		ip netns del "$ns" 2>/dev/null
		rm -rf /sys/fs/bpf/sluice/v"$pid"[a-z]*
	done
}

net_down() {
	local p h there=()
	# (Not PIDS: the number of a program that has ended may be another test's by now.)
	for p in $(jobs -pr); do kill -9 "$p" 2>/dev/null; done
	for h in a b c w; do
		[ ! -e "/run/netns/$NS$h" ] || there+=("$NS$h")
	done
	for p in $(printf 'netns pids %s\n' "${there[@]}" | ip -force -batch -); do kill -9 "$p"; done
	for h in "${there[@]}"; do
		[ -z "${LINKS:-}" ] || leave_nics "$h"
	done
	[ ${#there[@]} = 0 ] || ip -force -batch - < <(printf 'netns del %s\n' "${there[@]}")
	! compgen -G "/sys/fs/bpf/sluice/v$$[a-z]*" || rm -rf /sys/fs/bpf/sluice/v$$[a-z]*
}

at_exit() {
	local rc=$?
	trap - EXIT INT TERM HUP
	[ "$rc" != 0 ] && [ "$rc" != 77 ] && show_logs
	net_down >/dev/null 2>&1
	[ -n "$TMP" ] && rm -rf "$TMP"
	exit "$rc"
}

show_logs() { # prints the library's logs of a failed test
	local f
	for f in "$TMP"/sluice.*.log "$TMP"/san.*; do
		[ -s "$f" ] || continue
		say "--- $(basename "$f")"
		tail -n "${SHOW_LINES:-40}" "$f"
	done
}

# A sanitizer's report is a failure whatever the program's exit status was.
check_sanitizer() { ! compgen -G "$TMP/san.*" >/dev/null || fail "a sanitizer reported"; }

hosts_up() { # letters: makes their namespaces, and TMP
	local h
	for h in "$@"; do echo "netns add $NS$h"; done | ip -batch - || skip "cannot make network namespaces"
	TMP=$(exec "$BIN/hosts" "${TMPDIR:-/tmp}" "${@/#//run/netns/$NS}") || die "the namespaces cannot be set up"
}

# Joins hosts $1 and $2 by a veth pair named $3 and $4; the rest goes to `ip link add`. In a guest
# (tests/vm) hosts may be joined by NICs.
join() {
	local h1=$1 h2=$2 d1=$3 d2=$4 q=$5 mtu=$6
	if [ -n "${LINKS:-}" ]; then
		. "$TESTS/vm/lib_links.sh"
		join_nics "$@"
		return
	fi
	ip link add "$d1" netns "$NS$h1" mtu "$mtu" numrxqueues "$q" numtxqueues "$q" type veth \
		peer name "$d2" netns "$NS$h2" mtu "$mtu" numrxqueues "$q" numtxqueues "$q" ||
		skip "cannot make veth devices"
}

net_up() {
	local opt mounts mtu=${NET_MTU:-1500} queues=1 txoff= wire= third= h dev OPTIND=1
	while getopts m:q:twc opt; do
		case $opt in
		m) mtu=$OPTARG ;;
		q) queues=$OPTARG ;;
		t) txoff=1 ;;
		w) wire=1 txoff=1 ;;
		c) third=1 ;;
		*) die "net_up: unknown option" ;;
		esac
	done
	[ "$EUID" = 0 ] || skip "needs root"
	need ip ss nsenter
	mapfile -t mounts </proc/mounts
	[[ "${mounts[*]}" == *" /sys/fs/bpf bpf "* ]] || mount -t bpf bpf /sys/fs/bpf 2>/dev/null
	sweep
	trap at_exit EXIT
	trap 'exit 130' INT TERM HUP
	hosts_up a b ${wire:+w} ${third:+c}
	export SLUICE_STATS_SHMEM_DIR=${SLUICE_STATS_SHMEM_DIR:-$TMP/stats} # killed programs leave their files
	ASAN_LOG=log_path=$TMP/san
	local x=$(($$ / 250 % 250 + 1)) y=$(($$ % 250 + 1))
	NET4=10.$x.$y NET6=fd00:$x:$y
	A4=$NET4.1 B4=$NET4.2 A6=$NET6::1 B6=$NET6::2
	DEV_A=v$$a DEV_B=v$$b
	if [ -n "$wire" ]; then
		w sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv6.conf.all.disable_ipv6=1
		WIRE_A=v$$x WIRE_B=v$$y
		join a w "$DEV_A" "$WIRE_A" "$queues" "$mtu"
		join b w "$DEV_B" "$WIRE_B" "$queues" "$mtu"
		ip -n "${NS}w" link set "$WIRE_A" up
		ip -n "${NS}w" link set "$WIRE_B" up
	else
		join a b "$DEV_A" "$DEV_B" "$queues" "$mtu"
	fi
	LOW_A=$DEV_A LOW_B=$DEV_B
	for h in ${VLANS:-}; do
		vlan_up a "$DEV_A" "$h" && vlan_up b "$DEV_B" "$h" ||
			skip "the kernel has no VLAN devices (802.1Q)"
		DEV_A=$DEV_A.$h DEV_B=$DEV_B.$h
	done
	addr_up a "$DEV_A" "$A4/24" "$A6/64"
	addr_up b "$DEV_B" "$B4/24" "$B6/64"
	if [ -n "$third" ]; then
		DEV_BC=v$$d DEV_C=v$$c
		local z=10.$x.$((y + 1))
		B4C=$z.2 C4=$z.3 B6C=$NET6:2::2 C6=$NET6:2::3
		join b c "$DEV_BC" "$DEV_C" "$queues" "$mtu"
		addr_up b "$DEV_BC" "$B4C/24" "$B6C/64"
		addr_up c "$DEV_C" "$C4/24" "$C6/64"
	fi
	for h in ${txoff:+a:$DEV_A b:$DEV_B}; do
		dev=${h#*:}
		"${h%%:*}" ethtool -K "$dev" tx off tso off gso off gro off >/dev/null 2>&1
	done
	wait_until 10 link_is_up a "$DEV_A" && wait_until 10 link_is_up b "$DEV_B" ||
		die "the links do not come up"
	if [ -n "${VERBS:-}" ]; then
		. "$TESTS/sim/lib_nic.sh"
		sim_need
		nic_up a "$LOW_A" && nic_up b "$LOW_B"
	fi
	[ -z "${LEASED:-}" ] || kernel_is 5.14 || skip "sluiced needs Linux 5.14 (SO_NETNS_COOKIE)"
	[ -z "${LEASED:-}" ] || [ -n "${ONE_LEASE:-}" ] || lends_rings || skip "before Linux 6.4 the daemon serves one process at a time"
	# (The user nobody, too, must be able to open the files by which a test's programs talk to each other.)
	[ -z "${LEASED:-}" ] || umask 0
	[ -z "${LEASED:-}" ] || for h in a b ${third:+c}; do daemon_up "$h"; done
}
# LEASED=1: preloaded programs run as a user without privileges (except LEASED_CAPS, ",+net_raw"), through a daemon on
# their host. ONE_LEASE=1: the test needs one leased process on a host at a time. DAEMON_BY: the command that runs b's
# daemon (tests/net/steering_nic.c).

# For tests of settings: host b has the library, with its counters in TMP, and a reflector is at A4, port 7000.
settings_up() { # programs that the test needs
	net_up
	need python3 "$@"
	need_built
	MODE=one
	export SLUICE_STATS_SHMEM_DIR=$TMP
	bg a python3 "$TESTS/net/reflector.py" "$A4" 7000 1
	wait_udp a 7000
}
mcast_routes() { # hosts a and b send multicasts by the device between them
	ip -n "${NS}a" route add 224.0.0.0/4 dev "$DEV_A"
	ip -n "${NS}b" route add 224.0.0.0/4 dev "$DEV_B"
}

# True: the kernel can map the rings of a bound socket (xsk_mmap()), so the daemon serves several processes.
lends_rings() { kernel_is 6.4; }
kernel_is() { # 5.14: true for that one and for newer ones
	local major minor
	IFS=.- read -r major minor _ </proc/sys/kernel/osrelease
	[ "$major" -gt "${1%%.*}" ] || { [ "$major" = "${1%%.*}" ] && [ "$minor" -ge "${1#*.}" ]; }
}
daemon_up() { # host [policy lines]
	local h=$1
	chmod 777 "$TMP"
	printf '%s\n' "${2:-allow user *}" >"$TMP/sluiced.$h.conf"
	"$h" env "ASAN_OPTIONS=detect_leaks=0:$ASAN_LOG" "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:$ASAN_LOG" \
		"${DAEMON_BY[@]}" "${SLUICED:-$BUILD/sluiced}" --socket "$TMP/sluiced.$h" --policy "$TMP/sluiced.$h.conf" 2>>"$TMP/sluice.d$h.log" &
	eval "DAEMON_$h=$!"
	wait_until 10 test -S "$TMP/sluiced.$h" || { cat "$TMP/sluice.d$h.log"; die "the daemon of $h does not start"; }
}
addr_up() { # host, device, addresses...
	local h=$1 dev=$2 addr lines=
	shift 2
	for addr in "$@"; do
		case $addr in
		*:*) lines+="addr add $addr dev $dev nodad"$'\n' ;;
		*) lines+="addr add $addr dev $dev"$'\n' ;;
		esac
	done
	ip -n "$NS$h" -force -batch - <<<"link set lo up"$'\n'"${lines}link set $dev up"
}
vlan_up() { # host, device, VID ("100ad": of 802.1ad)
	local proto=802.1Q
	[ "${3%ad}" = "$3" ] || proto=802.1ad
	ip -n "$NS$1" link set "$2" up &&
		{ ip -n "$NS$1" link add link "$2" name "$2.$3" type vlan proto $proto id "${3%ad}" 2>/dev/null ||
			vlan_stand_in "$@"; }
}
vlan_stand_in() { # as vlan_up; not over a guest's NICs (tests/vm), whose kernels have VLAN devices
	local dir=$BUILD/tests/vlan mac peer
	[ -e "$dir/libsluice.so" ] && [ -z "${LINKS:-}" ] || return
	mac=$("$1" ip -o link show "$2" | sed "s/.*ether //; s/ .*//")
	peer=t$3.$("$1" ip -o link show "$2" | cut -d: -f1)
	ip -n "$NS$1" link add "$2.$3" address "$mac" type veth peer name "$peer" &&
		ip -n "$NS$1" link set "$peer" addrgenmode none up && "$1" "$dir/device" "$dir/tags.bpf.o" "$2" "$peer" "$3" || return
	STAND_IN=1 PRELOAD=$dir/libsluice-preload.so SLUICED=$dir/sluiced
}
no_tcx() { # from here on programs and the daemon take the kernel for one without tcx
	export NO_TCX=1
	PRELOAD=$BUILD/tests/vlan/libsluice-preload.so SLUICED=$BUILD/tests/vlan/sluiced
}
vxlan_up() { # host, name, vni, local, remote, device, address
	ip -n "$NS$1" link add "$2" type vxlan id "$3" dstport 4789 local "$4" remote "$5" dev "$6" &&
		ip -n "$NS$1" addr add "$7/24" dev "$2" && ip -n "$NS$1" link set "$2" up
}
vlan_qos() { # host, VLAN device, FROM:TO...: its egress-qos-map, with 0 for TO in entries that go
	local h=$1 dev=$2 dir=$BUILD/tests/vlan lower=${2%.*}
	shift 2
	if [ -n "${STAND_IN:-}" ]; then
		"$h" "$dir/device" "$dir/tags.bpf.o" "$lower" "t${dev##*.}.$("$h" ip -o link show "$lower" | cut -d: -f1)" \
			"${dev##*.}" "$@" && ip -n "$NS$h" link set "$dev" alias "qos $*"
	else
		ip -n "$NS$h" link set "$dev" type vlan egress-qos-map "$@"
	fi
}
has_xdp() { b ip link show "$DEV_B" | grep -q xdp; } # true: an XDP program is on b's device
link_is_up() { [[ $(ip -n "$NS$1" -o link show "$2") == *LOWER_UP* ]]; }

# The wire of net_up -w: starts it with the options and waits until it passes packets.
wire_up() {
	# On one core: the kernel has a queue for each core, so a program that moves to another one reorders packets.
	bg w taskset -c 0 "$BIN/wire" "$WIRE_A" "$WIRE_B" "$@" 2>"$TMP/wire"
	WIRE=$BG
	wait_line "$TMP/wire" ready
}
wire_down() { # leaves the wire's statistics in $TMP/wire
	stop "$WIRE"
}
wire_stat() { # direction, name
	awk -v dir="$1" -v name="$2" '$1 == dir { for (i = 2; i < NF; i += 2) if ($i == name) v = $(i + 1) }
		END { print v + 0 }' "$TMP/wire"
}

# Runs PROGRAM.py OWN PEER PORT [ARGS] on b in every mode and for both families, a reflector with
# NPORTS ports on a, and compares with the kernel. b must receive at least OFFLOADED datagrams,
# and at most a tenth of them may come through the kernel ("": not checked).
udp_differ() { # PROGRAM NPORTS OFFLOADED [ARGS...]
	local program=$1 nports=$2 offloaded=$3 fam peer own
	shift 3
	need python3
	for MODE in $MODES; do
		for fam in ${FAMILIES:-4 6}; do
			peer=A$fam own=B$fam
			bg pa python3 "$TESTS/net/reflector.py" "${!peer}" 7000 "$nports"
			wait_udp a $((7000 + nports - 1))
			offload_begin
			differ "$program$fam" pb python3 "$TESTS/net/$program.py" "${!own}" "${!peer}" \
				7000 "$@"
			[ -n "$offloaded" ] && offload_end "$offloaded"
			stop "$BG"
		done
	done
}
# Bytes that wait in the kernel's receive queues of a port.
udp_queued() { "$1" ss -Hanu "sport = :$2" | awk '{ n += $2 } END { print n + 0 }'; }
