#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# dnsmasq: one process, one thread; a child for each query by TCP.
. "$(dirname "$0")/lib.sh"
need dnsmasq dig
net_up
server() {
	bg pb dnsmasq -k -d -C /dev/null -a "$B4" --bind-interfaces -p 5353 --no-resolv --no-hosts -u nobody \
		--pid-file= --address=/x.test/192.0.2.1 --host-record=h.test,192.0.2.2,2001:db8::1 \
		--txt-record="t.test,$(printf 'y%.0s' {1..200}),$(printf 'z%.0s' {1..250})"
}
talk() {
	local ask=(dig +time=5 +tries=2 +short @"$B4" -p "$PORT") of
	for of in "x.test A" "h.test AAAA" "t.test TXT" "none.test A"; do
		"${ask[@]}" "${of% *}" "${of#* }" | sort
		"${ask[@]}" +tcp "${of% *}" "${of#* }" | sort
	done
	dig +time=5 +bufsize=512 +ignore @"$B4" -p "$PORT" t.test TXT | grep -o 'flags: [a-z ]*'
	seq 8 | xargs -P 4 -I{} "${ask[@]}" +tcp x.test A | sort | uniq -c
}
zoo dnsmasq 5353
done_testing
