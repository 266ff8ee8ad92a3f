# What docs/meetings.md does not show, run in the folder `notes`.
set -e
git init -q
printf 'club\n' > .cortex-project
cortex init
cortex git install
printf '# Weekly, 3 November 2026\n\nPresent: Ana, Ben, Cleo\n\n## Notes\n\n- Sign-up is slow on phones.\n- @cleo will measure sign-up on a phone\n\n## Decisions\n\n- We ship on Thursdays, because support is in\n\n## Actions\n\n- [ ] Ana: write the release notes by 2027-01-15\n- Ben to call the printer\n\n## Open questions\n\n- Who pays for the second server?\n' > ../weekly.md
