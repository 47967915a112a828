#!/bin/sh
# Stands in for a coding agent that always says it is done: it mends the first test that the prompt names as red, and commits
# only when it is told to.
set -eu
prompt=$(cat)
red=$(printf '%s\n' "$prompt" | sed -n 's/^- red: \([a-z]*\).*/\1/p' | head -n 1)
mend() { { grep -v "^$1()" src/lib.sh; printf '%s\n' "$2"; } >src/lib.sh.new && mv src/lib.sh.new src/lib.sh; }
case "$red" in
  add) mend add 'add() { echo $(($1 + $2)); }' ;;
  max) mend max 'max() { if [ "$1" -gt "$2" ]; then echo "$1"; else echo "$2"; fi; }' ;;
  shout) mend shout "shout() { echo \"\$1\" | tr 'a-z' 'A-Z'; }" ;;
esac
case "$prompt" in
  *"- not committed:"*)
    git -c user.name=example -c user.email=example@example.invalid commit --quiet --all --message "mend the library" || true ;;
esac
printf 'All is done.\n\n```json\n{"status": "completed", "summary": "%s"}\n```\n' "mended ${red:-nothing}"
