# What README.md does not show, run in the folder `notes`.
set -e
mkdir trees
printf '# Apple trees\n\nPrune them in February, when it is dry.\n\n- [ ] buy a saw 📅 2027-02-01\n' > 'trees/Apple trees.md'
git init -q
git add .
git commit -qm notes
