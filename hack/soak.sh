#!/usr/bin/env bash
# All tests with the full counts: everything once with the race detector, then 10,000 killed stories and 50 kills in the lab, then
# every property (what uses rapid) 300,000 times, then every fuzzer for ten minutes. Properties and fuzzers are found by themselves.
#   usage: hack/soak.sh          runs everything; takes hours
#          hack/soak.sh --list   says what it would run
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}

# The stories' own property has a count of its own with HOLDFAST_SOAK, since one check of it takes long.
counted="./internal/stories ./internal/labtests"
properties=$(grep -rl --include='*_test.go' 'pgregory.net/rapid' api client cmd internal | xargs -n 1 dirname | sort -u | sed 's|^|./|' | grep -vx ./internal/stories)
fuzzers=$(grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' api client cmd internal | sed -E 's|^(.*)/[^/]*:func (.*)$|./\1 \2|' | sort -u)

if [ "${1:-}" = --list ]; then
  printf 'properties of %s\n' $properties
  printf 'fuzzer %s\n' "$fuzzers" | sed '2,$s/^/fuzzer /'
  exit
fi
rest=$($GO list ./... | grep -v -e /internal/stories -e /internal/labtests)
HOLDFAST_SOAK=1 $GO test -race -timeout 6h $rest
HOLDFAST_SOAK=1 $GO test -v -timeout 6h $counted
for package in $properties; do
  $GO test -timeout 6h "$package" -rapid.checks=300000
done
while read -r package fuzzer; do
  $GO test -run '^$' -fuzz "^$fuzzer\$" -fuzztime 10m -fuzzminimizetime 10x "$package" </dev/null
done <<<"$fuzzers"
