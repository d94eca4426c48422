"""What people are shown of the cell, worked out when they ask; nothing here changes anything."""
