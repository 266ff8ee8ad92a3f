"""Conversations with agents and assistants, as sessions."""
