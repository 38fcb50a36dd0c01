# Builds and runs everything under tests/: unit programs, shell tests on real namespaces, fuzzers, benchmarks.
# (The library loads libbpf and libxdp when it needs them; tests call them directly.)
TEST_LIBS := -lxdp -lbpf $(LIBS)
# Two hundred programs are linked: gold needs half of the default linker's time.
ifneq ($(shell ld.gold --version 2>/dev/null),)
$(BUILD)/tests/%: private ALL_LDFLAGS := $(LDFLAGS) $(SAN:%=-fsanitize=%) -fno-lto -fuse-ld=gold
endif
ifneq ($(SAN),)
# (The sanitizers look at the library; optimised tests would be an eighth of the compiler's time.)
$(BUILD)/tests/%.o: private PROTECT := -O0
endif
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)
TCP_TEST_SRC := $(wildcard tests/tcp/test_*.c)
TCP_TEST_BIN := $(TCP_TEST_SRC:%.c=$(BUILD)/%)
HELPER_SRC := $(filter-out %.bpf.c,$(wildcard tests/net/*.c tests/bench/*.c tests/preload/*.c tests/apps/*.c tests/bpf/*.c))
HELPER_BIN := $(HELPER_SRC:%.c=$(BUILD)/%)

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/libsluice.a
	$(CC) -o $@ $^ $(ALL_LDFLAGS) -lcmocka $(TEST_LIBS)
$(BUILD)/tests/unit/test_death: %: %.o $(DEATH_OBJ) $(BUILD)/libsluice.a
	$(CC) -o $@ $^ $(ALL_LDFLAGS) -lcmocka $(TEST_LIBS)
$(BUILD)/tests/unit/test_share $(BUILD)/tests/unit/test_share_death: %: %.o $(BUILD)/tests/unit/share_world.o $(BUILD)/libsluice.a
	$(CC) -o $@ $^ $(ALL_LDFLAGS) -lcmocka $(TEST_LIBS)
$(BUILD)/tests/unit/test_capture: %: %.o $(filter-out %/main.o,$(TOOL_OBJ)) $(DEATH_OBJ) $(BUILD)/libsluice.a
	$(CC) -o $@ $^ $(ALL_LDFLAGS) -lcmocka $(TEST_LIBS) -lpcap
# This test replaces the functions that look at links and devices.
$(BUILD)/tests/unit/test_restart: ALL_LDFLAGS += -Wl,--wrap=sl_link_has_carrier -Wl,--wrap=sl_port_find
# Tests with all objects of the daemon except its main loop.
$(BUILD)/tests/unit/test_sluiced $(BUILD)/tests/unit/test_deliver $(BUILD)/tests/unit/test_vlan: %: %.o $(filter-out %/main.o,$(DAEMON_OBJ)) $(BUILD)/libsluice.a
	$(CC) -o $@ $^ $(ALL_LDFLAGS) -lcmocka $(TEST_LIBS) $(DAEMON_LIBS)
$(BUILD)/tests/bpf/%: $(BUILD)/tests/bpf/%.o $(BUILD)/libsluice.a
	$(CC) -o $@ $^ $(ALL_LDFLAGS) -lcmocka $(TEST_LIBS)
$(BUILD)/steer_fake.bpf.o: tests/bpf/steer_fake.bpf.c $(wildcard bpf/*)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@ && $(LLVM_STRIP) -g $@
$(BUILD)/tests/net/%.bpf.o: tests/net/%.bpf.c
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@ && $(LLVM_STRIP) -g $@
$(BUILD)/steer_fake.skel.h: $(BUILD)/steer_fake.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name steer_fake > $@
$(BUILD)/tests/bpf/test_hints.o $(BUILD)/tests/bpf/test_room.o: | $(BUILD)/steer_fake.skel.h
# TCP in the simulator: the library's objects on the test's own wire and clock.
SIM_OBJ := $(patsubst %,$(BUILD)/tests/tcp/%.o,sim sim_ops sim_wire sim_check script)
$(TCP_TEST_BIN): %: %.o $(SIM_OBJ) $(BUILD)/libsluice.a
	$(CC) -o $@ $^ $(ALL_LDFLAGS) -lm $(TEST_LIBS)
# Tests that look inside the library: the mirror of the kernel's tables, a full ring, TCP_REPAIR.
$(BUILD)/tests/net/mirror_probe $(BUILD)/tests/net/route_spans $(BUILD)/tests/net/txfull $(BUILD)/tests/net/zc_send $(BUILD)/tests/net/tcp_repair $(BUILD)/tests/net/share \
	$(BUILD)/tests/net/frames $(BUILD)/tests/net/txroom $(BUILD)/tests/net/late_frames $(BUILD)/tests/net/hostile: %: %.o $(BUILD)/libsluice.a
	$(CC) -o $@ $^ $(ALL_LDFLAGS) $(TEST_LIBS)
$(BUILD)/tests/bench/segments: %: %.o $(BUILD)/libsluice.a
	$(CC) -o $@ $^ $(ALL_LDFLAGS) -lcmocka $(TEST_LIBS)
# The simulated NIC, preloaded under the unmodified rdma-core, and the programs that drive it by bare verbs. Built
# only where rdma-core's headers are (elsewhere the tests say so and skip).
ifneq ($(wildcard /usr/include/infiniband/mlx5dv.h),)
SIM_NIC := $(BUILD)/tests/sim/libsimulated-nic.so
SIM_NIC_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/sim/nic/*.c)))
SIM_TX_OBJ := $(patsubst %,$(BUILD)/tests/sim/%.o,tx frames)
SIM_BIN := $(patsubst %,$(BUILD)/tests/sim/%,send fault receive instructions requests)
$(SIM_NIC): $(SIM_NIC_OBJ)
	$(call say,LD )
	$(Q)$(CC) -shared -o $@ $^ $(ALL_LDFLAGS) -Wl,-soname,$(notdir $@) -lpthread -ldl
$(BUILD)/tests/sim/send $(BUILD)/tests/sim/fault: %: %.o $(SIM_TX_OBJ)
	$(CC) -o $@ $^ $(ALL_LDFLAGS) -libverbs -lmlx5
$(BUILD)/tests/sim/instructions $(BUILD)/tests/sim/requests: %: %.o $(SIM_TX_OBJ) $(BUILD)/libsluice.a
	$(CC) -o $@ $^ $(ALL_LDFLAGS) -libverbs -lmlx5 $(TEST_LIBS)
endif
LDLIBS_xdpfloor := -lxdp -lbpf
# Stand-ins for VLAN devices, for kernels that have none (tests/vlan/device.c), and a library that takes them for VLAN
# devices, and the kernel for one without tcx (tests/vlan/no_tcx.c).
, := ,
VLAN_DIR := $(BUILD)/tests/vlan
VLAN_TOLD := $(VLAN_DIR)/told.o $(VLAN_DIR)/no_tcx.o
VLAN_WRAP := $(addprefix -Wl$(,)--wrap=sl_,link_on_msg qdisc_on_msg tcx_is_there)
VLAN_STAND_IN := $(VLAN_DIR)/device $(VLAN_DIR)/tags.bpf.o $(VLAN_DIR)/libsluice.so $(VLAN_DIR)/libsluice-preload.so $(VLAN_DIR)/sluice $(VLAN_DIR)/sluiced
LDLIBS_device := -lbpf
LDLIBS_steering_nic := -lbpf
LDLIBS_named := -Wl,-rpath,'$$ORIGIN'
LDLIBS_own_libbpf := -rdynamic
LDLIBS_own_btf := -rdynamic
LDLIBS_own_verbs := -rdynamic
LDLIBS_steercost := -lbpf
$(VLAN_DIR)/tags.bpf.o: tests/vlan/tags.bpf.c tests/vlan/tags.h
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@ && $(LLVM_STRIP) -g $@
$(VLAN_DIR)/libsluice.so: $(LIB_OBJ) $(VLAN_TOLD) lib/sluice.map
	$(CC) -shared -o $@ $(LIB_OBJ) $(VLAN_TOLD) $(ALL_LDFLAGS) -Wl,--version-script=lib/sluice.map \
		-Wl,-soname,libsluice.so.1 -Wl,-z,nodelete $(VLAN_WRAP) $(LIBS)
	$(Q)ln -sf libsluice.so $(@D)/libsluice.so.1
$(VLAN_DIR)/sluiced: $(DAEMON_OBJ) $(VLAN_TOLD) $(BUILD)/libsluice.a
	$(CC) -o $@ $^ $(ALL_LDFLAGS) $(VLAN_WRAP) $(LIBS) $(DAEMON_LIBS)
$(VLAN_DIR)/libsluice-preload.so $(VLAN_DIR)/sluice: $(VLAN_DIR)/%: | $(BUILD)/%
	$(Q)ln -sf ../../$* $@
# The tool with a NIC that knows DCB, where the kernel has none (tests/qos/kernel.c).
QOS_TOOL := $(BUILD)/tests/qos/sluice
$(QOS_TOOL): $(TOOL_OBJ) $(DEATH_OBJ) $(BUILD)/tests/qos/kernel.o $(BUILD)/libsluice.a
	$(call say,LD )
	$(Q)$(CC) -o $@ $^ $(ALL_LDFLAGS) $(addprefix -Wl$(,)--wrap=sl_netlink_,send receive ask) $(TEST_LIBS) -lpcap
# Programs that lib.sh itself calls: linked statically, and without a sanitizer, to start in little time.
$(patsubst %,$(BUILD)/tests/net/%,within bound hosts counters): $(BUILD)/tests/net/%: tests/net/%.c
	@mkdir -p $(@D)
	$(call say,LD )
	$(Q)$(CC) -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -static -o $@ $<
# Plain programs of the C library: the preloaded ones, and their peers.
$(BUILD)/tests/%: $(BUILD)/tests/%.o
	$(CC) -o $@ $^ $(ALL_LDFLAGS) -lpthread $(LDLIBS_$(notdir $@))
$(UNIT_SRC:%.c=$(BUILD)/%.o) $(HELPER_SRC:%.c=$(BUILD)/%.o): | $(SKEL)
.SECONDARY:

.PHONY: tests
tests: all $(UNIT_BIN) $(TCP_TEST_BIN) $(HELPER_BIN) $(SIM_NIC) $(SIM_BIN) $(VLAN_STAND_IN) $(QOS_TOOL) $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/net/*.bpf.c))

# Checking ------------------------------------------------------------------------------------
.PHONY: check check-long layers run-tests asan asan-build tsan
# The parts run in this order, whatever -j says, since the line with the result must come last.
check:
	$(MAKE) deps
	$(MAKE) -j"$$(nproc)" tests
	BUILD=$(BUILD) MAKE="$(MAKE)" tests/check.sh
# The tests that `make check` leaves out (tests/long.txt).
LONG_TESTS = $(shell awk '$$1 ~ /^($(1))$$/ { print $$2 ~ /\/test_/ ? "$(2)/tests/" $$2 : "tests/" $$2 ".sh" }' tests/long.txt)
check-long: tests asan-build
	BUILD=$(BUILD) tests/run.sh $(call LONG_TESTS,both|plain|short,$(BUILD))
	BUILD=$(BUILD) MODES="oracle both" tests/run.sh $(filter tests/net/%,$(call LONG_TESTS,sanitized,$(BUILD)))
	BUILD=build-asan RX=xdp MODES="oracle both" \
		tests/run.sh $(filter tests/net/% tests/sim/% build-asan/%,$(call LONG_TESTS,both|sanitized,build-asan))
	build-asan/tests/tcp/test_tcp_stream 1 2500
	build-asan/tests/tcp/test_tcp_many 100000
	$(MAKE) fuzz-short
layers: all
	BUILD=$(BUILD) tests/layers.sh
run-tests: tests
	BUILD=$(BUILD) tests/run.sh $(T)
# The suite under AddressSanitizer and UndefinedBehaviorSanitizer, in a tree of its own, in the last mode only, and in
# the kernel's mode where the kernel is the oracle. (No -Werror: gcc's flow analysis gives false warnings in
# instrumented code. -g1 has the lines for a report; types and variables would be a quarter of the compiler's time.)
asan-build:
	$(MAKE) BUILD=build-asan SAN=address,undefined CFLAGS="-O1 -g1 -Wno-error" tests blind
asan: asan-build
	BUILD=build-asan MODES="oracle both" tests/run.sh $(or $(T),preload net sim bpf tcp unit)
# ThreadSanitizer: the unit tests, and a C program whose threads meet in TCP. Its runtime crashes in programs built
# without it (python3, sockperf).
tsan:
	$(MAKE) BUILD=build-tsan SAN=thread CFLAGS="-O1 -g" tests
	BUILD=build-tsan MODES="oracle one" tests/run.sh $(or $(T),unit tests/net/tcp_threads.sh)

# Servers of others (tests/zoo), one after the other: how each does, beside the kernel.
.PHONY: apps
apps: tests
	$(MAKE) deps DEPS_MORE="$(DEPS_ZOO)"
	BUILD=$(BUILD) tests/run.sh -j 1 $(or $(T),zoo)

# Tests in guests that QEMU emulates, with other NICs and other kernels (tests/vm/lib.sh). Their Debian packages are
# fetched once, into VM_CACHE. VM_SUITE="udp_basic tcp_close" runs only these of the suite.
.PHONY: vm vm-zc vm-kernels vm-net vm-events
VM_KERNELS := 5.10 6.1 6.12 6.18 newest
vm: vm-kernels vm-zc vm-net vm-events
vm-zc: tests
	BUILD=$(BUILD) tests/run.sh -j 1 -t 14400 tests/vm/zc/*.sh
vm-net: tests
	BUILD=$(BUILD) tests/run.sh -j 1 -t 4000 tests/vm/net/*.sh
vm-kernels: tests
	for k in $(VM_KERNELS); do echo "== $$k"; VM_KERNEL=$$k VM_SECONDS=900 BUILD=$(BUILD) tests/vm/short.sh && \
		VM_KERNEL=$$k BUILD=$(BUILD) tests/vm/kernels/suite.sh || exit; done
vm-events: tests
	for n in virtio igb; do echo "== $$n"; VM_NICS=$$n BUILD=$(BUILD) tests/run.sh -j 1 -t 4000 tests/vm/events/*.sh || exit; done

# Many rounds of the tests that timing is most likely to break: kill -9, hand removal, changes under load.
SOAK_SECONDS ?= 3600
SOAK_KILLS ?= 600
.PHONY: soak
soak: tests
	end=$$(($$(date +%s) + $(SOAK_SECONDS))); round=0; \
	while [ $$(date +%s) -lt $$end ]; do \
		round=$$((round + 1)); echo "soak: round $$round"; \
		BUILD=$(BUILD) MODES="one both" CONNS=1000 tests/run.sh -t 1800 tests/net/tcp_swarm.sh || exit 1; \
		BUILD=$(BUILD) SOAK_TCP_SECONDS=120 SOAK_SEED=$$round FAMILIES="4 6" \
			tests/run.sh -t 1800 tests/net/tcp_soak.sh || exit 1; \
		BUILD=$(BUILD) SOAK_KILL_SECONDS=600 SOAK_KILL_STALL=50 \
			tests/run.sh -t 1800 tests/net/soak_kill.sh || exit 1; \
		BUILD=$(BUILD) PASSES=1000 EXECS=1000 tests/run.sh -t 7200 tests/net/tcp_passes.sh || exit 1; \
		BUILD=$(BUILD) KILLS=$(SOAK_KILLS) tests/run.sh -t 1800 tests/net/sluiced_restart.sh || exit 1; \
		BUILD=$(BUILD) ATTACK_SECONDS=2 SOCKPERF_SECONDS=3 \
			tests/run.sh -t 600 net preload apps || exit 1; done

# A device that goes and comes PLUGS times under checked traffic, by packet and by XDP.
PLUGS ?= 100
.PHONY: plugs
plugs: tests
	for rx in packet xdp; do RX=$$rx ROUNDS=$(PLUGS) EVENTS=remade WITHIN=2 BUILD=$(BUILD) \
		tests/run.sh -t 1800 tests/net/comes_back.sh || exit; done

# Every fault on the simulated NIC, many times in a row, on two cores and on one: six minutes a round.
FAULT_ROUNDS ?= 50
FAULT_TESTS := faults verbs offload devmem settle pace_tcp_moves pace_sock
.PHONY: soak-faults
soak-faults: tests
	for ((i = 1; i <= $(FAULT_ROUNDS); i++)); do for cores in 0,1 0; do echo "round $$i, cores $$cores"; \
		BUILD=$(BUILD) taskset -c $$cores tests/run.sh -j 1 $(FAULT_TESTS:%=tests/sim/%.sh) || exit; done; done

# Fuzzing: every tests/fuzz/fuzz_*.c with the library's sources, under libFuzzer ------------------
FUZZ_BUILD := build-fuzz
FUZZ_SECONDS ?= 600
FUZZ_CFLAGS := -std=gnu11 -O1 -gline-tables-only -fno-omit-frame-pointer -D_GNU_SOURCE -Ilib -Ibpf -I. -I$(BUILD) \
	-DSLUICE_PREFIX='"$(PREFIX)"' -DSL_VERSION='"$(VERSION)"' -MMD -MP -Wall -Werror -Wno-unused-function
FUZZ_SAN := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(FUZZ_BUILD)/%)
FUZZ_DAEMON_BIN := $(FUZZ_BUILD)/fuzz_lease $(FUZZ_BUILD)/fuzz_policy $(FUZZ_BUILD)/fuzz_death
FUZZ_LIB_OBJ := $(LIB_SRC:%.c=$(FUZZ_BUILD)/%.o)
FUZZ_DAEMON_OBJ := $(patsubst $(BUILD)/%,$(FUZZ_BUILD)/%,$(filter-out %/main.o,$(DAEMON_OBJ)))
# (With the parts of the tools that they read.)
FUZZ_TOOL_BIN := $(addprefix $(FUZZ_BUILD)/,fuzz_capture fuzz_pace fuzz_qos fuzz_ss)
FUZZ_PARTS_capture := $(addprefix tools/,capture_ring capture_flow capture_pcap capture_pcapng capture_extcap capture_fix program stat_file)
FUZZ_PARTS_pace := tools/pace_set
FUZZ_PARTS_qos := $(addprefix tools/,qos_dcb qos_list qos_print qos_skprio)
FUZZ_PARTS_ss := $(addprefix tools/,ss_filter ss_kernel ss_print ss_users)
FUZZ_PARTS_tcp := $(addprefix tests/tcp/,sim sim_ops sim_wire sim_check)
$(foreach t,capture pace qos ss tcp,$(eval $(FUZZ_BUILD)/fuzz_$(t): $(FUZZ_PARTS_$(t):%=$(FUZZ_BUILD)/%.o)))
$(FUZZ_BUILD)/fuzz_capture: LDFLAGS_FUZZ := -Wl,--export-dynamic-symbol=getaddrinfo
$(FUZZ_BUILD)/%.o: %.c | $(SKEL)
	@mkdir -p $(@D)
	$(CLANG) $(FUZZ_CFLAGS) $(FUZZ_SAN) -c $< -o $@
$(FUZZ_BUILD)/libsluice.a: $(FUZZ_LIB_OBJ)
	rm -f $@ && ar rcsD $@ $^
$(FUZZ_DAEMON_BIN): $(FUZZ_BUILD)/%: $(FUZZ_BUILD)/tests/fuzz/%.o $(FUZZ_DAEMON_OBJ) $(FUZZ_BUILD)/libsluice.a
	$(CLANG) -fsanitize=fuzzer,address,undefined -o $@ $^ $(TEST_LIBS) $(DAEMON_LIBS)
$(FUZZ_TOOL_BIN): $(FUZZ_BUILD)/%: $(FUZZ_BUILD)/tests/fuzz/%.o $(FUZZ_BUILD)/tests/fuzz/answers.o $(FUZZ_BUILD)/libsluice.a
	$(CLANG) -fsanitize=fuzzer,address,undefined -Wl,--wrap=getaddrinfo $(LDFLAGS_FUZZ) -o $@ $^ $(FUZZ_BUILD)/libsluice.a $(TEST_LIBS) -lpcap
$(filter-out $(FUZZ_DAEMON_BIN) $(FUZZ_TOOL_BIN),$(FUZZ_BIN)): $(FUZZ_BUILD)/%: $(FUZZ_BUILD)/tests/fuzz/%.o $(FUZZ_BUILD)/libsluice.a
	$(CLANG) -fsanitize=fuzzer,address,undefined -o $@ $^ $(FUZZ_BUILD)/libsluice.a $(TEST_LIBS)
# All targets without libFuzzer, of the objects of this build: with SAN= `make check` compiles no others.
BLIND_BIN := $(FUZZ_SRC:%.c=$(BUILD)/%)
BLIND_DAEMON_BIN := $(FUZZ_DAEMON_BIN:$(FUZZ_BUILD)/%=$(BUILD)/tests/fuzz/%)
BLIND_TOOL_BIN := $(FUZZ_TOOL_BIN:$(FUZZ_BUILD)/%=$(BUILD)/tests/fuzz/%)
$(foreach t,capture pace qos ss tcp,$(eval $(BUILD)/tests/fuzz/fuzz_$(t): $(FUZZ_PARTS_$(t):%=$(BUILD)/%.o)))
$(BLIND_DAEMON_BIN): $(filter-out %/main.o,$(DAEMON_OBJ))
$(BLIND_TOOL_BIN): $(BUILD)/tests/fuzz/answers.o
$(BLIND_TOOL_BIN): BLIND_LIBS := -Wl,--wrap=getaddrinfo -lpcap
$(BUILD)/tests/fuzz/%.o: ALL_CFLAGS += -I. -Wno-unused-function -Wno-missing-prototypes
$(BLIND_BIN): $(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/blind.o $(BUILD)/libsluice.a
	$(CC) -o $@ $^ $(BUILD)/libsluice.a $(ALL_LDFLAGS) $(TEST_LIBS) $(DAEMON_LIBS) $(BLIND_LIBS)
.PHONY: fuzz fuzz-short fuzzers blind
blind: $(BLIND_BIN)
fuzzers: $(FUZZ_BIN)
fuzz: fuzzers
	tests/fuzz/run.sh $(FUZZ_BUILD) $(FUZZ_SECONDS)
fuzz-short: fuzzers
	tests/fuzz/run.sh $(FUZZ_BUILD) 5 1

# Benchmarks and the demonstration ----------------------------------------------------------------
.PHONY: bench bench-short demo
bench: tests
	BUILD=$(BUILD) tests/bench/bench.sh
bench-short: tests
	BUILD=$(BUILD) tests/bench/bench.sh --short
demo: deps
	$(MAKE) all
	$(BUILD)/sluice demo

# Style and static analysis -----------------------------------------------------------------------
C_FILES := $(wildcard lib/*.h lib/*/*.[ch] lib/*/*/*.[ch] preload/*.[ch] bpf/*.[ch] tools/*.[ch] tools/*/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch])
.PHONY: style analyze
style:
	$(Q)clang-format --dry-run -Werror $(C_FILES)
# The checks are listed in .clang-tidy. A file is checked again when its object is newer, that is when it or a file
# that it includes has changed.
TIDY_SRC := $(LIB_SRC) $(wildcard preload/*.c tools/*.c tools/*/*.c)
$(TIDY_SRC:%.c=$(BUILD)/%.tidy): $(BUILD)/%.tidy: $(BUILD)/%.o .clang-tidy
	$(call say,TIDY)
	$(Q)clang-tidy --quiet $*.c -- -std=gnu11 -D_GNU_SOURCE -Ilib -Ibpf -I$(BUILD) \
		-DSLUICE_PREFIX='"$(PREFIX)"' -DSL_VERSION='"$(VERSION)"' 2>$@.err || { cat $@.err; exit 1; }
	@touch $@
# With a name defined cppcheck looks at one configuration of the preprocessor only, that of the build. allocaCalled is
# suppressed: the exec family may allocate nothing, since it is also called after vfork.
.PHONY: cppcheck
cppcheck:
	@mkdir -p $(BUILD)/cppcheck
	cppcheck -D__CPPCHECK__ --quiet --error-exitcode=1 --std=c11 --enable=warning,portability --inline-suppr \
		--cppcheck-build-dir=$(BUILD)/cppcheck --suppress=unknownMacro --suppress=allocaCalled -Ilib -Ibpf lib preload tools
# gcc's analyzer follows paths through a file: of those that read other programs' and hosts' bytes. Findings that were
# looked at and are false:
#   csum.c    shifts of vectors, whose number of elements it takes for their width
#   guard.c   errno is never 0 after bpftool's skeleton could not be opened, so NULL is not loaded
#   keep.c    the table of records is a static variable, and forget_all() frees each of them
#   policy.c  next_word() finds the word whose first character was just seen
FAN_SRC := $(wildcard lib/wire/*.c lib/ctl/*/*.c tools/sluiced/*.c)
FAN_csum := -Wno-analyzer-shift-count-overflow
FAN_guard := -Wno-analyzer-null-dereference
FAN_keep := -Wno-analyzer-malloc-leak
FAN_policy := -Wno-analyzer-null-dereference
$(FAN_SRC:%.c=$(BUILD)/%.fan): $(BUILD)/%.fan: $(BUILD)/%.o
	$(call say,FAN)
	$(Q)gcc -std=gnu11 -D_GNU_SOURCE -O2 -fno-strict-aliasing -Werror -fanalyzer $(FAN_$(notdir $*)) -Ilib -Ibpf -I$(BUILD) \
		-DSLUICE_PREFIX='"$(PREFIX)"' -DSL_VERSION='"$(VERSION)"' -c $*.c -o /dev/null
	@touch $@
.PHONY: fanalyzer
fanalyzer: $(FAN_SRC:%.c=$(BUILD)/%.fan)
analyze: cppcheck fanalyzer $(TIDY_SRC:%.c=$(BUILD)/%.tidy)
