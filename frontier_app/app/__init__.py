"""The frame of the dashboard, in a folder of its own.

Streamlit would take a folder ``pages`` beside its script for pages that it finds itself, and tell who opens one of ours
first that there is no such page.
"""
