. "$(dirname "$0")/lib_tcp.sh"
. /tmp/hand-diag.sh
net_up
SLUICE=$BUILD/sluice
MODE=both
	bg pa python3 "$TESTS/net/tcp_soak.py" server "$A4" 6999
	OTHER=$BG
	wait_tcp a 6999
tcpdump() { :; }
bg b /usr/bin/tcpdump -i $DEV_B -U -w /tmp/hand-b.pcap port 6999
for i in $(seq ${LOOPS:-20}); do
	WHAT="connecting while the steering program is taken off"
	bg pb python3 "$TESTS/net/tcp_soak.py" client "$A4" 6999 2.5 >"$TMP/b" 2>&1
	SUBJECT=$BG
	sleep 1.$((RANDOM % 10))
	ok "$WHAT: done" b ip link set dev "$DEV_B" xdp off
wait_until 8 gone $SUBJECT || diag; 	ok "$WHAT: it goes on" wait_end "$SUBJECT" 30
	pass "$WHAT: $(head -n 1 "$TMP/b")"
done
done_testing
