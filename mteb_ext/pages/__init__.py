"""Pages for a browser: the report of one folder, and the leaderboard site."""
