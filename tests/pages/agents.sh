# What docs/agents.md does not show, run in the folder `shop`.
set -e
git init -q -b main
printf 'shop\n' > .cortex-project
printf 'x = 1\n' > cart.py
git add .
git commit -qm first
cortex init vault
cortex git install
cortex hooks install claude --shared
cortex status
d=$(date -u +%Y-%m-%dT%H:%M:%S.000Z)
printf '{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","cwd":"%s","timestamp":"%s","message":{"role":"user","content":"Make the carts expire"}}\n{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s1","cwd":"%s","timestamp":"%s","message":{"role":"assistant","content":[{"type":"text","text":"Carts expire now.\\n\\nDecision: keep carts for a day, because the table stays small."}]}}\n' "$PWD" $d "$PWD" $d > ../t.jsonl
printf '{"session_id":"s1","transcript_path":"%s/../t.jsonl","cwd":"%s"}' "$PWD" "$PWD" | cortex hook stop --host claude
