"""Runs a program under gdb with the pretty-printers and compares what it shows.

usage: run.py COMPILER SOURCE_DIR BUILD_DIR
"""
import pathlib
import subprocess
import sys

compiler, source, build = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
EXPECTED = {
    "matrix": "f32[2,2] {1, 2.5, -3, 4}",
    "scalar": "i64[] {7}",
    "halves": "f16[2] {1.5, -2}",
    "brains": "bf16[2] {1.5, -2}",
    "flags": "bool[2] {true, false}",
    "many": "f32[4,5] {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ...}",
    "empty": "<empty>",
    "shape": "[2,?,3]",
    "spec": "u8[2,2]",
}
program = build / "gdb_program"
main = source / "tests/gdb/program.cc"
subprocess.run([compiler, "-std=c++20", "-g", "-O0", f"-I{source}/include", str(main), "-o", str(program), f"-L{build}", "-lweft",
                f"-Wl,-rpath,{build}"], check=True)
line = next(i for i, text in enumerate(main.read_text().splitlines(), 1) if "stop here" in text)
commands = [f"source {source}/tools/gdb/weft_gdb.py", f"break program.cc:{line}", "run"] + [f"print {name}" for name in EXPECTED]
arguments = ["gdb", "-nx", "-batch"] + [word for command in commands for word in ("-ex", command)] + [str(program)]
shown = subprocess.run(arguments, capture_output=True, text=True, timeout=120).stdout
answers = [text.split(" = ", 1)[1] for text in shown.splitlines() if text.startswith("$")]
failed = [f"{name}: expected {want!r}, gdb shows {got!r}" for (name, want), got in zip(EXPECTED.items(), answers) if want != got]
if len(answers) != len(EXPECTED) or failed:
    sys.exit("\n".join(failed) or f"gdb answered {len(answers)} of {len(EXPECTED)} questions:\n{shown}")
print(f"{len(EXPECTED)} values shown as expected")
