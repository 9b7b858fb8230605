"""Follows CONTRIBUTING's "add an op" to the letter: applies its patch to a copy of the tree, regenerates, and looks for the function, its entry in the
reference and its generated tests, which must pass. Compiles only what the patch changes; everything else comes from the build.

usage: add_op.py COMPILER SOURCE_DIR BUILD_DIR
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

compiler, source, build = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
OP = "logaddexp"
LEAST_TESTS = 6

PROGRAM = """
#include <weft/weft.h>
int main() {
  const weft::Tensor y = weft::logaddexp(weft::Tensor({0.f, 1e4f}), 0.f);
  const auto v = y.to_vector<float>();
  return v[0] > 0.693f && v[0] < 0.6932f && v[1] == 1e4f ? 0 : 1;
}
"""


def run(*words, cwd=None):
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(str(word) for word in words)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def compile_flags():
    """Those of an ordinary source of the ops layer, without its include path and file names."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if entry["file"].endswith("src/ops/pointwise.cc"):
            words = shlex.split(entry["command"])
            return [word for before, word in zip(words, words[1:]) if re.match(r"-(O|g|f|std|W)", word) and before != "-Xclang"]
    sys.exit("the build does not compile src/ops/pointwise.cc")


text = (source / "CONTRIBUTING.md").read_text()
patches = re.findall(r"```diff\n(.*?)```", text, re.S)
if len(patches) != 1:
    sys.exit("CONTRIBUTING.md must hold exactly one ```diff block")

with tempfile.TemporaryDirectory() as folder:
    copy = pathlib.Path(folder) / "weft"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("build", ".git"))
    (copy / "op.patch").write_text(patches[0])
    run("patch", "-p1", "-i", "op.patch", cwd=copy)
    changed = re.findall(r"^\+\+\+ b/(\S+\.cc)", patches[0], re.M)
    if len(changed) != 1:
        sys.exit(f"an op is one row in one file, but the patch changes {changed}")

    flags = compile_flags() + [f"-I{copy}/src", f"-I{copy}/include"]
    library = build / "libweft.a"

    def compiled(path):
        out = copy / (path.replace("/", "_") + ".o")
        run(compiler, *flags, "-c", copy / path, "-o", out)
        return out

    row = compiled(changed[0])
    generator = copy / "generator"
    tool = build / "CMakeFiles/weft_generate.dir/tools/generate.cc.o"
    run(compiler, *flags, tool, row, library, "-lpthread", "-o", generator)
    written = re.findall(r"wrote (\S+)", run(generator, copy))

    header = next((p for p in written if p.startswith("include/") and re.search(rf"\b{OP}\(", (copy / p).read_text())), None)
    if header is None:
        sys.exit(f"no header has {OP}; written: {written}")
    if f"### `{OP}`" not in (copy / "docs/ops.md").read_text():
        sys.exit(f"docs/ops.md has no entry for {OP}")

    objects = [row] + [compiled(p) for p in written if p.endswith(".cc")]
    main = copy / "main.cc"
    main.write_text(PROGRAM)
    run(compiler, *flags, main, *objects, library, "-lpthread", "-o", copy / "program")
    run(copy / "program")

    tests = sorted((build / "CMakeFiles/weft_tests.dir").rglob("*.o"))
    run(compiler, *flags, *tests, *objects, library, "-Wl,--wrap=aligned_alloc", "-lgtest_main", "-lgtest", "-lpthread", "-o", copy / "suites")
    os.environ["WEFT_MATRIX_FILE"] = str(copy / "tests/data/bad_input_matrix.txt")
    run("env", "WEFT_UPDATE_MATRIX=1", copy / "suites", f"--gtest_filter=*BadInput*{OP}")
    report = run(copy / "suites", f"--gtest_filter=*{OP}*", "--gtest_brief=0")
    passed = int((re.search(r"\[  PASSED  \] (\d+) tests", report) or ["", "0"])[1])
    if passed < LEAST_TESTS:
        sys.exit(f"only {passed} tests were generated for {OP}:\n{report[-2000:]}")
    names = re.findall(r"\[       OK \] (\S+)", report)
    print(f"{OP}: function in {header}, entry in docs/ops.md, {passed} generated tests: {' '.join(names)}")
