#!/usr/bin/env python3
"""A stranger's program builds against an installed Weft and runs.

usage: install.py CMAKE BUILD_DIR SOURCE_DIR COMPILER VERSION

Installs the build into a folder, moves that folder (an installed tree must not know where it was made), and builds
tests/cmake/external against it: through find_package with weft::weft and weft::weft_static, and through pkg-config,
shared and wholly static. The examples are configured against it as well, and some of them built and run.
"""
import os
import shlex
import shutil
import subprocess
import sys

cmake, build, source, compiler, version = sys.argv[1:]
external = f"{source}/tests/cmake/external"
work = f"{build}/external"
prefix = f"{work}/moved"
shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)


def run(*command, env=None):
    """Runs a command and returns what it printed; its failure ends the test with all it said."""
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})})
    if done.returncode:
        sys.exit(f"FAILED: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def needs_libweft(program):
    return any("NEEDED" in line and "libweft.so" in line for line in run("readelf", "-d", program).splitlines())


with open(f"{external}/expected.txt") as file:
    expected = file.read()


def check(kind, program, shared):
    printed = run(program, env={"LD_LIBRARY_PATH": libdir} if shared else None)
    if printed != expected:
        sys.exit(f"FAILED: {kind} printed\n{printed}instead of\n{expected}")
    if needs_libweft(program) != shared:
        sys.exit(f"FAILED: {kind} {'does not need' if shared else 'needs'} libweft.so")
    print(f"ok: {kind}")


run(cmake, "--install", build, "--prefix", f"{work}/made")
os.rename(f"{work}/made", prefix)
libdir = next(at for at, _, files in os.walk(prefix) if "libweft.so" in files)

run(cmake, "-S", external, "-B", f"{work}/build", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}",
    f"-DCMAKE_PREFIX_PATH={prefix}", f"-DWANTED={version}")
run(cmake, "--build", f"{work}/build")
check("find_package, weft::weft", f"{work}/build/with_shared", shared=True)
check("find_package, weft::weft_static", f"{work}/build/with_static", shared=False)

examples = ("000_1_nested_attribute", "threads")
run(cmake, "-S", f"{source}/examples", "-B", f"{work}/examples", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_PREFIX_PATH={prefix}")
run(cmake, "--build", f"{work}/examples", "--target", *examples)
for example in examples:
    run(f"{work}/examples/{example}", env={"LD_LIBRARY_PATH": libdir})
    print(f"ok: examples/{example}")

pkg_path = {"PKG_CONFIG_PATH": f"{libdir}/pkgconfig"}
found = run("pkg-config", "--modversion", "weft", env=pkg_path).strip()
if found != version:
    sys.exit(f"FAILED: weft.pc says version {found} instead of {version}")
for kind, pkg_flags, link_flags in (("shared", [], []), ("static", ["--static"], ["-static"])):
    flags = shlex.split(run("pkg-config", *pkg_flags, "--cflags", "--libs", "weft", env=pkg_path))
    program = f"{work}/pkg_config_{kind}"
    run(compiler, f"{external}/main.cc", "-o", program, *link_flags, *flags)
    check(f"pkg-config, {kind}", program, shared=kind == "shared")
