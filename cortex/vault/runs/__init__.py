"""Files of runs: requests, active runs, ended ones; what of them is this user's alone."""
