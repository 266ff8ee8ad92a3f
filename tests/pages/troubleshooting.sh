# What docs/troubleshooting.md does not show, run in the folder `notes`.
set -e
git init -q -b main
printf 'notes\n' > .cortex-project
cortex init
cortex git install
git add .
git commit -qm begin
printf -- '---\ntitle: "Plums\n---\n\nPlums ripen in August.\n' > Plums.md
