#!/bin/sh
# A gang with all cores saves its work for one of higher priority, and goes on afterwards.
set -eu
cd "$(dirname "$0")"
checkpoints=$(mktemp -d)
half="$(($(nproc) * 500))m"   # two pods have all cores

headgate apply -f priorities.yaml
train=$(headgate submit -o name --cpu "$half" --env "CHECKPOINTS=$checkpoints" \
    --wait --for phase=Running checkpoint.py)
headgate run --priority-class urgent --cpu "$half" --pods 2 -- echo "this could not wait"
headgate wait "$train" --for phase=Running
touch "$checkpoints/enough"
headgate wait "$train"
headgate logs "$train" --attempt 1
headgate logs "$train" --attempt 2
headgate timeline "$train"
headgate preemptions
rm -r "$checkpoints"
