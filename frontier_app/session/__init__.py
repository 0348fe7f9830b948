"""The session: workspace, jobs, actions, and the server that carries them."""

__all__ = [
    "access",
    "actions",
    "exports",
    "jobs",
    "launch",
    "loading",
    "navigation",
    "saved_view",
    "settings",
    "state",
    "workspace",
]
