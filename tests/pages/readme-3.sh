# What README.md does not show, run in the folder `shop`.
set -e
git init -q -b main
printf 'x = 1\n' > cart.py
printf '.claude/settings.local.json\n' > .gitignore
git add .
git commit -qm first
printf 'shop\n' > .cortex-project
