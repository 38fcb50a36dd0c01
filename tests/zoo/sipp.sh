#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sipp: 600 calls over one UDP socket, and over a TCP connection for each call.
. "$(dirname "$0")/lib.sh"
need sipp
net_up
mkdir "$TMP/cwd"
chmod 777 "$TMP/cwd"
server() { bg pb sh -c "cd $TMP/cwd && exec sipp -sn uas -i $B4 -p $PORT -t $KIND -nostdin -skip_rlimit"; }
talk() {
	cd "$TMP/cwd" || return
	timeout 60 sipp -sn uac -i "$A4" -p 5061 -t "$KIND" -max_socket 800 -r 200 -m 600 -d 20 -nostdin -skip_rlimit "$B4:$PORT" >out 2>&1
	echo "status $?"
	grep -E 'Successful call|Failed call' out | tail -n 2 | cut -d'|' -f1,3
}
export KIND
KIND=u1
zoo sipp_udp 5060 udp
KIND=tn
zoo sipp_tcp 5062 tcp
done_testing
