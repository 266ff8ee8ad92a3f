# What README.md does not show, run in the folder `team`.
set -e
git init -q --bare ../server.git
git init -q
git remote add origin ../server.git
printf 'team\n' > .cortex-project
cortex init
cortex git install
printf '# Weekly, 20 November 2026\n\nPresent: Ana, Ben\n\n## Decisions\n\n- We ship on Thursdays, because support is in\n\n## Actions\n\n- [ ] Ana: write the release notes by 2027-01-15\n- Ben to call the printer\n' > ../weekly.md
