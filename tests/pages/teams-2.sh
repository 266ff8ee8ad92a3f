# What docs/teams.md does not show, run in the folder `notes`.
set -e
cd ../ana/notes
cortex sync
cd ../../ben/notes
cortex sync
sed -i 's/Tuesday: Ben/Tuesday: Cleo/' Rota.md
GIT_AUTHOR_NAME=Ben GIT_COMMITTER_NAME=Ben git commit -qam 'Cleo takes Tuesday'
cortex sync
cd ../../ana/notes
sed -i 's/Tuesday: Ben/Tuesday: Ana/' Rota.md
GIT_AUTHOR_NAME=Ana GIT_COMMITTER_NAME=Ana git commit -qam 'Ana takes Tuesday'
