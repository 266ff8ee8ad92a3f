#!/bin/sh
# The whole suite in surroundings that no test may depend on, one after the other, each in a random order of its own.
# `make soak` runs it. Exit code: 0 when every run that was possible passed.
#
#   soak.sh PYTHON JOBS
python=$1 jobs=$2
failed=""

run() {  # NAME COMMAND...: the suite behind the command's words
    name=$1
    shift
    seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
    echo "== $name: --randomly-seed=$seed"
    "$@" "$python" -m pytest -q -n "$jobs" --dist worksteal --randomly-seed="$seed" || failed="$failed; $name"
}

not_run() { echo "== $1: not run, $2"; }

late="2031-03-30 02:30"  # in Europe an hour that summer time leaves out
if command -v faketime >/dev/null; then
    run "faketime '$late'" faketime "$late"
else
    not_run "faketime '$late'" "there is no faketime here (Debian: apt-get install faketime)"
fi

if [ "$(TZ=Asia/Kathmandu date +%z)" = +0545 ]; then
    run "TZ=Asia/Kathmandu" env TZ=Asia/Kathmandu
else
    not_run "TZ=Asia/Kathmandu" "this system has no time zones (Debian: apt-get install tzdata)"
fi

run "LC_ALL=C" env LC_ALL=C
run "three minutes after the boot" env CORTEX_UPTIME=180

yes >/dev/null & first=$!
yes >/dev/null & second=$!
trap 'kill "$first" "$second"' EXIT
run "two busy processes beside it"

[ -z "$failed" ] || { echo "failed:${failed#;}" >&2; exit 1; }
