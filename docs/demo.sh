#!/bin/sh
# What a new user should see first: keep something, find it, share it, give minutes; then ask this project's own memory why it is as it is.
set -eu
cd "$(dirname "$0")/.."
here=$PWD
cortex=$here/.venv/bin/cortex
show() {
    printf '\n\033[1m$ cortex'
    for word in "$@"; do case $word in *" "*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac; done
    printf '\033[0m\n'
    "$cortex" "$@"
}
if [ ! -t 1 ]; then
    show() {
        printf '\n$ cortex'
        for word in "$@"; do case $word in *" "*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac; done
        printf '\n'
        "$cortex" "$@"
    }
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
printf 'A vault of your own, for a minute:\n'
mkdir "$scratch/notes" && cd "$scratch/notes"
show init
show capture "Gotcha: the staging database drops idle connections after 30 s; ping it every 20 s" --tags db --project shop
show search staging connections

printf '\nA team of two, for another:\n'
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
git init -q --bare "$scratch/team"
git init -q && git remote add origin "$scratch/team"
show sync
git clone -q "$scratch/team" "$scratch/ben" && cd "$scratch/ben"
show capture "Decision: use SQLite, because it is one file" --project shop
show sync
cd "$scratch/notes"
show capture "Decision: ping the database every 20 s" --project shop
show sync
printf "\n\$ grep '^- ' briefings/shop/decisions.md\n"
grep '^- ' briefings/shop/decisions.md

printf '\nThe minutes of a meeting, as they are:\n'
cp "$here/docs/example/design-review-search.md" "$scratch/minutes.md"
show capture --type meeting ../minutes.md --project shop
show meetings
show actions

printf '\nA session of an agent, as its hooks tell it, and what it leaves:\n'
hook() { # EVENT MORE
    printf '$ cortex hook %s --host claude  # %s\n' "$1" "$2"
    printf '{"session_id": "demo-%s", "cwd": "%s", %s}' "$$" "$scratch/notes" "$2" | "$cortex" hook "$1" --host claude >/dev/null
}
hook session-start '"source": "startup"'
hook user-prompt-submit '"prompt": "Mend the flaky cart test. From now on never use sleep in a test."'
hook stop '"last_assistant_message": "Understood. The cart test waits for an event now and passed a hundred times."'
hook session-end '"reason": "exit"'
show session list
show brief --project notes

cd "$here"
cd vault
printf "\nThis project's own memory, in vault/:\n"
show status
show search why not os.replace -n 2
show search 'type:gotcha "power fails"' -n 2
show search how do briefings merge -n 3
show brief --budget 800
show remind why do we not use os.replace to publish a note
show graph decision-topic-identity --depth 1
show show --why decision-topic-identity
