#!/bin/sh
# A gang with all cores saves its work for one of higher priority, and goes on afterwards.
set -eu
cd "$(dirname "$0")"
checkpoints=$(mktemp -d)
half="$(($(nproc) * 500))m"   # two pods have all cores

headgate apply -f priorities.yaml
train=$(headgate submit -o name --cpu "$half" --env "CHECKPOINTS=$checkpoints" \
    --wait --for phase=Running checkpoint.py)
until [ -e "$checkpoints/checkpoint-0.json" ] && [ -e "$checkpoints/checkpoint-1.json" ]; do
    sleep 0.1   # Running is a pod whose process has started: here Python still loads its program
done
headgate run --priority-class urgent --cpu "$half" --pods 2 -- echo "this could not wait"
headgate wait "$train" --for phase=Running
touch "$checkpoints/enough"
headgate wait "$train"
headgate logs "$train" --attempt 1
headgate logs "$train" --attempt 2
headgate timeline "$train"
headgate preemptions
rm -r "$checkpoints"
