"""Settings of the dashboard's server: on this machine only, without usage reports.

``.streamlit/config.toml`` says the same, but Streamlit reads that file from the directory it is started in; the server
sets these wherever the package is installed, and nobody's own settings come before them.
"""

from __future__ import annotations

PRIVACY: dict[str, object] = {
    "server.address": "127.0.0.1",
    "server.allowedHosts": ["127.0.0.1", "localhost"],
    "server.enableXsrfProtection": True,
    "server.enableCORS": True,
    "server.enableStaticServing": False,
    "server.enableAgentApi": False,
    "server.fileWatcherType": "none",
    "server.headless": True,
    "server.maxUploadSize": 2048,
    "browser.gatherUsageStats": False,
    "browser.serverAddress": "127.0.0.1",
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": False,
    "logger.enableRich": False,
    "runner.magicEnabled": False,
}
"""Streamlit option -> value."""

MARK = "x-frontier-guard"
"""Header in which the server answers with the mark of its launch."""

CONTRAST_CSS = """<style>
:root {color-scheme: light dark;}
[data-testid^="stBaseButton-primary"]:not(:disabled) :is(p, [data-testid="stIconMaterial"]),
[data-testid="stMultiSelect"] [data-tag]:has(button) {
    color: light-dark(#FFFFFF, #10151A) !important;
}
[data-testid="stMultiSelect"] [data-tag]:not(:has(button)) {color: light-dark(#10151A, #E8EAED) !important;}
[data-testid="stWidgetLabel"] [data-testid="stMarkdownContainer"] {color: light-dark(#10151A, #E8EAED) !important;}
[data-testid="stButtonGroup"] button[aria-checked="true"] p,
[data-testid="stBaseButton-segmented_controlActive"] p {color: light-dark(#00507D, #8ACBF2) !important;}
</style>"""
"""For ``st.html``: Streamlit writes white on the primary colour in both themes, 2.3:1 on the dark theme's blue, and the
label of an input that cannot be changed now in a grey of 2.7:1; that input itself stays grey.
What is chosen in a list that cannot be changed now is no filled button, and has no button to remove it.
Of buttons beside each other, the chosen one has its words in blue on a blue tint, 3.9:1 while it has the focus."""
