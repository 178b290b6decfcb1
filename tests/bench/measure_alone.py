#!/usr/bin/env python3
"""What a person notices of vitrine-cli beyond tokens per second, on this machine, as a table in Markdown.

    measure_alone.py --cli build/release/app/vitrine-cli --model FILE [--start FILE …] [--rounds 5] [--threads 2]

Decoding beside another process that keeps one processor busy (bound to processor 0, and unbound), the time to the
first token when 1000 tokens are in the prefix cache, from the start of the process to the first byte of an answer
(for --start models too), peak resident memory with a context of 2048 that a prompt fills almost wholly, KV memory
that held nothing. Only the Python standard library is needed; Linux."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time


def bench(a, *tests):
    command = [a.cli, "bench", "--model", a.model, "--threads", str(a.threads), "--json", *tests]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.decode(errors='replace').strip()[-500:]}")
    return json.loads(done.stdout)["results"]


def decode(a):
    return bench(a, "--decode", "64", "--repeat", "1")[0]["tok_s_median"]


class Busy:
    """A process that does nothing, all the time."""

    def __init__(self, processor):
        bind = (lambda: os.sched_setaffinity(0, {processor})) if processor is not None else None
        self.process = subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=bind)

    def __enter__(self):
        time.sleep(0.3)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def run(a, model, prompt, tokens):
    """Seconds to the first byte of the answer, and peak resident memory in MiB."""
    begin = time.perf_counter()
    process = subprocess.Popen([a.cli, "run", "--model", model, "--threads", str(a.threads), "--raw", "--context", "2048", "--temperature", "0",
                                "--max-tokens", str(tokens), "--prompt", prompt], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    byte = process.stdout.read(1)
    seconds = time.perf_counter() - begin
    process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0 or not byte:
        sys.exit(f"{a.cli} run --model {model} gave no answer (status {status}).")
    return seconds, usage.ru_maxrss / 1024


def middle(values, form):
    return f"{form.format(statistics.median(values))} ({form.format(min(values))} to {form.format(max(values))})"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cli", required=True)
    p.add_argument("--model", required=True)
    p.add_argument("--start", action="append", default=[], help="more models whose start is timed")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--threads", type=int, default=2)
    a = p.parse_args()

    rows = []
    bound, unbound = [], []
    for _ in range(a.rounds):
        alone = decode(a)
        with Busy(0):
            bound.append(decode(a) / alone)
        with Busy(None):
            unbound.append(decode(a) / alone)
    rows.append(("decode beside a process bound to processor 0, against alone", middle(bound, "{:.0%}")))
    rows.append(("the same, process not bound", middle(unbound, "{:.0%}")))

    hits = []
    for _ in range(a.rounds):
        # 8 tokens after 992 cached ones, against all 1000: both until the first token.
        hit = bench(a, "--prefill", "8", "--depth", "992", "--repeat", "3")[0]
        whole = bench(a, "--prefill", "1000", "--depth", "0", "--repeat", "1")[0]
        hits.append((8 / hit["tok_s_median"]) / (1000 / whole["tok_s_median"]))
    rows.append(("first token with 1000 tokens shared, against computing them", middle(hits, "{:.3f}")))

    for model in [a.model, *a.start]:
        run(a, model, "The capital of France is the city of", 1)  # into the page cache
        starts = [run(a, model, "The capital of France is the city of", 1) for _ in range(2 * a.rounds)]
        rows.append((f"{os.path.basename(model)}: process start to the first token", middle([s for s, _ in starts], "{:.3f} s")))
    words = " ".join(["one two three four five six seven eight nine ten"] * 190)
    rows.append(("peak resident memory, context 2048, prompt of about 1900", middle([run(a, a.model, words, 20)[1] for _ in range(3)], "{:.0f} MiB")))
    many = bench(a, "--decode", "16", "--batch", "32", "--depth", "250", "--repeat", "1")[0]
    if "kv_waste" in many:
        rows.append(("KV memory in use that held nothing, 32 sequences", f"{many['kv_waste']:.1%}"))

    print("| what | median (lowest to highest) |\n|---|---|")
    for what, value in rows:
        print(f"| {what} | {value} |")


if __name__ == "__main__":
    main()
