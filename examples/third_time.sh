#!/bin/sh
#HEADGATE --retries 2 --retry-delay 1s
# Fails twice and succeeds: each retry is another run of the same pod.
echo "run $HEADGATE_RUN"
[ "$HEADGATE_RUN" -ge 3 ]
