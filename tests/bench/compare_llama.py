#!/usr/bin/env python3
"""Compares vitrine-cli with llama.cpp's llama-bench on one machine, in pairs that alternate.

    compare_llama.py --cli build/release/app/vitrine-cli --llama-bench PATH --model F16=FILE --model Q8_0=FILE …
                     [--prefill 256,2048] [--decode 64] [--depth 1024] [--threads 2] [--rounds 5] [--repeat 1]
                     [--batched-bench PATH --batch 8] [--json]

Machines drift by tens of per cent from minute to minute, so single figures say little. Each round runs both
programs one after the other (every other round in the reverse order), each as a process of its own; what counts
is the ratio within a round, and its median over the rounds. The first round runs llama.cpp with and without flash
attention; the better of the two in each test runs in the other rounds. Prompts are timed on an empty cache,
decoding on an empty one and behind --depth tokens. Prints tables in Markdown. Only the Python standard library is
needed."""
import argparse
import json
import re
import statistics
import subprocess
import sys
import time


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]} ended with status {done.returncode}: {done.stderr.decode(errors='replace').strip()[-500:]}")
    return done.stdout


def ours(a, model):
    """Speeds and shares of the read bandwidth by test, and the machine."""
    speeds, shares, reads, machine = {}, {}, [], {}
    first = ["--prefill", ",".join(map(str, a.prefill)), "--decode", str(a.decode), "--depth", "0"]
    behind = ["--decode", str(a.decode), "--depth", str(a.depth)]
    for tests in [first, behind] if a.depth else [first]:
        reply = json.loads(run([a.cli, "bench", "--model", model, "--threads", str(a.threads), "--repeat", str(a.repeat), "--json"] + tests))
        machine = reply["machine"]
        reads.append(machine["read_gb_s"])
        for r in reply["results"]:
            key = (r["test"], r["tokens"], r["depth"])
            speeds[key] = r["tok_s_median"]
            shares[key] = r["share_of_read_bandwidth"]
    return speeds, shares, statistics.median(reads), machine


def theirs(a, model, flash, keys):
    """Speeds of these tests."""
    speeds = {}
    for depth in sorted({k[2] for k in keys}):
        prompts = [str(k[1]) for k in keys if k[0] == "prefill" and k[2] == depth]
        answers = [str(k[1]) for k in keys if k[0] == "decode" and k[2] == depth]
        # Decoding on an empty cache warms up once, everything else takes long enough.
        extra = 0 if prompts or depth else 1
        command = [a.llama_bench, "-m", model, "-t", str(a.threads), "-p", ",".join(prompts) or "0", "-n", ",".join(answers) or "0",
                   "-d", str(depth), "-fa", str(flash), "-ngl", "0", "-r", str(a.repeat + extra), "--no-warmup", "-o", "json"]
        for row in json.loads(run(command)):
            test, tokens = ("prefill", row["n_prompt"]) if row["n_prompt"] else ("decode", row["n_gen"])
            speeds[(test, tokens, row.get("n_depth", 0))] = statistics.median(row["samples_ts"][extra:])
    return speeds


def batched(a, model):
    """System tokens per second of both, decoding a.batch sequences at once."""
    def mine():
        reply = json.loads(run([a.cli, "bench", "--model", model, "--threads", str(a.threads), "--decode", "64", "--batch", str(a.batch),
                                "--repeat", str(a.repeat), "--json"]))
        return reply["results"][0]["tok_s_median"]

    def other():
        best = 0.0
        for flash in ("on", "off"):
            text = run([a.batched_bench, "-m", model, "-t", str(a.threads), "-tb", str(a.threads), "-c", "2048", "-npp", "16", "-ntg", "64",
                        "-npl", str(a.batch), "-fa", flash, "--output-format", "jsonl"]).decode()
            rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
            best = max([best] + [row["speed_tg"] for row in rows])
        return best

    return mine, other


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cli", required=True)
    p.add_argument("--llama-bench", required=True)
    p.add_argument("--batched-bench", help="llama-batched-bench, for the batch of decodes")
    p.add_argument("--model", required=True, action="append", help="NAME=FILE, or FILE; may be repeated")
    p.add_argument("--prefill", default="256,2048")
    p.add_argument("--decode", type=int, default=64)
    p.add_argument("--depth", type=int, default=1024)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--repeat", type=int, default=1)
    p.add_argument("--json", action="store_true", help="one JSON object instead of the tables")
    a = p.parse_args()
    a.prefill = [int(n) for n in a.prefill.split(",")]
    models = [re.fullmatch(r"(?:(\w+)=)?(.*)", m).groups() for m in a.model]

    begin = time.monotonic()
    say = lambda text: print(f"{time.monotonic() - begin:5.0f} s  {text}", file=sys.stderr, flush=True)  # noqa: E731
    pairs, shares, reads, better, machine = {}, {}, [], {}, {}
    # Rounds go over all models, so that each model's pairs lie far apart in time.
    for i in range(a.rounds):
        for name, path in models:
            name = name or path.rsplit("/", 1)[-1]

            def peer():
                if i > 0:
                    return peer_better()
                tests = [("prefill", n, 0) for n in a.prefill] + [("decode", a.decode, 0)] + ([("decode", a.decode, a.depth)] if a.depth else [])
                both = [theirs(a, path, flash, tests) for flash in (0, 1)]
                for test in tests:
                    better[name, test] = int(both[1][test] > both[0][test])
                return {test: both[better[name, test]][test] for test in tests}

            def peer_better():
                speeds = {}
                for flash in (0, 1):
                    tests = [test for (n, test), f in better.items() if n == name and f == flash]
                    if tests:
                        speeds |= theirs(a, path, flash, tests)
                return speeds

            if i % 2 == 0:
                (mine, share, read, machine), other = ours(a, path), peer()
            else:
                other, (mine, share, read, machine) = peer(), ours(a, path)
            reads.append(read)
            for key in mine:
                pairs.setdefault((name,) + key, []).append((mine[key], other[key]))
                shares.setdefault((name,) + key, []).append(share[key])
            say(f"round {i + 1} of {a.rounds}, {name}: " + ", ".join(
                f"{t} {n} at {d}: {mine[t, n, d]:.1f} / {other[t, n, d]:.1f} = {mine[t, n, d] / other[t, n, d]:.2f}" for t, n, d in mine))
            if a.batched_bench:
                programs = batched(a, path)
                speeds = [program() for program in (programs if i % 2 == 0 else programs[::-1])][:: 1 if i % 2 == 0 else -1]
                pairs.setdefault((name, "batch", a.batch, 0), []).append(tuple(speeds))
                say(f"    batch of {a.batch}: {speeds[0]:.1f} / {speeds[1]:.1f} = {speeds[0] / speeds[1]:.2f}")

    results = []
    for (name, test, tokens, depth), both in pairs.items():
        ratios = [x / y for x, y in both]
        share = shares.get((name, test, tokens, depth))
        results.append({"model": name, "test": test, "tokens": tokens, "depth": depth, "vitrine_tok_s": statistics.median(x for x, _ in both),
                        "llama_tok_s": statistics.median(y for _, y in both), "ratio_median": statistics.median(ratios),
                        "ratio_min": min(ratios), "ratio_max": max(ratios),
                        "share_of_read_bandwidth": statistics.median(share) if share else None})
    if a.json:
        print(json.dumps({"machine": machine | {"read_gb_s": statistics.median(reads)}, "rounds": a.rounds, "results": results}))
        return
    print(f"{machine['cpu']}, {a.threads} threads, read bandwidth {statistics.median(reads):.1f} GB/s ({min(reads):.1f} to {max(reads):.1f}), "
          f"{a.rounds} rounds\n")
    print("| model | test | vitrine, tok/s | llama.cpp, tok/s | ratio: median (lowest to highest) | of read bandwidth |")
    print("|---|---|---|---|---|---|")
    for r in results:
        what = {"prefill": f"prompt of {r['tokens']}", "decode": f"decode {r['tokens']}", "batch": f"{r['tokens']} decodes at once"}[r["test"]]
        if r["depth"]:
            what += f" after {r['depth']}"
        used = f"{100 * r['share_of_read_bandwidth']:.0f} %" if r["test"] == "decode" and r["share_of_read_bandwidth"] else ""
        print(f"| {r['model']} | {what} | {r['vitrine_tok_s']:.0f} | {r['llama_tok_s']:.0f} | "
              f"{r['ratio_median']:.2f} ({r['ratio_min']:.2f} to {r['ratio_max']:.2f}) | {used} |")


if __name__ == "__main__":
    main()
