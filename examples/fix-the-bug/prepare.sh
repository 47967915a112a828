#!/bin/sh
# Makes a scratch repository with a small library of shell functions, three of them wrong, and a
# test suite that says so.
set -eu
rm -rf "$1"
mkdir -p "$1/src" "$1/tests"
cd "$1"
cat > src/lib.sh <<'LIB'
add() { echo $(($1 - $2)); }
max() { if [ "$1" -gt "$2" ]; then echo "$2"; else echo "$1"; fi; }
shout() { echo "$1" | tr 'A-Z' 'a-z'; }
LIB
cat > tests/run.sh <<'TESTS'
#!/bin/sh
. src/lib.sh
failed=0
expect() {
  if [ "$2" = "$3" ]; then echo "ok - $1"; else echo "not ok - $1: expected $3, got $2"; failed=$((failed + 1)); fi
}
expect add "$(add 2 3)" 5
expect max "$(max 3 7)" 7
expect shout "$(shout hello)" HELLO
echo "$failed of 3 tests fail"
exit $((failed > 0))
TESTS
git init --quiet --initial-branch work .
git add --all
git -c user.name=example -c user.email=example@example.invalid commit --quiet --message "a library with three bugs"
echo "made $(wc -l < src/lib.sh) functions and their tests"
