#!/bin/sh
# Prints the crates with their lines and their longest files: sh tests/structure.sh
cd "$(dirname -- "$0")/.." || exit 1
exec cargo test -q -p unstuck-tests --test tidy the_structure_of_the_code -- --nocapture
