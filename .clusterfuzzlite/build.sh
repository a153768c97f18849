#!/bin/bash -eu
# Builds every fuzz target for ClusterFuzzLite or OSS-Fuzz, with its seeds and options.
#
# Takes from the environment SRC (the sources are in $SRC/oriole), OUT (where binaries go) and SANITIZER. Outside of
# the image: RUSTUP_TOOLCHAIN=nightly OUT=/tmp/out SANITIZER=address .clusterfuzzlite/build.sh
# Every target becomes $OUT/TARGET, $OUT/TARGET_seed_corpus.zip and $OUT/TARGET.options.

root=${SRC:+$SRC/oriole}
if [[ ! -d $root ]]; then
    root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fi
cd "$root"
mkdir -p "$OUT"

# Rust has no UndefinedBehaviorSanitizer; coverage is instrumented by the flags of the image.
case ${SANITIZER:-address} in
address) sanitizer=address ;;
*) sanitizer=none ;;
esac

# Assertions stay on: a target's findings are assertions.
cargo fuzz build -O --debug-assertions --sanitizer "$sanitizer"

built=${CARGO_TARGET_DIR:-$root/fuzz/target}/x86_64-unknown-linux-gnu/release
pack() { # ARCHIVE FOLDER: in the image there is zip, and python3 wherever libFuzzer is built
    if command -v zip >/dev/null; then
        rm -f "$1" && zip --quiet --junk-paths --recurse-paths "$1" "$2"
    else
        (cd "$2" && python3 -m zipfile -c "$1" *)
    fi
}
for glue in fuzz/fuzz_targets/*.rs; do
    target=$(basename "$glue" .rs)
    seeds=$(sed -n 's,^//! Seeds: ,,p' "$glue")
    cp "$built/$target" "$OUT/"
    pack "$OUT/${target}_seed_corpus.zip" "$root/$seeds"
    length=131072
    [ "$seeds" = corpus/bytes ] && length=4096
    # As `cargo fuzz run` has it: gcc makes AddressSanitizer take static variables of one name in SQLite for one.
    printf '%s\n' '[libfuzzer]' 'len_control = 0' "max_len = $length" 'timeout = 20' 'rss_limit_mb = 2048' \
        '[asan]' 'detect_odr_violation = 0' >"$OUT/$target.options"
done
