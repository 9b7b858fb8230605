#!/usr/bin/env python3
"""The compiler refuses an include that points upward.

usage: layering.py BUILD_DIR SOURCE_DIR LAYER[=HEADER,...]...    layers bottom to top, with their public headers

Three checks, all with the commands that really compile the library (compile_commands.json):
  1. every source of a layer has exactly one include folder, that of its layer;
  2. for every layer and every header of every layer, the header exists for the compiler if and only if its layer is
     not above;
  3. for every adjacent pair, a file that includes a header of the upper layer does not compile in the lower one
     because that header is not found, and does compile in the upper one.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

build, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
layers, public = [], {}
for argument in sys.argv[3:]:
    name, _, headers = argument.partition("=")
    layers.append(name)
    public[name] = [h for h in headers.split(",") if h]

failures = []


def fail(text):
    failures.append(text)
    print("FAILED:", text)


def headers_below(folder):
    """Paths of the headers below a folder, relative to it; the folder itself may be one header."""
    if os.path.isfile(folder):
        return [""]
    return sorted(os.path.relpath(os.path.join(at, f), folder)
                  for at, _, files in os.walk(folder) for f in files if f.endswith(".h"))


def spellings(layer):
    """How a header of the layer is written in an #include: those of src first, then the public ones."""
    inner = [f'"{layer}/{h}"' for h in headers_below(f"{source}/src/{layer}")]
    outer = [f"<weft/{os.path.join(entry, h).rstrip('/')}>"
             for entry in public[layer] for h in headers_below(f"{source}/include/weft/{entry}")]
    return inner, outer


def without_precompiled(words):
    """The command as if the build had no precompiled headers: they are made in the layer's own folder, but would hide what a source includes itself."""
    kept, words = [], list(words)
    while words:
        word = words.pop(0)
        if word in ("-include", "-Xclang") and ("_pch." in words[0] or words[0] in ("-include", "-include-pch", "-fno-pch-timestamp")):
            words.pop(0)
        elif word != "-Winvalid-pch":
            kept.append(word)
    return kept


# 1. One include folder each; keep one command a layer.
commands = {}
with open(f"{build}/compile_commands.json") as file:
    entries = json.load(file)
for entry in entries:
    match = re.match(re.escape(f"{source}/src/") + r"(\w+)/", entry["file"])
    if not match or entry["file"].endswith("_test.cc"):
        continue
    if "-DWEFT_PLANTED_BUGS" in entry["command"]:
        continue  # a second compilation for a test
    layer, words = match[1], without_precompiled(shlex.split(entry["command"]))
    if layer not in layers:
        fail(f"{entry['file']} belongs to no declared layer")
        continue
    folders = [w[2:] for w in words if w.startswith("-I")] + [
        words[i + 1] for i, w in enumerate(words[:-1]) if w in ("-isystem", "-iquote", "-include", "-idirafter")]
    if folders != [f"{build}/layers/{layer}"]:
        fail(f"{entry['file']} is compiled with the include folders {folders}")
    output = words.index("-o")
    commands[layer] = [w for w in words[:output] if "ccache" not in os.path.basename(w)]


def without_installed_weft(command):
    """The command, kept from the headers of a Weft that is installed where compilers look by themselves: those are not the tree's."""
    said = subprocess.run([command[0], "-E", "-v", "-x", "c++", os.devnull], capture_output=True, text=True).stderr
    listing = re.search(r"#include <\.\.\.> search starts here:\n(.*?)End of search list", said, re.S)
    folders = listing[1].split() if listing else []
    kept = [folder for folder in folders if not os.path.exists(f"{folder}/weft/weft.h")]
    if kept == folders:
        return command
    return command + ["-nostdinc"] + [word for folder in kept for word in ("-isystem", folder)]


commands = {layer: without_installed_weft(command) for layer, command in commands.items()}


def compiles(layer, text):
    """Compiles a text as a source of the layer; returns whether that worked, and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        probe = f"{folder}/probe.cc"
        with open(probe, "w") as file:
            file.write(text)
        done = subprocess.run(commands[layer] + ["-fsyntax-only", probe], capture_output=True, text=True, cwd=build)
        return done.returncode == 0, done.stderr


# 2. Who sees what.
checks = 0
for at, layer in enumerate(layers):
    if layer not in commands:
        print(f"note: src/{layer} has no sources")
        continue
    text = ""
    for owner_at, owner in enumerate(layers):
        inner, outer = spellings(owner)
        for header in inner + outer:
            expected = owner_at <= at
            text += f"#if {'!' if expected else ''}__has_include({header})\n"
            text += f"#error {layer} {'cannot' if expected else 'can'} include {header} of {owner}\n#endif\n"
            checks += 1
    ok, said = compiles(layer, text)
    if not ok:
        fail("\n".join(re.findall(r"error: (?:#error )?(.*)", said)) or said)

# 3. The neighbours, with real includes.
pairs = 0
for lower, upper in zip(layers, layers[1:]):
    inner, outer = spellings(upper)
    probes = inner[:1] + outer[:1]
    if lower not in commands or upper not in commands or not probes:
        print(f"note: nothing to try between {lower} and {upper}")
        continue
    for header in probes:
        pairs += 1
        text = f"#include {header}\n"
        ok, said = compiles(lower, text)
        not_found = re.search(r"fatal error: '?" + re.escape(header[1:-1]) + r"'?(:| file) (No such file|not found)", said)
        if ok:
            fail(f"{lower} may include {header}")
        elif not not_found:
            fail(f"{lower} with {header} fails for another reason than the missing file:\n{said}")
        ok, said = compiles(upper, text)
        if not ok:
            fail(f"{upper} cannot compile a file that only includes its own {header}:\n{said}")

if not pairs:
    fail("no pair of layers was tried")
print(f"{len(layers)} layers, {checks} sights, {pairs} includes both ways, {len(failures)} failures")
sys.exit(bool(failures))
