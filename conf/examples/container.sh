#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A container without privileges whose sockets are offloaded by sluiced. The daemon must run in the network
# namespace that has the devices of the container. sluice-security(7) says what such a program could do.

# 1. On the host's network: the daemon of the host (systemctl start sluiced) serves it.
docker run --rm --network host --user 1000:1000 --security-opt no-new-privileges \
	--volume /run/sluice:/run/sluice --volume /usr/local/lib:/opt/sluice:ro \
	--env LD_PRELOAD=/opt/sluice/libsluice-preload.so \
	redis:7 redis-server --protected-mode no

# 2. With a network of its own (podman: likewise): start a daemon from the host in the container's network
#    namespace, and mount the daemon's socket into the container.
mkdir -p /run/sluice/web
docker run --detach --name web --user 1000:1000 --volume /run/sluice/web:/run/sluice \
	--volume /usr/local/lib:/opt/sluice:ro --env LD_PRELOAD=/opt/sluice/libsluice-preload.so nginx
pid=$(docker inspect --format '{{.State.Pid}}' web)
nsenter --net="/proc/$pid/ns/net" sluiced --socket /run/sluice/web/sluiced.sock
