#!/usr/bin/env python3
"""Compares vitrine-cli with llama.cpp's llama-bench on one machine, in pairs that alternate.

    compare_llama.py --cli build/release/app/vitrine-cli --llama-bench PATH --model FILE
                     [--prefill 256] [--decode 128] [--depth 0] [--threads 2] [--rounds 6] [--repeat 2] [--json]

Machines drift by tens of per cent from minute to minute, so single figures say little. Each round runs both
programs one after the other (every other round in the reverse order), each as a process of its own; what counts
is the ratio within a round, and its median over the rounds. Only the Python standard library is needed."""
import argparse
import json
import statistics
import subprocess
import sys


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]} ended with status {done.returncode}: {done.stderr.decode(errors='replace').strip()[-500:]}")
    return json.loads(done.stdout)


def ours(a):
    reply = run([a.cli, "bench", "--model", a.model, "--threads", str(a.threads), "--prefill", a.prefill, "--decode", a.decode,
                 "--depth", a.depth, "--batch", "1", "--repeat", str(a.repeat), "--json"])
    speeds = {(r["test"], r["tokens"], r["depth"]): r["tok_s_median"] for r in reply["results"]}
    shares = {(r["test"], r["tokens"], r["depth"]): r["share_of_read_bandwidth"] for r in reply["results"]}
    return speeds, shares, reply["machine"]


def theirs(a):
    speeds = {}
    for row in run([a.llama_bench, "-m", a.model, "-t", str(a.threads), "-p", a.prefill, "-n", a.decode, "-d", a.depth,
                    "-fa", "1", "-ngl", "0", "-r", str(a.repeat), "-o", "json"]):
        test, tokens = ("prefill", row["n_prompt"]) if row["n_prompt"] else ("decode", row["n_gen"])
        speeds[(test, tokens, row.get("n_depth", 0))] = statistics.median(row["samples_ts"])
    return speeds


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cli", required=True)
    p.add_argument("--llama-bench", required=True)
    p.add_argument("--model", required=True)
    p.add_argument("--prefill", default="256")
    p.add_argument("--decode", default="128")
    p.add_argument("--depth", default="0")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=6)
    p.add_argument("--repeat", type=int, default=2)
    p.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    a = p.parse_args()

    pairs = {}
    shares = {}
    reads = []
    for i in range(a.rounds):
        if i % 2 == 0:
            (mine, share, machine), other = ours(a), theirs(a)
        else:
            other, (mine, share, machine) = theirs(a), ours(a)
        reads.append(machine["read_gb_s"])
        for key in mine:
            if key not in other:
                sys.exit(f"llama-bench gave no figure for {key}; it gave {sorted(other)}")
            pairs.setdefault(key, []).append((mine[key], other[key]))
            shares.setdefault(key, []).append(share[key])
        if not a.json:
            print(f"round {i + 1} of {a.rounds}: " + ", ".join(
                f"{t} {n} at {d}: {mine[t, n, d]:.1f} / {other[t, n, d]:.1f} = {mine[t, n, d] / other[t, n, d]:.2f}"
                for t, n, d in mine), file=sys.stderr, flush=True)

    results = []
    for (test, tokens, depth), both in pairs.items():
        ratios = [x / y for x, y in both]
        results.append({"test": test, "tokens": tokens, "depth": depth, "vitrine_tok_s": statistics.median(x for x, _ in both),
                        "llama_tok_s": statistics.median(y for _, y in both), "ratio_median": statistics.median(ratios),
                        "ratio_min": min(ratios), "ratio_max": max(ratios),
                        "share_of_read_bandwidth": statistics.median(shares[test, tokens, depth])})
    if a.json:
        print(json.dumps({"machine": machine | {"read_gb_s": statistics.median(reads)}, "rounds": a.rounds, "results": results}))
        return
    print(f"{machine['cpu']}, {a.threads} threads, read bandwidth {statistics.median(reads):.1f} GB/s, {a.rounds} rounds")
    print("test     tokens  depth   vitrine tok/s   llama.cpp tok/s   ratio: median (min to max)   of read bandwidth")
    for r in results:
        print(f"{r['test']:8} {r['tokens']:6} {r['depth']:6} {r['vitrine_tok_s']:15.1f} {r['llama_tok_s']:17.1f}   "
              f"{r['ratio_median']:.2f} ({r['ratio_min']:.2f} to {r['ratio_max']:.2f})" + " " * 12 + f"{100 * r['share_of_read_bandwidth']:.0f} %")


if __name__ == "__main__":
    main()
