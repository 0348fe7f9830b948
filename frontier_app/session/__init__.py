"""The session: workspace, jobs, actions, and the server that carries them."""
