#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# mosquitto: publishers and subscribers, retained messages, QoS 0, 1 and 2, a last will.
. "$(dirname "$0")/lib.sh"
need mosquitto mosquitto_pub mosquitto_sub
net_up
printf 'listener 1883 %s\nallow_anonymous true\npersistence false\nuser root\nlog_dest stderr\nlog_type subscribe\n' "$B4" >"$TMP/conf"
server() { bg pb mosquitto -c "$TMP/conf"; }
talk() {
	local q
	for q in 0 1 2; do
		timeout 20 mosquitto_sub -h "$B4" -p "$PORT" -q $q -t "t$q/#" -C 200 >"$TMP/sub.$q" &
		until grep -q "t$q/#" "$SAID"; do sleep 0.05; done
		seq 200 | mosquitto_pub -h "$B4" -p "$PORT" -q $q -t "t$q/x" -l
		wait
		wc -l <"$TMP/sub.$q"
		md5sum <"$TMP/sub.$q"
	done
	mosquitto_pub -h "$B4" -p "$PORT" -r -t kept -m retained
	timeout 20 mosquitto_sub -h "$B4" -p "$PORT" -t kept -C 1
	head -c 300000 /dev/zero | tr '\0' x >"$TMP/large"
	mosquitto_pub -h "$B4" -p "$PORT" -r -q 1 -t large -f "$TMP/large"
	timeout 20 mosquitto_sub -h "$B4" -p "$PORT" -t large -C 1 | md5sum
}
zoo mosquitto 1883
done_testing
