"""What a session is about: workspace, jobs, actions, and the server that carries them."""
