# Sluice: one build system. `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

BUILD ?= build
# V=1 shows the commands.
ifeq ($(V),)
Q := @
say = @echo "  $(1) $@"
else
Q :=
say = @:
endif
PREFIX ?= /usr/local
CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
LLVM_STRIP ?= llvm-strip
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKGS := libbpf libxdp libmnl
VERSION := $(shell sed -n 's/.*SLUICE_VERSION "\(.*\)"/\1/p' lib/sluice.h)

# SAN=address,undefined or SAN=thread builds a tree of its own (see asan, tsan).
SAN ?=
WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter
CFLAGS ?= -O2 -g
# The compiler's protections, as far as it has them (tests/unit/hardening.sh looks for them). A build with a sanitizer
# goes without: it has checks of its own, which these would hide.
supported = $(shell $(CC) -Werror $(1) -O2 -xc -c /dev/null -o /dev/null 2>/dev/null && echo $(1))
ifeq ($(SAN),)
BRANCHES := $(call supported,-fcf-protection=full) $(call supported,-mbranch-protection=standard)
HARDEN := -Wformat=2 -Wvla -fstack-protector-strong $(call supported,-fstack-clash-protection) $(BRANCHES) \
	-U_FORTIFY_SOURCE $(or $(call supported,-D_FORTIFY_SOURCE=3),-D_FORTIFY_SOURCE=2)
ZERO_INIT := $(call supported,-ftrivial-auto-var-init=zero)
endif
ALL_CFLAGS := -std=gnu11 $(WARN) $(CFLAGS) -fvisibility=hidden -fno-strict-aliasing -fno-semantic-interposition -fPIC \
	-fexceptions -ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(BUILD)/=build/ \
	-D_GNU_SOURCE -Ilib -Ibpf -I$(BUILD) \
	-DSLUICE_PREFIX='"$(PREFIX)"' -DSL_VERSION='"$(VERSION)"' -MMD -MP
# Without link-time optimisation by default: only libsluice.so is linked with it (see LTO).
ALL_LDFLAGS := $(LDFLAGS) -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code -Wl,--build-id=sha1 -fno-lto
DAEMON_LIBS := -lseccomp
LIBS := -lmnl -lpthread -ldl
ifneq ($(SAN),)
ALL_CFLAGS += -fsanitize=$(SAN) -fno-omit-frame-pointer
ifneq ($(findstring thread,$(SAN)),)
# ThreadSanitizer does not know fences. The fences here order atomics only (a seqlock's end, a bell's Dekker pair), so
# it reports no false race of plain memory and misses none because of them.
ALL_CFLAGS += -Wno-tsan
endif
ALL_LDFLAGS += -fsanitize=$(SAN)
else
# Thread-local storage must not be allocated at its first use: a signal handler may call the library.
ALL_CFLAGS += -ftls-model=initial-exec
endif
# A packet passes through five rooms, with a file or two in each; link-time optimisation saves 5 % of the instructions for
# it. The objects have plain code, too, for the archive, which tests and tools link without this optimisation. The preload
# library goes without: nothing in it is hot, and its assembler (vfork) must keep its place. LTO= turns it off.
ifeq ($(SAN)$(findstring clang,$(CC)),)
LTO ?= -flto=auto
endif

LIB_SRC := $(sort $(wildcard lib/*/*.c lib/*/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
PRELOAD_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard preload/*.c)))
TOOL_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tools/*.c)))
DEATH_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tools/death/*.c)))
DAEMON_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tools/sluiced/*.c))) $(DEATH_OBJ)
SKEL := $(patsubst %,$(BUILD)/%.skel.h,steer steer_bound steer_skb steer_skb_plain guard guard_nf guard_nft holders names sought)

.PHONY: all
all: $(BUILD)/libsluice.so $(BUILD)/libsluice-preload.so $(BUILD)/sluice $(BUILD)/sluiced

# The BPF programs and their skeletons -------------------------------------------------------------
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -Wall -Werror -Ibpf -I/usr/include/$(shell uname -m)-linux-gnu
$(BUILD)/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h) bpf/steer.bpf.c bpf/steer_skb.bpf.c
	$(call say,BPF)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -ffile-prefix-map=$(CURDIR)=. -c $< -o $@
	$(Q)$(LLVM_STRIP) -g $@
$(SKEL): $(BUILD)/%.skel.h: $(BUILD)/%.bpf.o Makefile
	$(Q)(echo '/* NOLINTBEGIN: of bpftool, not of ours */' && echo '#pragma GCC system_header' && $(BPFTOOL) gen skeleton $< name $* && echo '/* NOLINTEND */') > $@

# Libraries and tools --------------------------------------------------------------------------
$(BUILD)/%.o: %.c
	$(call say,CC )
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(PROTECT) -c $< -o $@
$(LIB_OBJ): | $(SKEL)
$(LIB_OBJ) $(PRELOAD_OBJ) $(TOOL_OBJ) $(DAEMON_OBJ): PROTECT = $(HARDEN) $(ZERO_INIT)
# sl_unconst() (base.h) is the one way to drop const.
$(LIB_OBJ) $(PRELOAD_OBJ) $(TOOL_OBJ) $(DAEMON_OBJ): ALL_CFLAGS += -Wcast-qual
# On a packet's path zeroing variables first costs 1.3 % of the instructions of a datagram sent; guards of the return
# address cost 2.3 % in three files, and 20 % of the requests to a NIC. These files have no array that a peer's bytes
# go into.
$(patsubst %,$(BUILD)/lib/%.o,wire/csum wire/build wire/parse io/xsk io/gso net/in net/out udp/udp tcp/tcp_in tcp/tcp_out \
	stack/stack stack/cross stack/leg sock/call/reading sock/dgram/recv sock/dgram/send_path sock/stream/tcp_send \
	sock/stream/tcp_recv): PROTECT = $(HARDEN)
$(patsubst %.c,$(BUILD)/%.o,$(wildcard lib/io/verbs*.c lib/io/nic/*.c lib/io/mlx5_cqe.c)) \
$(patsubst %,$(BUILD)/lib/%.o,base/clock sock/call/writing sock/dgram/send sock/dgram/send_put \
	sock/extra/filter sock/extra/kept sock/extra/zcopy sock/extra/zc_send): PROTECT = $(BRANCHES) -Wformat=2 -Wvla
$(LIB_OBJ): ALL_CFLAGS += $(LTO:%=% -ffat-lto-objects)
# (Its assembly keeps its place.)
$(BUILD)/lib/base/roomy.o: LTO :=
# Its cleanup handler would need libgcc_s, which each program would then load at its start.
$(BUILD)/preload/exec.o: ALL_CFLAGS += -fno-exceptions
# The prefix is compiled in: a new one rebuilds these.
$(shell mkdir -p $(BUILD); cmp -s $(BUILD)/prefix - <<<'$(PREFIX)' || echo '$(PREFIX)' >$(BUILD)/prefix)
$(BUILD)/lib/ctl/broker/helper.o $(BUILD)/tools/doctor.o $(BUILD)/tools/run.o: $(BUILD)/prefix
# The version is in the public header, which the rooms below do not include.
$(BUILD)/lib/base/settings.o: lib/sluice.h

$(BUILD)/libsluice.a: $(LIB_OBJ)
	$(Q)rm -f $@ && ar rcsD $@ $^
$(BUILD)/libsluice.so: $(LIB_OBJ) lib/sluice.map
	$(call say,LD )
	$(Q)$(CC) -shared -o $@ $(LIB_OBJ) $(if $(LTO),$(LTO) $(BRANCHES) $(filter-out $(WARN),$(ALL_CFLAGS))) $(ALL_LDFLAGS:-fno-lto=) -Wl,--version-script=lib/sluice.map \
		-Wl,-soname,libsluice.so.1 -Wl,-z,nodelete $(LIBS)
	$(Q)ln -sf libsluice.so $(BUILD)/libsluice.so.1
# This library loads libsluice.so when it needs it (preload/lib.c).
$(BUILD)/libsluice-preload.so: $(PRELOAD_OBJ) preload/preload.map | $(BUILD)/libsluice.so
	$(call say,LD )
	$(Q)$(CC) -shared -o $@ $(PRELOAD_OBJ) $(ALL_LDFLAGS) -Wl,--version-script=preload/preload.map \
		-Wl,-soname,libsluice-preload.so -Wl,-Bsymbolic-functions -Wl,-z,nodelete -Wl,-rpath,'$$ORIGIN' -lpthread -ldl
$(BUILD)/sluice: $(TOOL_OBJ) $(DEATH_OBJ) $(BUILD)/libsluice.a
	$(call say,LD )
	$(Q)$(CC) -o $@ $(TOOL_OBJ) $(DEATH_OBJ) $(BUILD)/libsluice.a $(ALL_LDFLAGS) $(LIBS)
$(BUILD)/sluiced: $(DAEMON_OBJ) $(BUILD)/libsluice.a
	$(call say,LD )
	$(Q)$(CC) -o $@ $(DAEMON_OBJ) $(BUILD)/libsluice.a $(ALL_LDFLAGS) $(LIBS) $(DAEMON_LIBS)
$(DAEMON_OBJ): | $(SKEL)

include tests/tests.mk

# Dependencies, installation, cleaning ---------------------------------------------------------
DEPS_BUILD := build-essential clang llvm libbpf-dev libxdp-dev libmnl-dev libseccomp-dev libpcap-dev bpftool pkg-config linux-libc-dev
DEPS_TEST := libcmocka-dev iproute2 ethtool sockperf iperf3 socat python3 netcat-openbsd \
	bind9-dnsutils unbound dnsperf nodejs libclang-rt-dev valgrind clang-format clang-tidy cppcheck \
	procps gnuplot-nox redis-server nginx-light wrk curl libpython3.11-testsuite \
	libibverbs-dev rdma-core ibverbs-providers ibverbs-utils \
	memcached git openssh-server rsync openssl tshark apache2-bin apache2-utils strace systemd binutils \
	lighttpd mosquitto mosquitto-clients
# For `make apps`.
DEPS_ZOO := haproxy mariadb-server varnish squid dovecot-imapd dovecot-pop3d slapd ldap-utils vsftpd \
	snmpd snmp chrony bind9 bird2 nsd stunnel4 openvpn qperf h2o nghttp2-proxy nghttp2-client rabbitmq-server beanstalkd dnsmasq-base iperf exim4-daemon-light iputils-ping \
	python3-uvicorn python3-uvloop python3-grpcio python3-zmq srt-tools kea-dhcp4-server nfs-ganesha nfs-ganesha-vfs
# Only the programs of the servers are wanted: no server is started when its package is installed.
NO_START := /usr/sbin/policy-rc.d
.PHONY: deps
deps:
	@missing=$$(for p in $(DEPS_BUILD) $(DEPS_TEST) $(DEPS_MORE); do \
		dpkg-query -W -f '$${db:Status-Status}' $$p 2>/dev/null | grep -qx installed || echo $$p; done); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then \
		[ -e $(NO_START) ] || { printf '#!/bin/sh\nexit 101\n' >$(NO_START); chmod 755 $(NO_START); \
			trap 'rm -f $(NO_START)' EXIT; }; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	else echo "run: sudo apt-get install" $$missing; exit 1; fi

# Names of other tools under which the tool does their work (tools/main.c).
ALIASES := vma_stats mlnx_qos tc_wrap tc_wrap.py
MAN_PAGES := $(wildcard tools/*.[157] tools/*/*.8 conf/*.[157] preload/*.[157])
LDCONFIG ?= /sbin/ldconfig
.PHONY: install may-install
# (Before anything is built.)
may-install:
	@d=$(DESTDIR)$(PREFIX); while [ ! -e "$$d" ]; do d=$$(dirname "$$d"); done; [ -w "$$d" ] || \
		{ echo "make install: $$d may not be written by this user; remedy: sudo make install, or PREFIX=DIR" >&2; exit 1; }
install: may-install all
	install -d $(DESTDIR)$(PREFIX)/{bin,lib/pkgconfig,include/mellanox,share/man/man{1,5,7,8},share/sluice,share/bash-completion/completions}
	install -m 755 $(BUILD)/sluice $(BUILD)/sluiced $(DESTDIR)$(PREFIX)/bin/
	for n in $(ALIASES); do ln -sf sluice $(DESTDIR)$(PREFIX)/bin/$$n; done
	install -m 755 $(BUILD)/libsluice.so $(DESTDIR)$(PREFIX)/lib/libsluice.so.1
	ln -sf libsluice.so.1 $(DESTDIR)$(PREFIX)/lib/libsluice.so
	install -m 755 $(BUILD)/libsluice-preload.so $(DESTDIR)$(PREFIX)/lib/
	install -m 644 lib/sluice.h lib/sluice_extra.h lib/sluice_process.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 lib/compat/vma_extra.h $(DESTDIR)$(PREFIX)/include/mellanox/
	sed 's,@VERSION@,$(VERSION),' conf/sluice.pc.in >$(DESTDIR)$(PREFIX)/lib/pkgconfig/sluice.pc
	install -m 644 conf/sluice.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/sluice
	for n in $(ALIASES); do ln -sf sluice $(DESTDIR)$(PREFIX)/share/bash-completion/completions/$$n; done
	install -m 644 conf/sluice.conf conf/sluiced.conf $(DESTDIR)$(PREFIX)/share/sluice/
	install -m 755 conf/connectx-check $(DESTDIR)$(PREFIX)/share/sluice/
	sed 's,@PREFIX@,$(PREFIX),' conf/sluiced.service >$(DESTDIR)$(PREFIX)/share/sluice/sluiced.service
	for m in $(MAN_PAGES); do \
		install -m 644 $$m $(DESTDIR)$(PREFIX)/share/man/man$${m##*.}/ || exit 1; done
	ln -sf sluice-stat.1 $(DESTDIR)$(PREFIX)/share/man/man1/vma_stats.1
	for n in mlnx_qos tc_wrap; do ln -sf sluice-qos.1 $(DESTDIR)$(PREFIX)/share/man/man1/$$n.1; done
ifeq ($(DESTDIR),) # LD_PRELOAD and programs that are linked with the library name it without its directory
	[ "$$(id -u)" != 0 ] || $(LDCONFIG)
endif

# A tree of its own, as the package's prefix is another.
.PHONY: deb
deb:
	$(MAKE) --no-print-directory BUILD=build-deb PREFIX=/usr all
	rm -rf build-deb/tree
	$(MAKE) --no-print-directory BUILD=build-deb PREFIX=/usr DESTDIR=build-deb/tree install >/dev/null
	conf/deb/build.sh build-deb/tree build-deb

.PHONY: clean
clean:
	rm -rf build build-asan build-tsan build-fuzz build-deb

.PHONY: help
help:
	@printf '%s\n' \
		'  all          build everything into build/ (the default)' \
		'  deps         install the packages that building and testing need' \
		'  demo         deps, build, and compare the kernel with Sluice by sockperf (UDP, TCP)' \
		'  install      install into PREFIX (/usr/local), below DESTDIR if it is set' \
		'  deb          the Debian package, build-deb/sluice_$(VERSION)_*.deb' \
		'  clean        remove build and build-*' \
		'' \
		'  check        all that a change must pass: layers, suite, suite with sanitizers, fuzzers' \
		'  check-long   the long tests that check leaves out (tests/long.txt), fuzz-short' \
		'  tests        build the tests' \
		'  run-tests    the whole suite; T="net unit tests/net/wire.sh" chooses' \
		'  apps         servers of others (tests/zoo), each beside the kernel; T=tests/zoo/NAME.sh chooses' \
		'  layers       check the order of the rooms, circles, places of prototypes, sizes' \
		'  asan         the suite under AddressSanitizer and UndefinedBehaviorSanitizer; T=... chooses' \
		'  asan-build   only build for it, into build-asan' \
		'  tsan         unit tests and threads of TCP under ThreadSanitizer; T=... chooses' \
		'  fuzz         each fuzzer for FUZZ_SECONDS (600)' \
		'  fuzz-short   each fuzzer for 5 seconds' \
		'  fuzzers      only build them, into build-fuzz' \
		'  soak         rounds of kills, removals and load for SOAK_SECONDS (3600)' \
		'  plugs        a device goes and comes PLUGS (100) times, by packet and by XDP' \
		'  soak-faults  faults of the simulated NIC, FAULT_ROUNDS (50) rounds' \
		'  style        check the C files with clang-format' \
		'  analyze      clang-tidy, cppcheck and gcc -fanalyzer' \
		'  cppcheck     cppcheck alone' \
		'  fanalyzer    gcc -fanalyzer alone: lib/wire, lib/ctl, tools/sluiced' \
		'' \
		'  bench        measure floor, kernel and Sluice; results in build/bench' \
		'  bench-short  the same, 64 bytes only, fewer rounds' \
		'' \
		'  vm           all tests in emulated guests: the four below' \
		'  vm-kernels   tests on other kernels (VM_KERNELS)' \
		'  vm-zc        tests over emulated NICs, zero-copy and copy mode' \
		'  vm-net       bonds, VLANs, tunnels, queueing disciplines, bad lines' \
		'  vm-events    cables and cards pulled, processors and memory taken away' \
		'' 'V=1 shows the commands, BUILD=DIR builds elsewhere. tests/README.md: one test alone, and how to add one.'

-include $(shell find $(BUILD) $(FUZZ_BUILD) -name '*.d' 2>/dev/null)
