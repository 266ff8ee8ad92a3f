"""What comes in from other systems and goes out to them: import and export."""
