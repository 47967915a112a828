#!/bin/sh
# Records the logs of this folder with today's program: sh tests/golden/record.sh path/to/unstuck
# The client of the tests, stand-in, is taken from the folder of the program.
#
# Only for a new format version, into a new folder: what a release has written stays as it is.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
out=$here/v4
unstuck=$(CDPATH= cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
stage=/tmp/unstuck-golden
rm -rf "$stage"
mkdir -p "$stage/state" "$stage/scratch"
export XDG_STATE_HOME="$stage/state" SCRATCH="$stage/scratch" API_KEY=not-a-real-key
PATH=$(dirname -- "$unstuck"):$PATH

# Enters a new workspace.
workspace() {
    mkdir -p "$stage/$1"
    cd "$stage/$1"
    rm -f "$SCRATCH"/*
}

# Runs, and wants this exit status.
wants() {
    wanted=$1
    shift
    status=0
    "$unstuck" "$@" || status=$?
    [ "$status" = "$wanted" ] || { echo "exit status $status, not $wanted" >&2; exit 1; }
}

until_exists() {
    until [ -e "$1" ]; do sleep 0.02; done
}

keep() {
    rm -f "$out/$1.jsonl"
    "$unstuck" export @last --output "$out/$1.jsonl"
}

# Two steps, a script that checks, retries, a stage that is raised, a step that is skipped.
workspace stuck
cat >flow.yaml <<'END'
name: stuck
version: "1"
timeout: 5m
steps:
  prepare:
    worker: CUSTOM
    instructions: '[ -e ready ] || { touch ready; echo "not ready: $API_KEY" >&2; exit 7; }'
    capabilities: [EDIT]
    on_failure: retry
    max_retries: 1
    outputs: [{name: ready, path: ready}]
  mend:
    worker: COMMAND
    command: cat >/dev/null; echo attempt >>notes.txt; unstuck verdict incomplete --reason "parser::comma fails" --fingerprint test:parser::comma
    depends_on: [prepare]
    instructions: Mend the parser.
    completion_check: {claim: true}
    max_iterations: 9
    convergence: {enabled: true}
  publish:
    worker: CUSTOM
    depends_on: [mend]
    instructions: "true"
    capabilities: [RUN_COMMANDS]
END
wants 3 run flow.yaml
keep stuck

# A worker and a check that are lost with their supervisor, a store that is lost, more iterations.
workspace crashed
hold='[ -e "$SCRATCH/$0" ] || { touch "$SCRATCH/$0"; sleep 600; }'
for what in worker check; do
    if [ $what = worker ]; then set -- run "count to three" --with "sh -c '$hold' worker; echo line >>notes.txt" \
        --check "sh -c '$hold' check; [ \$(wc -l <notes.txt) -ge 3 ]" --iterations 2 --baseline off --observations 1; else set -- resume; fi
    "$unstuck" "$@" &
    until_exists "$SCRATCH/$what"
    kill -9 $!
    wait $! || true
done
rm -rf "$stage"/state/unstuck/crashed-*/runs/*/store
wants 2 resume
wants 0 resume --add-iterations 2 --hint "one line more"
keep crashed

# Answers that cannot be read or name no id, a service that is out of order, a person who stops and answers.
workspace answered
cat >worker.sh <<'END'
echo call >>"$SCRATCH/calls"
echo work >>notes.txt
case $(wc -l <"$SCRATCH/calls") in
    1) printf '{"decision": "fertig\377"}' >"$UNSTUCK_DECISION_FILE" ;;
    2) echo "I will not output COMPLETE yet, and the key is $API_KEY" ;;
    3) printf '{"decision": "waiting", "retry_after": 1}' >"$UNSTUCK_DECISION_FILE" ;;
    4) touch "$SCRATCH/stop" && sleep 600 ;;
    5) unstuck verdict blocked --needs "npm login" ;;
    6) touch "$SCRATCH/limited" && echo "API Error: 529 overloaded" && exit 1 ;;
    7) printf '{"decision": "complete", "check_id": "$UNSTUCK_CHECK_ID"}' >"$UNSTUCK_DECISION_FILE" ;;
esac
END
"$unstuck" run "publish the package" --with "sh worker.sh" --claim &
until_exists "$SCRATCH/stop"
kill -INT $!
wait $! || true
wants 4 resume
wants 0 answer @last "logged in"
keep answered

# A baseline, a test that vanishes, a new failure.
workspace gated
cat >check.sh <<'END'
echo 1..2
echo 'not ok 1 - old'
[ -e broken ] && echo 'not ok 2 - new' || echo 'ok 2 - new'
exit 1
END
cat >worker.sh <<'END'
echo call >>"$SCRATCH/calls"
case $(wc -l <"$SCRATCH/calls") in
    1) touch broken ;;
    2) cp check.sh kept.sh && echo "echo 'ok 2 - new'" >check.sh ;;
    3) mv kept.sh check.sh && rm broken ;;
esac
END
wants 0 run "break nothing" --with "sh worker.sh" --no-worse "sh check.sh"
keep gated

# A client that is limited, another one that takes over and is limited, too, a kick, progress of a conversation.
workspace steered
mkdir -p "$stage/bin"
for client in claude codex; do ln -s "$(dirname -- "$unstuck")/stand-in" "$stage/bin/$client"; done
export STAND_IN_PLAN="$stage/plan" STAND_IN_LOG="$SCRATCH/clients" IS_SANDBOX=1
cat >"$stage/plan" <<'END'
{"claude": [[{"cost": 0.5}, {"say": "I begin."}, {"rate_limit": {"resets": "11pm (UTC)"}}],
            [{"write": {"path": "notes.txt", "content": "done\n"}}, {"sleep": 2500}, {"say": "VERDICT: COMPLETE"}]],
 "codex": [[{"rate_limit": {"resets": "11pm (UTC)"}}]]}
END
PATH=$stage/bin:$PATH "$unstuck" run "write the notes" --with claude,codex --claim --yes >"$SCRATCH/out" &
until grep -q "waits for a service" "$SCRATCH/out"; do sleep 0.1; done
wants 0 kick
wait $! || true
keep steered
rm -rf "$stage"
