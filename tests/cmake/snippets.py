"""Compiles and runs every complete program in README.md and docs/*.md, and compares each `print` line with the comment behind it. Pieces of a page
that begin with `// --- ` are one program.

usage: snippets.py COMPILER SOURCE_DIR BUILD_DIR
"""
import pathlib
import re
import subprocess
import sys
import tempfile

compiler, source, build = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
programs = 0
for page in [source / "README.md", source / "CONTRIBUTING.md", *sorted((source / "docs").glob("*.md"))]:
    texts = re.findall(r"```cpp\n(.*?)```", page.read_text(), re.S)
    pieces = [text for text in texts if text.startswith("// --- ")]
    for text in [text for text in texts if text not in pieces] + ["\n".join(pieces)]:
        if "int main" not in text:
            continue
        with tempfile.TemporaryDirectory() as folder:
            main, program = pathlib.Path(folder) / "main.cc", pathlib.Path(folder) / "program"
            main.write_text(text)
            subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{source}/include", main, "-o", program, f"-L{build}", "-lweft",
                            f"-Wl,-rpath,{build}"], check=True)
            printed = subprocess.run([program], check=True, capture_output=True, text=True, cwd=folder).stdout.splitlines()
        promised = re.findall(r"printf?\(.*\);\s*// (.*)", text)
        if printed != promised:
            sys.exit(f"{page.name} promises {promised} and prints {printed}")
        programs += 1
if programs == 0:
    sys.exit("no program was found")
print(f"{programs} programs print what the pages say")
