#!/bin/sh
# Stands in for a coding agent. It reads the prompt, in which the failures of the last check are, and
# mends the first one; without any it mends what it happens to see first.
set -eu
prompt=$(cat)
failure=$(printf '%s\n' "$prompt" | sed -n 's/^not ok - \([a-z]*\):.*/\1/p' | head -n 1)
sleep 1 # Agents take their time.
case "${failure:-add}" in
  add) new='add() { echo $(($1 + $2)); }' ;;
  max) new='max() { if [ "$1" -gt "$2" ]; then echo "$1"; else echo "$2"; fi; }' ;;
  shout) new="shout() { echo \"\$1\" | tr 'a-z' 'A-Z'; }" ;;
esac
name=${failure:-add}
{ grep -v "^$name()" src/lib.sh; printf '%s\n' "$new"; } > src/lib.sh.new
mv src/lib.sh.new src/lib.sh
echo "mended $name in src/lib.sh"
