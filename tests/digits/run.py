#!/usr/bin/env python3
"""The demo at a small scale: it learns, a step that fails changes nothing, its page is whole, and its log is plain.

usage: run.py PROGRAM
"""
import base64
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

program = sys.argv[1]
IMAGES, STEPS = 600, 60


def expect(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def run(*arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)


def learn(folder, *more):
    done = run("--images", IMAGES, "--steps", STEPS, "--out", folder, *more)
    expect(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")
    return done


def epochs(log):
    """The figures of each line of progress: {"loss": 0.5, ...}."""
    lines = [line for line in log.splitlines() if line.startswith("Epoch ")]
    return [{name: float(value) for name, value in re.findall(r" - (\w+): ([0-9.e+-]+)", line)} for line in lines]


def check_log(done):
    for name, text in (("standard output", done.stdout), ("standard error", done.stderr)):
        strange = sorted(set(re.findall(r"[^\x20-\x7e\n]", text)))
        expect(not strange, f"{name} of a log has the characters {strange}")
    last = [line for line in done.stderr.splitlines() if line.startswith("Epoch ")][-1]
    expect(re.fullmatch(r"Epoch 10/10 - 6/6 - \d+s \d+ms/step - accuracy: \S+ - loss: \S+ - test_accuracy: \S+ - learning_rate: \S+", last), last)
    seen = epochs(done.stderr)
    expect(len(seen) == 10, f"there are {len(seen)} epochs instead of 10")
    expect(seen[-1]["loss"] < 0.6 * seen[0]["loss"], f"the loss goes from {seen[0]['loss']} to {seen[-1]['loss']}")
    expect(seen[-1]["learning_rate"] < seen[4]["learning_rate"], "the learning rate stays as it is")


def check_failure(done):
    found = re.search(r"Step (\d+) was given .*`check: the loss must be finite\.` Of (\d+) Variables.*, (\d+) have changed\.", done.stderr)
    expect(found, f"no step has failed: {done.stderr}")
    step, variables, changed = map(int, found.groups())
    # 8 of the net, 2 momenta for each, the learning rate, the counter of steps
    expect((step, variables, changed) == (STEPS // 2 + 1, 26, 0), found[0])


def check_page(folder):
    with open(f"{folder}/digits.html", encoding="utf-8") as file:
        text = file.read()
    page = ElementTree.fromstring(text)  # well-formed: each tag that is opened is closed
    at = "{http://www.w3.org/1999/xhtml}"
    tiles = [div for div in page.iter(f"{at}div") if div.find(f"{at}i") is not None]
    # 12 of each digit, then mistakes
    wrong = sum(tile.get("class") == "wrong" for tile in tiles[120:])
    expect(len(tiles) >= 120 and wrong == len(tiles) - 120, f"{len(tiles)} digits, of which {wrong} are mistakes")
    losses = next(page.iter(f"{at}path")).get("d")
    expect(len(re.findall(r"[ML][\d.]+ [\d.]+", losses)) == STEPS, "the curve has not a point for each step")
    cells = [int(cell.text) for cell in page.iter(f"{at}td")]
    expect(len(cells) == 100 and sum(cells) == IMAGES // 5, f"the confusion matrix has {len(cells)} entries, their sum is {sum(cells)}")
    accuracy = re.search(r"<b>([\d.]+) %</b><span>of the test digits", text)
    expect(abs(float(accuracy[1]) - 100 * sum(cells[::11]) / sum(cells)) < 0.01, f"{accuracy[1]} % and {sum(cells[::11])} of {sum(cells)}")

    bitmap = base64.b64decode(re.search(r"data:image/bmp;base64,([\w+/=]+)", text)[1], validate=True)
    size, start, width, height, bits = struct.unpack_from("<2xI4xI4xIIxxH", bitmap)
    expect(bitmap[:2] == b"BM" and len(bitmap) == size == start + width * height, "the bitmap has not the size that it says")
    expect((width, bits) == (20 * 28, 8) and height == (len(tiles) + 19) // 20 * 28, f"the bitmap is {width} x {height}")
    drawn = bitmap[start:]
    expect(max(drawn) > 200 and drawn.count(0) > len(drawn) // 4, "the bitmap has no ink or no paper")
    expect("http:" not in text.replace("http://www.w3.org/1999/xhtml", "") and "https:" not in text, "the page needs the network")
    expect(os.path.getsize(f"{folder}/step.html") > 1000, "there is no picture of the step")


def check_terminal(folder):
    """On a terminal there is a bar, drawn over and over, and each epoch ends with its line."""
    leader, follower = pty.openpty()
    child = subprocess.Popen([program, "--images", "200", "--steps", "4", "--out", folder], stdout=subprocess.DEVNULL, stderr=follower)
    os.close(follower)
    shown = b""
    try:
        while part := os.read(leader, 4096):
            shown += part
    except OSError:  # the other side is closed
        pass
    expect(child.wait() == 0, shown)
    text = shown.decode()
    expect("Epoch 2/2\r\n" in text and f"\r2/2 {'━' * 20} " in text, repr(text))


def check_refusals(folder):
    number = "digits: --images must be a multiple of 50 from 100 to 1000000, and `{}` is not."
    for arguments, sentence in (
            (["--image", "5"], "digits: there is no option `--image`; --help lists those that there are."),
            (["--images"], "digits: --images needs a value behind it; --help says which."),
            (["--images", "many"], number.format("many")),
            (["--images", "120"], number.format("120")),
            (["--images", "1e3"], number.format("1e3")),
            (["--steps", "0"], "digits: --steps must be a whole number from 1 to 1000000, and `0` is not."),
            (["--seed", "99999999999"], "digits: --seed must be a whole number from 0 to 2147483647, and `99999999999` is not."),
            (["--out", ""], "digits: --out needs a value behind it; --help says which.")):
        done = run(*arguments)
        expect((done.returncode, done.stderr, done.stdout) == (2, sentence + "\n", ""), f"{arguments}: {done}")
    in_the_way = f"{folder}/digits.html"  # a file where a folder is wanted
    done = run("--images", "100", "--steps", "1", "--out", in_the_way)
    expect(done.returncode == 2 and done.stderr == f"digits: {in_the_way} cannot be made a folder; give --out another one.\n", done)
    done = run("--help")
    expect(done.returncode == 0 and "--images N" in done.stdout and not done.stderr, done)


with tempfile.TemporaryDirectory() as folder:
    first, again, other = learn(folder), learn(folder), learn(f"{folder}/other", "--seed", "2")
    check_log(first)
    check_failure(first)
    check_page(folder)
    losses = [[epoch["loss"] for epoch in epochs(done.stderr)] for done in (first, again, other)]
    expect(losses[0] == losses[1] != losses[2], f"a seed does not decide: {losses}")
    check_terminal(folder)
    check_refusals(folder)
print("the demo learns, fails without a trace, and leaves a page")
