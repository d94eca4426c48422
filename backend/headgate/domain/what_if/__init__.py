"""What-if: the decisions that would follow from assumed events, by real cycles on an overlay."""
