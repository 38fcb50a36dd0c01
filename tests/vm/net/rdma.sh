#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sluice doctor --rdma and --rdma-server pass each of their steps over the kernel's own RoCE (rxe), and name the
# cause and the remedy of steps that fail. Both ends have one device: rxe loops packets to its own address back.
. "$(dirname "$0")/../lib.sh"
CM=${VM_CACHE:-$HOME/.cache/sluice-vm}/qemu/usr/lib/x86_64-linux-gnu/librdmacm.so.1
[ -e "$CM" ] || CM=$(find /usr/lib -name librdmacm.so.1 | head -n 1)
[ -n "$CM" ] || skip "there is no librdmacm"
modprobe -a veth rdma_rxe ib_uverbs || skip "the guest's kernel has no rxe"
mkdir "$TMP/cm"
cp -L "$CM" "$TMP/cm/librdmacm.so.1" || die "librdmacm is not copied"
ip link add r0 type veth peer name r1
ip addr add 10.7.0.1/24 dev r0
ip link set r0 up
ip link set r1 up
ip addr add 10.8.0.1/24 dev r1

doctor() { LD_LIBRARY_PATH=$TMP/cm timeout 60 "$BUILD/sluice" doctor "$@"; }
serve() { # arguments of the server, which gets SIGTERM itself
	LD_LIBRARY_PATH=$TMP/cm "$BUILD/sluice" doctor --rdma-server 10.7.0.1 "$@" >"$TMP/server" 2>&1 &
	SERVER=$!
	wait_until 20 grep -q serves "$TMP/server" || die "the server does not start: $(cat "$TMP/server")"
}
ask() { doctor --rdma 10.7.0.1 "$@" >"$TMP/client" 2>&1; }
has() { # file text
	if grep -qE -- "$2" "$TMP/$1"; then pass "the $1 says: $2"; else fail "the $1 never says: $2: $(cat "$TMP/$1")"; fi
}

ok "the client fails without a connection manager" not ask
has client "MEND  rdma_create_event_channel: "
has client "modprobe rdma_ucm"
modprobe rdma_ucm || skip "the guest's kernel has no rdma_ucm"
ok "the client fails without an RDMA device" not ask
has client "MEND  rdma_create_event_channel: there is no RDMA device"
has client "rdma link add rxe0"
rdma link add rxe0 type rxe netdev r0 || die "there is no rxe0"
doctor --rdma 10.8.0.1 >"$TMP/client" 2>&1
same "the status for a device without RDMA" 1 $?
has client "MEND  rdma_resolve_addr: the route's device has no RDMA device"
ok "the client fails without a server" not ask
has client "MEND  rdma_connect: nobody serves the test there"

serve
ok "the client's status" ask --count 200 --bytes 100 --ack-timeout 15
has client "by RDMA device rxe0"
has client "the peer has answered .CONNECT_RESPONSE., queue pair [1-9]"
has client "time-out is 15 .134.218 ms., as asked for"
has client "established by the program"
has client "connected, 200 messages of 100 bytes there and back: p50 [0-9.]+ us"
has client "datagrams, 200 messages of 100 bytes there and back: p50 [0-9.]+ us"
has client "no loss: 200 of 200 datagrams"
ok "a second client" ask --count 10
has server "10.7.0.1: 200 messages and 200 datagrams sent back"

doctor --rdma 10.7.0.1 --count 1000000 >"$TMP/long" 2>&1 &
LONG=$!
sleep 1
ok "the client fails beside another client" not ask --count 10
has client "MEND  rdma_connect: the server tests with another client"
kill -TERM $SERVER
wait $SERVER
same "a server that is told to end ends with status" 0 $?
wait $LONG
same "the status of its client" 1 $?
has long "MEND  completion: "

serve --once
ok "a client of a server that serves one" ask --count 10
wait $SERVER
same "that server's status" 0 $?
serve
kill -TERM $SERVER
wait $SERVER
same "the status of a server without a client" 0 $?
cat "$TMP/client" "$TMP/long"
kernel_quiet
done_testing
