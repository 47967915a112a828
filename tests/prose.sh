#!/bin/sh
# Prints the lines of prose to rewrite, in one folder or in all: sh tests/prose.sh [FOLDER]
cd "$(dirname -- "$0")/.." || exit 1
FOLDER=${1:-} exec cargo test -q -p unstuck-tests --test tidy lines_to_rewrite -- --nocapture
