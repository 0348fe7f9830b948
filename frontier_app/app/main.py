"""The frame of the dashboard: its pages, the workspace in the address, and the state of the work in one line."""

from __future__ import annotations

import streamlit as st

from engine.common.errors import EngineError
from frontier_app.charts import style
from frontier_app.session import actions, loading, state, workspace
from frontier_app.session.navigation import BOARD_PAGES, PAGES
from frontier_app.session.settings import CONTRAST_CSS
from frontier_app.widgets import elements, plan_status
from frontier_app.widgets.glossary import glossary
from frontier_app.wording import markup, text
from frontier_app.wording.markup import markdown

# Drawn here: Streamlit fetches the icon of the tab from elsewhere when it is an emoji or a material one.
_ICON = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="6" fill="#0072B2"/>
<path d="M6 25h7v-7h6v-6h7V6" fill="none" stroke="#fff" stroke-width="3"/></svg>"""
_GONE = markdown(
    "This address opens nothing any more: its workspace was deleted, or the dashboard was started anew since. The"
    " first page at the address that *frontier app* printed lists earlier work; *frontier app* with the path of a study"
    " goes on with that study. Open data to begin anew."
)
_CSS = """<style>
.block-container {padding: 4rem 2.2rem 3rem; max-width: 1720px;}
.stApp h1 {font-size: 1.9rem; padding: 0 0 .3rem;}
.st-key-headline h1 {font-size: 1.45rem; padding: 0;}
.stApp h3 {font-size: 1.25rem; padding: .6rem 0 .3rem;}
.stApp h4 {font-size: 1.1rem; padding: .2rem 0;}
.stApp h5 {font-size: .9rem; padding: 0 0 .1rem;}
[data-testid="stMetricValue"] {font-size: 1.45rem; font-variant-numeric: tabular-nums;}
[data-testid="stMarkdownContainer"] table {font-size: .84rem; font-variant-numeric: tabular-nums; width: 100%;}
[data-testid="stMarkdownContainer"] :is(th, td) {padding: .22rem .4rem; border-left: 0; border-right: 0;}
[data-testid="stMarkdownContainer"] :is(th, td):not(:first-child) {white-space: nowrap;}
[data-testid="stMetricLabel"] p {font-size: .85rem;}
[data-testid="stLayoutWrapper"]:has(> .st-key-amounts) {position: sticky; top: 4.2rem; z-index: 1;}
.st-key-amounts {background: light-dark(#FFFFFF, #14181D); box-shadow: 0 -.6rem light-dark(#FFFFFF, #14181D);}
[data-testid="stMultiSelectTagsContainer"] {flex-wrap: wrap !important;}
div:has(> [data-testid="stMultiSelectTagsContainer"]),
div:has(> div > [data-testid="stMultiSelectTagsContainer"]) {max-height: none !important; height: auto !important;}
.st-key-glossary {position: fixed; top: .55rem; right: 4.5rem; width: auto; z-index: 1000000;}
/* Navigation and page begin at one edge; a link has 8px before its words. */
[data-testid="stTopNav"] {padding-left: calc(max(0px, 50vw - 860px) + 2.2rem - 8px) !important;}
/* What opens under the controls of the map ends in a window of 800 pixels too, and is scrolled. */
[data-testid="stPopoverBody"] {max-height: max(300px, min(70vh, 100vh - 18.4rem)) !important; overflow-y: auto;}
/* What the keyboard is at has a ring where Streamlit draws none, and the buttons over a table are then seen. */
:is([data-testid="stTopNavLink"], [data-testid="stBaseButton-elementToolbar"]):focus-visible,
label:is([data-testid="stRadioOption"], [data-testid="stCheckbox"] *):has(:focus-visible),
[data-testid="stDataFrame"]:has(canvas:focus-visible) {outline: 2px solid currentColor; outline-offset: 1px;}
[data-testid="stElementToolbar"]:has(:focus-visible) {opacity: 1 !important;}
/* A tall figure ends where the window does, below what stands above it; in a very low window the page is scrolled. */
[class*="st-key-tall-"] [data-testid="stElementContainer"] {height: clamp(380px, calc(100vh - 21.9rem), 62vw);}
.st-key-tall-filling [data-testid="stElementContainer"] {height: clamp(380px, calc(100vh - 23.5rem), 62vw);}
.st-key-card {padding-top: .7rem; padding-bottom: .6rem;}
.st-key-card h4 {font-size: 1rem; line-height: 1.25; padding: .1rem 0 .5rem;}
.st-key-card [role="tabpanel"] {padding-top: .3rem;}
.st-key-card [data-testid="stMarkdownContainer"] p {font-size: .9rem; line-height: 1.45;}
/* In a low window the card of a candidate still ends where the map does. */
@media (max-height: 850px) and (min-width: 1200px) {
  .stApp h1 {font-size: 1.5rem; padding: 0;}
  .block-container {padding-top: 3.6rem;}
  .st-key-card {padding-top: .5rem; padding-bottom: .4rem;}
  .st-key-card [data-testid="stMarkdownContainer"] p {font-size: .86rem; line-height: 1.32;}
  .st-key-card [data-testid="stMarkdownContainer"] :is(th, td) {padding-top: .1rem; padding-bottom: .1rem;}
  .st-key-card [role="tabpanel"] {padding-top: 0;}
}
/* In a narrow one the map and the card stand below each other, and so do the controls above them. */
@media (max-width: 1000px) {
  [data-testid="stHorizontalBlock"]:has(> [data-testid="stColumn"] :is(.st-key-card, .st-key-look-risk, .st-key-wide,
    .st-key-find-by-keys, .st-key-found-by-keys, .st-key-places-tiles, [class*="st-key-places-level"])) {
    flex-wrap: wrap;
    > [data-testid="stColumn"] {min-width: 45%;}
    > [data-testid="stColumn"]:has(.st-key-card, .st-key-wide, [class*="st-key-tall-"], .st-key-places-tiles) {
      min-width: 100%;
    }
  }
  .st-key-glossary {top: 3.1rem; right: 1.4rem;}
}
/* Words that have no room in one line take two; none is cut off. */
:is([data-testid="stCheckbox"] label, [data-testid="stMetricLabel"], [data-testid="stButton"] button) :is(div, p) {
  white-space: normal !important;
}
[data-testid="stButtonGroup"] > div:has(> [data-variant="pills"]) {flex-wrap: wrap;}
/* Streamlit downloads what a person edits with its texts as they are, which a spreadsheet program may compute. */
:is([class*="st-key-columns-"], [class*="st-key-parts-"], [class*="st-key-edits-"])
  [data-testid="stElementToolbarButton"]:has([aria-label^="Download as CSV"]) {display: none;}
</style>"""


def _restore() -> None:
    """Open what the address names."""
    if state.get().workspace is not None:
        return
    token = st.query_params.get("w")
    opened = workspace.opened_by(token)
    if opened is None:
        if token is not None:
            st.query_params.clear()
            state.put(notice=_GONE)
        return
    now = state.get()
    state.put(owner=opened.owner or now.owner)
    if opened.workspace is not None:
        try:
            loading.open_workspace(opened.workspace)
        except EngineError as error:
            state.put(error=text.error_text(error), workspace=None)


def main() -> None:
    """One run of the page script."""
    st.set_page_config("swap-frontier", page_icon=_ICON, layout="wide")
    # What opens over the page lies outside of what has the scheme of the page; `light-dark` would take the light one.
    scheme = f"<style>:root {{color-scheme: {st.context.theme.type};}}</style>" if st.context.theme.type else ""
    st.html(CONTRAST_CSS + _CSS + style.CSS + scheme)
    _restore()
    state.put(typing=False)
    at = state.get().workspace
    shown, first = list(PAGES), "data"
    if at is not None and at.board is not None:
        shown, first = list(BOARD_PAGES), "decide"
    page = st.navigation([PAGES[name].as_streamlit(default=name == first) for name in shown], position="top")
    now = state.get()
    if page.title != now.page:
        with elements.errors_shown():
            actions.catch_up()
        state.put(page=page.title)
        now = state.renew()
    if now.workspace and st.query_params.get("w") != now.workspace.token:
        st.query_params["w"] = now.workspace.token
    elif now.owner and "w" not in st.query_params:
        st.query_params["w"] = workspace.door()  # so that the page loaded again is still theirs
    if now.notice:
        st.info(now.notice, icon=":material/info:")
        state.put(notice="")
    if now.error:
        st.error(now.error, icon=":material/error:")
    with st.container(key="glossary"):
        if st.button("Glossary", key="glossary-open", type="tertiary", icon=":material/menu_book:"):
            glossary()
    disputes = st.container()
    with elements.caught():
        page.run()
    with disputes:  # after the page, whose inputs may have been changed in the same moment
        plan_status.disputes()
    plan_status.catch_up()


elements.prepare()
markup.prepare()
main()
