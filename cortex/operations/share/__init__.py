"""One vault in many clones: sync, merge, heal, git's merge drivers."""
