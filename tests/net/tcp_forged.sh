#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Forged segments of offloaded connections, in fragments, so that the kernel gets them and has no socket for them: nobody
# who only knows addresses and ports moves a connection to the kernel, resets it, or has later ones go there.
# (tcp_fragments.sh: the peer's own do move it.)
. "$(dirname "$0")/lib_tcp.sh"
net_up -t
. "$(dirname "$0")/lib_swarm.sh"
guarded || skip "$GUARD_NOTE"
need python3
# Host a's end is the kernel's: ss tells its ports.
case " $MODES " in *" one "*) MODES=${MODES/both/} ;; *) MODES=${MODES/both/one} ;; esac
mac=$(ip -n "${NS}b" -j link show "$DEV_B" | sed 's/.*"address":"\([^"]*\)".*/\1/')
reassembled() { b awk '$1 == "Ip:" && !n { for (i = 2; i <= NF; i++) if ($i == "ReasmOKs") n = i; next }
	$1 == "Ip:" { r += $n } END { print r + 0 }' /proc/net/snmp; b awk '$1 == "Ip6ReasmOKs" { print $2 }' /proc/net/snmp6; }
sum() { awk '{ n += $1 } END { print n }'; }
# (Not those that a forged SYN begins there, without end.)
moved() { b ss -Htn state connected exclude time-wait exclude syn-recv "( sport = :$PORT or dport = :$PORT )" | wc -l; }
# The ports of host a's end and of b's, of each connection.
ends() { a ss -Htn state established "( sport = :$PORT or dport = :$PORT )" | awk '{ n = split($3, l, ":"); m = split($4, p, ":"); print l[n], p[m] }'; }
for MODE in $MODES; do
	for how in "listen 4 server" "connect 6 client"; do
		read -r role fam name <<<"$how"
		WHAT="forged fragments, $name"
		begin $role $fam
		before=$(reassembled | sum)
		from=A$fam to=B$fam
		i=0
		while read -r theirs ours; do
			bg a python3 "$TESTS/net/tcp_forged.py" "$DEV_A" "$mac" "${!from}" "${!to}" "$ours" 8 "$theirs" >"$TMP/forged.$i"
			FORGERS[i]=$BG
			i=$((i + 1))
		done < <(ends)
		ok "$WHAT: connections to attack" test $i -ge $((N / 2))
		for f in "${FORGERS[@]:0:i}"; do wait_end "$f" 30 || fail "$WHAT: the forger failed"; done
		n=$(($(reassembled | sum) - before))
		ok "$WHAT: the kernel got $n" test $n -gt 500
		same "$WHAT: still offloaded" 0 "$(moved)"
		end
		[ $role = listen ] && continue
		# The library remembers no peer as one whose segments stray.
		WHAT="afterwards"
		begin $role $fam
		end
	done
done
done_testing
