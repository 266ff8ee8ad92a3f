# What README.md does not show, run in the folder `shop`.
set -e
git init -q -b main
printf 'x = 1\n' > cart.py
git add .
git commit -qm first
printf 'shop\n' > .cortex-project
