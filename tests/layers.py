#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""layers.py: the order of the rooms (directories), checked on the sources and on the objects of a build.

 include    a file includes from its own room, and from rooms to the left
 symbol     an undefined sl_* of an object is defined in its own room, or to the left
 circle     no files of a room use each other in a circle, except those that circles.txt lists with a reason
 prototype  a function's prototype stands in a header of the room that defines it
 size       at most 250 lines a header, 700 a source, 24 sources a directory of lib
 order      lib/README.md shows ORDER

A line of circles.txt that is no longer true is a violation, too, so the list only shrinks.

Environment: ROOT (the tree, default: this one), BUILD (its objects, relative to ROOT, default: build)."""
import collections
import glob
import os
import re
import subprocess
import sys

# Rooms of lib, from left to right. Rooms with a comma between them do not see each other. A second line makes a room
# see more. In lib/README.md as they stand here.
ORDER = """
base < base/share < wire < io < net < tcp, udp < stack < sock
base, base/share, bpf < ctl < stack
sock: repair < proc < core < dgram, stream < listen < poll < move < call < extra
ctl: kern < rules < device < umem < steer, lease < claim < broker < front
""".strip().split("\n")
# Directories that are one room with another: files of a TCP connection's machine, and of a NIC's receive queue.
ONE = {"tcp/listen": "tcp", "tcp/loss": "tcp", "io/nic": "io"}
# Rooms that see less than all to their left, or stand outside of lib. `top` is lib/sluice.h and its like.
SEES = {
    "preload": "base top compat",
    "compat": "",
    "tools": "base wire io ctl bpf top tools/death",
    "tools/death": "base wire tcp ctl sock/repair",
    "tools/sluiced": "base base/share wire net ctl bpf top sock/repair tools/death",
}
SEES_TOP = ("sock",)  # rooms of lib that may include the public header
# The ABI between the steering program and its readers: every room may include it.
ABI = "bpf/steer.h"
# Headers that tools may not include: a room's own.
INNER = re.compile(r"_int\.h$")
MAX_HEADER, MAX_SOURCE, MAX_FILES = 250, 700, 24

CODE = ("lib", "preload", "tools", "bpf")
CIRCLES = "tests/circles.txt"


def order():
    """{room: the rooms it sees}, subrooms by their path (sock/core). A room of many subrooms stands for all of them."""
    left = collections.defaultdict(set)
    subs = collections.defaultdict(list)
    for line in ORDER:
        top, _, chain = line.rpartition(":")
        seen = []
        for group in chain.split("<"):
            names = [(f"{top}/" if top else "") + n.strip() for n in group.split(",")]
            for n in names:
                left[n].update(seen)
            if top:
                subs[top] += names
            seen = seen + names
    for room, names in SEES.items():
        left[room].update(names.split())
    for room in SEES_TOP:
        left[room].add("top")
    for top, names in subs.items():
        for n in names:
            left[n].add(top + "/")  # what the room as a whole sees

    def closure(room):
        found, todo = set(), list(left.get(room, ()))
        while todo:
            r = todo.pop()
            if r in found:
                continue
            found.add(r)
            if r.endswith("/"):  # the rooms left of sock, not sock itself
                todo += left[r[:-1]]
            elif room in SEES:
                todo += subs[r]
            else:
                todo += list(left[r]) + subs[r]
        return found

    return {room: closure(room) for room in list(left)}


def room_of(path):
    """The room of a file, by its path from the root."""
    parts = os.path.dirname(path).split("/")
    if parts[0] == "lib":
        room = "/".join(parts[1:]) or "top"
        return ONE.get(room, room)
    return "/".join(parts[:2]) if parts[0] == "tools" else parts[0]


class Tree:
    def __init__(self, build):
        self.build = build
        self.sees = order()
        self.files = sorted(f for top in CODE for ext in "ch" for f in glob.glob(f"{top}/**/*.{ext}", recursive=True))
        self.bad = []  # [key, what the key leaves out]
        self.text = {}
        self.used = collections.defaultdict(set)  # object's source: undefined symbols
        self.defined = collections.defaultdict(list)  # symbol: sources that define it
        self.functions = collections.defaultdict(list)

    def fail(self, key, more=""):
        self.bad.append((key, more))

    def may(self, room, to):
        return to == room or to in self.sees.get(room, ())

    # Includes ---------------------------------------------------------------------------------------
    def find(self, path, name):
        """The file that an include of path means, or its room's directory for what the build generates."""
        for d in (os.path.dirname(path), "lib", "bpf", "."):
            f = os.path.normpath(f"{d}/{name}")
            if os.path.exists(f):
                return f
        return f"bpf/{name}" if name.endswith(".skel.h") else None

    def includes(self):
        tests = glob.glob("tests/**/*.[ch]", recursive=True)
        n = 0
        for path in self.files + sorted(tests):
            for line, text in enumerate(open(path, encoding="utf-8"), 1):
                m = re.match(r'\s*#\s*include\s*"(.*)"', text)
                if not m:
                    continue
                n += 1
                to = self.find(path, m.group(1))
                room = room_of(path)
                key = f"include {path} {m.group(1)}"
                if to is None:
                    self.fail(key, f"line {line}: no such file")
                elif room == "tests":  # (a test may look into everything)
                    continue
                elif to == ABI or (to.startswith("bpf/") and not to.endswith((".skel.h", ".c")) and room == "bpf"):
                    continue
                elif not self.may(room, room_of(to)):
                    self.fail(key, f"line {line}: {room} does not see {room_of(to)}")
                elif room.startswith("tools") and room != room_of(to) and INNER.search(to):
                    self.fail(key, f"line {line}: {to} is its room's own")
        return n

    # Symbols ----------------------------------------------------------------------------------------
    def read_objects(self):
        sources = [f for f in self.files if f.endswith(".c") and not f.endswith(".bpf.c")]
        objects = {f: f"{self.build}/{f[:-2]}.o" for f in sources}
        missing = [f for f in sources if not os.path.exists(objects[f])]
        if not sources or missing:
            print(f"no objects in {self.build} for {len(missing)} of {len(sources)} sources ({' '.join(missing[:3])}): "
                  "symbols, circles and prototypes are not checked; remedy: make")
            return False
        out = subprocess.run(["nm", "-A"] + list(objects.values()), capture_output=True, text=True, check=True).stdout
        source = {o: f for f, o in objects.items()}
        for line in out.splitlines():
            where, _, rest = line.partition(":")
            kind, name = rest.split()[-2:]
            f = source[where]
            if kind == "U":
                self.used[f].add(name)
            elif kind in "TDBRVWC":
                self.defined[name].append(f)
                if kind in "TW":
                    self.functions[name].append(f)
        return True

    def definition(self, path, name):
        """The file whose definition of name path's object is linked with: its own directory's, tools/death's, lib's."""
        at = self.defined.get(name, ())
        for d in (os.path.dirname(path) + "/", "tools/death/", "lib/"):
            for f in at:
                if f.startswith(d):
                    return f
        return None

    def symbols(self):
        n = 0
        uses = collections.defaultdict(set)
        for path, names in sorted(self.used.items()):
            for name in sorted(names):
                to = self.definition(path, name)
                if to and to != path and room_of(to) == room_of(path):
                    uses[path].add(to)
                if not name.startswith("sl_"):
                    continue
                n += 1
                room = room_of(path)
                if to is None:
                    if room != "preload":  # (finds the library's by dlsym or the linker)
                        self.fail(f"symbol {path} {name}", "defined nowhere")
                elif not self.may(room, room_of(to)):
                    self.fail(f"symbol {path} {name} {to}", f"{room} does not see {room_of(to)}")
        self.circles(uses)
        return n

    def circles(self, uses):
        found = {}
        for ring in rings(uses):
            d = os.path.commonpath([os.path.dirname(f) for f in ring])
            found[f"{d}: {' '.join(sorted(os.path.basename(f) for f in ring))}"] = True
        listed = {}
        for line in lines(CIRCLES):
            ring, _, reason = line.partition("#")
            if not reason.strip():
                self.fail(f"circle {ring.strip()}", f"no reason in {CIRCLES}")
            d, _, members = ring.partition(":")
            listed[f"{d}: {' '.join(sorted(members.split()))}"] = True
        for ring in found:
            if ring not in listed:
                self.fail(f"circle {ring}")
        for ring in listed:
            if ring not in found:
                self.fail(f"circle {ring}", f"{CIRCLES} lists it, and there is no such circle (any more)")

    # Prototypes -------------------------------------------------------------------------------------
    def prototypes(self):
        n = 0
        for path in self.files:
            if path.startswith("bpf/"):
                continue
            for name in declared(open(path, encoding="utf-8").read()):
                at = [f for f in self.functions.get(name, ()) if f != path]
                if not at or (path.endswith(".c") and path in self.functions[name]):
                    continue
                n += 1
                if path.endswith(".c"):
                    self.fail(f"prototype {path} {name}", f"declared in a source; {at[0]} defines it")
                elif room_of(path) != "top" and all(room_of(f) != room_of(path) for f in at):
                    self.fail(f"prototype {path} {name}", f"{at[0]} defines it")
        return n

    # Sizes and the order's page ----------------------------------------------------------------------
    def sizes(self):
        dirs = collections.Counter()
        for path in self.files:
            n = sum(1 for _ in open(path, encoding="utf-8"))
            limit = MAX_HEADER if path.endswith(".h") else MAX_SOURCE
            if n > limit:
                self.fail(f"size {path}", f"{n} lines, at most {limit}")
            if path.startswith("lib/") and path.endswith(".c"):
                dirs[os.path.dirname(path)] += 1
        for d, n in sorted(dirs.items()):
            if n > MAX_FILES:
                self.fail(f"size {d}", f"{n} sources, at most {MAX_FILES}")

    def page(self):
        page = open("lib/README.md", encoding="utf-8").read()
        rooms = {room_of(f) for f in self.files}
        for line in ORDER:
            if f"\n    {line}\n" not in page:
                self.fail(f"order {line}", "not in lib/README.md")
        for room in sorted(rooms - set(self.sees) - {"top", "bpf"}):
            self.fail(f"order {room}", "no place in the order")


def lines(path):
    """The lines of a list, without comments and empty ones."""
    if not os.path.exists(path):
        return []
    return [s.strip() for s in open(path, encoding="utf-8") if s.strip() and not s.startswith("#")]


def declared(text):
    """Names of the functions that a file declares without defining them: prototypes outside of all braces."""
    text = re.sub(r'/\*.*?\*/|//[^\n]*', " ", text, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", " ", text, flags=re.M)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', '""', text)
    text = re.sub(r'extern\s*""\s*{', " ", text)
    depth, at, out = 0, 0, []
    for m in re.finditer(r"[{};]", text):
        if m.group() == "{":
            depth += 1
        elif m.group() == "}":
            depth = max(depth - 1, 0)
            at = m.end() if depth == 0 else at
        elif depth == 0:
            out.append(text[at:m.start()])
            at = m.end()
    for d in out:
        if re.match(r"\s*(typedef|static)\b", d) or "=" in d:
            continue
        d = re.sub(r"__attribute__\s*\(\(.*?\)\)\s*", " ", d, flags=re.S)
        m = re.search(r"\b(\w+)\s*\(", re.sub(r"\b[A-Z_][A-Z0-9_]+\s*\([^()]*\)", " ", d))
        if m:
            yield m.group(1)


def rings(uses):
    """Strongly connected components of more than one file (Tarjan), each sorted."""
    index, low, stack, on, out = {}, {}, [], set(), []
    sys.setrecursionlimit(10000)

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        for w in sorted(uses.get(v, ())):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            ring = []
            while not ring or ring[-1] != v:
                ring.append(stack.pop())
                on.discard(ring[-1])
            if len(ring) > 1:
                out.append(sorted(ring))

    for v in sorted(uses):
        if v not in index:
            visit(v)
    return sorted(out)


def main(args):
    if args:
        print(__doc__)
        return 2
    os.chdir(os.environ.get("ROOT") or os.path.dirname(os.path.abspath(__file__)) + "/..")
    tree = Tree(os.environ.get("BUILD") or "build")
    if not tree.files:
        print("no sources found: is this the right directory?")
        return 1
    n = tree.includes()
    tree.sizes()
    tree.page()
    built = tree.read_objects()
    nsym, nproto = (tree.symbols(), tree.prototypes()) if built else (0, 0)
    for key, more in tree.bad:
        print(key + (f" ({more})" if more else ""))
    if tree.bad or not built:
        return 1
    print(f"layers: {n} includes and {nsym} symbols, all downward, {nproto} prototypes in their rooms")
    return 0


sys.exit(main(sys.argv[1:]))
