# SPDX-License-Identifier: BSD-2-Clause
# The zoo: servers of others, each run by the kernel first and then preloaded, with a client's transcript of both
# compared. A script defines
#
#   server     runs the server in the foreground on host b (with `exec`-like words: it is called as `bg pb`)
#   talk       what a client on host a does; its output must be the same in each mode (a function of its own shell:
#              $B4, $B6, $PORT and $TMP are there)
#   rate       optional: prints requests a second, measured on host a
#
# and calls `zoo NAME PORT [udp]`. After the talk the server is left alone: the CPU time of all programs on host b in
# IDLE_MS must not exceed twice the kernel's by more than IDLE_SPARE_US (what a thread may poll after a burst).
# shellcheck shell=bash source=../apps/lib_tcp.sh
. "$(dirname "${BASH_SOURCE[0]}")/../apps/lib_tcp.sh"
IDLE_MS=2000
IDLE_SPARE_US=10000
declare -A IDLE_OF RATE_OF

# Makes files of these sizes in $TMP/www, each named by its size.
files() { # bytes...
	local n
	mkdir -p "$TMP/www"
	for n in "$@"; do head -c "$n" /dev/urandom >"$TMP/www/$n"; done
}
# Serves $TMP/www on port 8081 of host a, for a server that stands before another.
web_behind() {
	bg a python3 -m http.server --bind "$A4" --directory "$TMP/www" 8081 2>/dev/null
	wait_tcp a 8081
}
# Hosts, and a database of PostgreSQL that trusts both; POSTGRES and "-h ADDRESS" serve it on port 5433.
postgres_made() {
	local dir
	local as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
	dir=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
	[ -x "$dir/postgres" ] || skip "PostgreSQL is not here"
	net_up
	chmod 755 "$TMP"
	mkdir "$TMP/run" && chown postgres "$TMP/run"
	"${as[@]}" "$dir/initdb" -D "$TMP/run/db" -A trust -U postgres >/dev/null || die "initdb"
	echo "host all all $A4/16 trust" >>"$TMP/run/db/pg_hba.conf"
	POSTGRES=("${as[@]}" "$dir/postgres" -D "$TMP/run/db" -p 5433 -k "$TMP/run" -c fsync=off -c shared_buffers=16MB)
}
# Makes $TMP/test.zone, and $TMP/queries for dnsperf.
dns_zone() {
	{
		printf '$ORIGIN test.\n@ 3600 SOA ns hostmaster 1 3600 600 86400 300\n@ 3600 NS ns\nns 3600 A %s\n' "$B4"
		for i in $(seq 200); do echo "host$i 3600 A 192.0.2.$i"; done
		printf 'long 3600 TXT %s %s %s\n' "$(printf 'x%.0s' {1..250})" "$(printf 'y%.0s' {1..250})" "$(printf 'z%.0s' {1..250})"
	} >"$TMP/test.zone"
	for i in $(seq 100); do echo "host$i.test A"; done >"$TMP/queries"
}

# Prints the CPU time of all programs on host b, in microseconds.
cpu_of_b() {
	local p files=()
	for p in $(ip netns pids "${NS}b"); do files+=(/proc/"$p"/task/*/schedstat); done
	cat "${files[@]}" 2>/dev/null | awk '{ ns += $1 } END { printf "%d\n", ns / 1000 }'
}
idles() { # name
	local before after
	nap 300
	before=$(cpu_of_b)
	nap "$IDLE_MS"
	after=$(($(cpu_of_b) - before))
	if [ "$MODE" = kernel ]; then
		IDLE_OF[$1]=$after
	elif server_is_ours; then
		ok "$1: idle for $IDLE_MS ms it takes $after us of CPU, by the kernel ${IDLE_OF[$1]:-0}" \
			test "$after" -le $((${IDLE_OF[$1]:-0} * 2 + IDLE_SPARE_US))
	fi
}
# Says how many sockets of the programs on host b are offloaded, and the reasons of the others; none may be without.
offloads_what() { # name
	local p all=
	server_is_ours || return 0
	for p in $(ip netns pids "${NS}b"); do all+=$("$TOOL" stat -p "$p" --json 2>/dev/null); done
	printf '%s' "$all" | python3 -c '
import json, sys
text, sockets, decoder = sys.stdin.read().strip(), [], json.JSONDecoder()
while text:
	part, end = decoder.raw_decode(text)
	sockets += part.get("sockets", [])
	text = text[end:].lstrip()
ours = sum(1 for s in sockets if s.get("offloaded"))
reasons = sorted({s.get("reason") or "" for s in sockets if not s.get("offloaded")})
print("    %s: %d of %d sockets offloaded%s" % (sys.argv[1], ours, len(sockets), "; others: " + ", ".join(reasons) if reasons else ""))
' "$1"
}
rates() { # name
	local got
	declare -F rate >/dev/null || return 0
	got=$(pa bash -c rate)
	ok "$1: it has a rate" test "${got%.*}" -gt 0
	[ "$MODE" != kernel ] || RATE_OF[$1]=$got
	say "    $1: $got a second, $(awk "BEGIN { printf \"%.2f\", $got / ${RATE_OF[$1]:-1} }") of the kernel's"
}
is_there() { case $2 in tcp) bound b 0 tcp "$1" ;; udp) bound b 0 udp "$1" ;; esac }
zoo() { # name, port, tcp or udp
	local name=$1 kind=${3:-tcp}
	export PORT=$2 TMP B4 B6 A4 A6
	export -f talk
	! declare -F rate >/dev/null || export -f rate
	[ -z "${LEASED:-}" ] || chmod -R a+rwX "$TMP" # (by the daemon programs are nobody's)
	for MODE in $MODES; do
		SAID=$(said server) # (what the server says)
		export SAID
		server >"$(said server)" 2>&1
		SERVER=$BG
		if ! wait_until 60 is_there "$PORT" "$kind"; then
			fail "$name does not listen"
			tail -n 15 "$(said server)"
			stop "$SERVER"
			continue
		fi
		differ "$name" pa bash -c talk
		offloads_what "$name"
		rates "$name"
		idles "$name"
		alive "$SERVER" "$name"
		stop "$SERVER"
		! declare -F after >/dev/null || after
	done
}
