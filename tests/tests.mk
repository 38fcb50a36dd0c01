# What is under tests/: unit programs, shell tests on real namespaces, fuzzers, benchmarks.
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)
HELPER_SRC := $(wildcard tests/net/*.c tests/bench/*.c tests/preload/*.c tests/bpf/*.c)
HELPER_BIN := $(HELPER_SRC:%.c=$(BUILD)/%)

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/libsluice.a
	$(CC) -o $@ $^ $(ALL_LDFLAGS) -lcmocka $(LIBS)
$(BUILD)/tests/bpf/%: $(BUILD)/tests/bpf/%.o $(BUILD)/libsluice.a
	$(CC) -o $@ $^ $(ALL_LDFLAGS) -lcmocka $(LIBS)
# Plain programs of the C library: what is preloaded, and what speaks to it.
$(BUILD)/tests/%: $(BUILD)/tests/%.o
	$(CC) -o $@ $^ $(ALL_LDFLAGS) -lpthread $(LDLIBS_$(notdir $@))
$(UNIT_SRC:%.c=$(BUILD)/%.o) $(HELPER_SRC:%.c=$(BUILD)/%.o): | $(SKEL)
.SECONDARY:

.PHONY: tests
tests: all $(UNIT_BIN) $(HELPER_BIN)
