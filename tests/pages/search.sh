# What docs/search.md does not show, run in the folder `notes`.
set -e
git init -q
cortex init
cortex git install
printf 'garden\n' > .cortex-project
printf '# Apple trees\n\nPrune them in February, when it is dry.\n' > 'Apple trees.md'
printf '# Plum trees\n\nPrune them in summer, never in February.\n' > 'Plum trees.md'
cortex save "Prune plums in July" --type decision --why "the wounds close" --tags plums
cortex search plums
