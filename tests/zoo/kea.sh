#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# kea: DHCP over IPv4 through a relay agent. The server reads the address and the device of each datagram (IP_PKTINFO),
# and sends its answer from there to a port that the client is bound to.
. "$(dirname "$0")/lib.sh"
need kea-dhcp4 python3
net_up
mkdir -m 777 "$TMP/kea"
export KEA_PIDFILE_DIR=$TMP/kea KEA_LOCKFILE_DIR=$TMP/kea
cat >"$TMP/kea.json" <<END
{"Dhcp4": {"interfaces-config": {"interfaces": ["$DEV_B/$B4"], "dhcp-socket-type": "udp"},
	"lease-database": {"type": "memfile", "persist": false},
	"subnet4": [{"subnet": "${B4%.*}.0/24", "pools": [{"pool": "${B4%.*}.100-${B4%.*}.120"}]}]}}
END
server() {
	rm -f "$TMP"/kea/*
	bg pb kea-dhcp4 -p 6767 -P 6768 -c "$TMP/kea.json"
}
talk() {
	python3 - "$A4" "$B4" <<-'END'
		import socket, struct, sys
		relay, server = sys.argv[1:]
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.bind((relay, 6768))
		s.settimeout(1)
		def ask(kind, number, options=b""):
		    mac = bytes([2, 0, 0, 0, 0, number])
		    message = struct.pack("!BBBBIHH12x4s", 1, 1, 6, 0, number, 0, 0, socket.inet_aton(relay)) + mac + bytes(202)
		    message += b"\x63\x82\x53\x63" + bytes([53, 1, kind]) + options + b"\xff"
		    for _ in range(8): # (a server that has just been bound answers nothing until it has its options)
		        s.sendto(message, (server, 6767))
		        try:
		            while True:
		                answer, peer = s.recvfrom(2000)
		                if answer[4:8] == message[4:8]:
		                    return answer, peer
		        except TimeoutError:
		            pass
		    sys.exit("no answer to %d" % number)
		for number in range(20):
		    offer, _ = ask(1, number)
		    options = b"\x32\x04" + offer[16:20] + b"\x36\x04" + socket.inet_aton(server)
		    ack, peer = ask(3, number, options)
		    print(number, offer[242], ack[242], offer[16:20] == ack[16:20], len(ack), peer == (server, 6767))
	END
}
zoo kea 6767 udp
done_testing
