#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program built with AddressSanitizer starts under `sluice run`, and is offloaded.
. "$(dirname "$0")/lib.sh"
need gcc "$PBIN/peer" "$BUILD/sluice"
unsanitized "one sanitizer is enough"
net_up
cat >"$TMP/asan.c" <<'C'
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(7000)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char *b = malloc(5);
	inet_pton(AF_INET, argv[1], &to.sin_addr);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) || send(fd, "hello", 5, 0) != 5)
		return 1;
	printf("%zd\n", recv(fd, b, 5, MSG_WAITALL));
	if (argc > 2)
		putchar(b[argc + 2]);
	free(b);
	return 0;
}
C
gcc -fsanitize=address -o "$TMP/asan" "$TMP/asan.c" 2>/dev/null || skip "no libasan"
bg a "$PBIN/peer" "$A4" 7000
wait_tcp a 7000
export ASAN_OPTIONS=detect_leaks=0
run() { b env SLUICE_TRACELEVEL=3 SLUICE_LOG_FILE="$TMP/asan.log" "$BUILD/sluice" run -- "$@" 2>&1; }
same "it starts" 5 "$(run "$TMP/asan" "$A4")"
ok "it is offloaded" grep -q "offloaded: driver" "$TMP/asan.log"
same "started by a script" 5 "$(run sh -c "'$TMP/asan' $A4")"
ok "the sanitizer still looks" grep -q heap-buffer-overflow <(run "$TMP/asan" "$A4" beyond)
done_testing
