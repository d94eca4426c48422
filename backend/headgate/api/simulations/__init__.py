"""What-if: what would happen if something were submitted or changed."""
