# What docs/meetings.md does not show, run in the folder `notes`.
set -e
sed -i 's/^- Ben to call the printer/&\n- [ ] Ben: book a room by 2027-02-01/' records/meeting/*.md
