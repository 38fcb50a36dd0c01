#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What a route says to TCP: the MSS to announce (advmss), the first congestion window (initcwnd), the
# congestion control (congctl).
MODES=${MODES:-oracle one}
. "$(dirname "$0")/lib_tcp.sh"
net_up
b ip route replace "$NET4.0/24" dev "$DEV_B" src "$B4" advmss 900 initcwnd 25 congctl bbr
b ip -6 route replace "$A6/128" dev "$DEV_B" src "$B6" advmss 1000 initcwnd 5 congctl reno
tcp_differ metrics 40
done_testing
