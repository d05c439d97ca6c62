#!/bin/sh
# One experiment after the other: says what to mix, asks for the yield. Just Enter: it failed; Ctrl-D: enough for today.
# Tomorrow, or on the colleague's computer, the same command goes on.
set -eu
study=${1:-$(dirname "$0")/laboratory.toml}
while true; do
    recipe=$(vsbo ask "$study")
    number=$(printf '%s\n' "$recipe" | sed -n '1s/^trial //p')
    printf '\n%s\nyield in %%: ' "$recipe"
    if ! read -r yield; then
        printf '\ntrial %s stays pending: vsbo tell %s %s YIELD\n' "$number" "$study" "$number"
        break
    elif [ -z "$yield" ]; then
        vsbo fail "$study" "$number" "the experiment failed"
    else
        vsbo tell "$study" "$number" "$yield" || echo "trial $number stays pending: vsbo tell $study $number YIELD"
    fi
done
printf '\n'
vsbo show "$study"
