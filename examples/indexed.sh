#!/bin/sh
#HEADGATE --completions 100 --parallelism 10
# 100 indices, ten at a time; each pod computes the square of its own.
echo "$JOB_COMPLETION_INDEX squared is $((JOB_COMPLETION_INDEX * JOB_COMPLETION_INDEX))"
