# What docs/teams.md does not show, run in the folder `notes`.
set -e
mkdir -p ../ana ../ben
git init -q --bare ../server.git
git -C ../server.git symbolic-ref HEAD refs/heads/main
git clone -q ../server.git ../ana/notes 2>/dev/null
cd ../ana/notes
git checkout -q -b main
printf 'team\n' > .cortex-project
printf '# Rota\n\nMonday: Ana\nTuesday: Ben\n' > Rota.md
cortex init
cortex git install
git add .
git commit -qm begin
git push -q -u origin main
git clone -q ../../server.git ../../ben/notes
cd ../../ben/notes
cortex git install
