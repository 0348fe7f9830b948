"""The plan as a file, a codebook for the columns, and the workspace that holds everything."""

from __future__ import annotations

import streamlit as st

from engine.plan.codebook import FIELDS
from frontier_app.pages.file.opening import attempt
from frontier_app.session import access, actions, state
from frontier_app.widgets import elements, plan_approval
from frontier_app.wording.markup import joined, markdown


def plan_file() -> None:
    """Download the plan, or use one from a file."""
    now = state.get()
    if now.plan is not None and now.workspace is not None and now.workspace.plan_path.exists():
        plan_approval.save_plan(
            now.workspace, "Save the plan", "plan-download", "The plan as a text file, which the command line reads too"
        )
    st.caption("A plan for other data, such as last year's, may be used. This page then lists what does not fit.")
    upload = st.file_uploader("Use a plan.toml", type=["toml"], key=f"plan-file-{now.version}")
    if upload is not None:
        try:
            content = upload.getvalue().decode("utf-8")
        except UnicodeDecodeError:
            elements.show_error("the file is not UTF-8 text, so it is no plan")
            return

        def load() -> None:
            actions.load_plan(content)
            state.set_file_view(part=None, turn=state.get().file_view.turn + 1)

        attempt(load)


def codebook() -> None:
    """Labels, roles and blocks from a table."""
    now = state.get()
    st.markdown(
        markdown(
            "A CSV file with a row for each column of the data, or for a pattern such as {}, under the headings {}."
            " Only **name** must be there.",
            "*_WT",
            joined(", ", (markdown("**{}**", name) for name in FIELDS)),
        )
    )
    st.caption(
        markdown(
            "**role** is one or more of key, swap, analyse, attribute, or one of weight, id, carry, drop. Where any"
            " column has one of the first four, exactly those columns become attributes. **missing** and **skip** list"
            " codes with semicolons between, **values** labels as 1=Male; 2=Female."
        )
    )
    upload = st.file_uploader("A codebook", type=["csv"], key=f"codebook-{now.version}")
    if upload is not None:
        attempt(lambda: actions.use_codebook(upload.name, upload.getvalue()))


def workspace() -> None:
    """Show where the work is, how to leave it, and how to delete it."""
    now = state.get()
    assert now.workspace is not None
    if access.is_the_launch(now.workspace.token):
        back = markdown(
            "It opens the work until the dashboard is ended; *frontier app* then finds it again at a new address: on"
            " its first page, or started with the same study or data. Whoever has the address can open the work, and"
            " files of yours by their path: **give it to nobody**."
        )
    elif now.owner:
        back = markdown(
            "**Keep the address** to come back to it until the dashboard is ended; after that the first page of"
            " *frontier app* lists the work. **Give it to nobody**: whoever has it can open this workspace on this"
            " machine, and files of yours by their path."
        )
    else:
        back = markdown(
            "**Keep the address** to come back to it until the dashboard is ended; whoever has it can open this"
            " workspace on this machine. After that the first page of *frontier app* lists the work."
        )
    st.markdown(
        markdown("Your work is in a private folder on this machine, found through this page's address. {}", back)
    )
    if st.button("Open other data", key="open-other", icon=":material/arrow_back:"):
        actions.leave()
        st.query_params.clear()
        st.rerun()
    st.markdown(
        "Deleting removes the uploaded copy, the plan, the studies with their keys, and every export. A file that was"
        " opened by its path stays."
    )
    sure = st.checkbox("I no longer need any of it", key=f"sure-{now.version}")
    if st.button("Delete this workspace", icon=":material/delete:", disabled=not sure):
        with elements.errors_shown():
            actions.forget()
            st.query_params.clear()
            st.rerun()
