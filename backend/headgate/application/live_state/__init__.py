"""The fold of the log that a process keeps warm, and how it is kept between processes."""
