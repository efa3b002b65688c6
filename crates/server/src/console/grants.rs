//! Grants: what agents may do without asking again.

use askama::Template;
use axum::{
    Json,
    response::{IntoResponse, Redirect},
};
use entourage_api::{Grant, ListGrants};
use entourage_types::{GrantId, GrantStatus};
use serde::Deserialize;

use super::{
    filters,
    shell::{Page, Section, Shown, View},
};
use crate::{
    extract::{Filter, Id},
    routes::v1::grants,
};

#[derive(Deserialize)]
pub(super) struct At {
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "grants.html")]
struct Grants {
    grants: Vec<Grant>,
    next: Option<String>,
}

impl Page for Grants {
    const SECTION: Section = Section::Inbox;

    fn title(&self) -> String {
        "Grants".to_owned()
    }
}

pub(super) async fn show(view: View, Filter(At { cursor }): Filter<At>) -> Shown {
    let wanted = ListGrants { cursor, ..ListGrants::default() };
    let Json(page) = grants::list(view.caller.clone(), Filter(wanted)).await?;
    view.show(Grants { grants: page.data, next: page.next_cursor }).await
}

pub(super) async fn revoke(view: View, Id(id): Id<GrantId>) -> Shown {
    let _: Json<Grant> = grants::revoke(view.caller.clone(), Id(id)).await?;
    if view.is_part() {
        return show(view.at("/grants"), Filter(At { cursor: None })).await;
    }
    Ok(Redirect::to("/console/grants").into_response())
}
