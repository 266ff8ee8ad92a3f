"""Minutes of meetings: the date, the people, what was decided, and who does what until when."""
