#!/bin/sh
#HEADGATE --pods 3
echo "hello from rank $RANK of $WORLD_SIZE on $HEADGATE_NODE"
