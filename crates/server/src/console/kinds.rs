//! Kinds: what each is, and who runs which version.

use askama::Template;
use axum::{
    Json,
    response::{IntoResponse, Redirect},
};
use entourage_api::{CheckKind, Kind, KindFinding, KindVersion, PageQuery, Severity};
use serde::Deserialize;

use super::{
    filters,
    shell::{Fields, Page, Section, Shown, Shows, View},
};
use crate::{
    Problem,
    extract::{Body, Filter, Id, Names},
    routes::v1::kinds,
    views,
};

#[derive(Template)]
#[template(path = "kinds.html")]
struct Kinds {
    kinds: Vec<Kind>,
    is_operator: bool,
    /// The mistakes for which files are left out; for the operator.
    left_out: Vec<KindFinding>,
    /// What a text that was checked has.
    checked: Option<(String, Vec<KindFinding>)>,
}

impl Page for Kinds {
    const SECTION: Section = Section::Kinds;

    fn title(&self) -> String {
        "Kinds".to_owned()
    }

    fn shows(&self) -> Shows {
        // What was checked stays.
        if self.checked.is_some() { Shows::Nothing } else { Shows::Server }
    }
}

pub(super) async fn all(view: View) -> Shown {
    listed(view, None).await
}

async fn listed(view: View, checked: Option<(String, Vec<KindFinding>)>) -> Shown {
    let Json(list) = kinds::list(view.caller.clone()).await?;
    let is_operator = view.caller.client.is_operator();
    let left_out = if is_operator { view.caller.client.kind_mistakes() } else { Vec::new() };
    let left_out = left_out.into_iter().map(views::finding).collect();
    view.show(Kinds { kinds: list.data, is_operator, left_out, checked }).await
}

/// Reads the kinds' files again.
pub(super) async fn reload(view: View) -> Shown {
    let _ = kinds::reload(view.caller.clone()).await?;
    if view.is_part() {
        all(view.at("/kinds")).await
    } else {
        Ok(Redirect::to("/console/kinds").into_response())
    }
}

#[derive(Deserialize)]
pub(super) struct Given {
    text: String,
}

/// Says what is wrong with the text of a kind's file, and saves nothing.
pub(super) async fn check(view: View, Fields(Given { text }): Fields<Given>) -> Shown {
    let wanted = CheckKind { file: None, text: text.clone() };
    let Json(found) = kinds::check(view.caller.clone(), Body(wanted)).await?;
    listed(view.at("/kinds"), Some((text, found.data))).await
}

#[derive(Template)]
#[template(path = "kind.html")]
struct OneKind {
    kind: Kind,
    versions: Vec<KindVersion>,
}

impl Page for OneKind {
    const SECTION: Section = Section::Kinds;

    fn title(&self) -> String {
        self.kind.name.clone()
    }

    fn shows(&self) -> Shows {
        Shows::Server
    }
}

pub(super) async fn one(view: View, Id(name): Id<String>) -> Shown {
    let Json(kind) = kinds::get(view.caller.clone(), Id(name)).await?;
    shown(view, kind).await
}

pub(super) async fn version(view: View, names: Names) -> Shown {
    let Json(kind) = kinds::version(view.caller.clone(), names).await?;
    shown(view, kind).await
}

async fn shown(view: View, kind: Kind) -> Result<axum::response::Response, Problem> {
    let query = Filter(PageQuery::default());
    let Json(page) = kinds::versions(view.caller.clone(), Id(kind.name.clone()), query).await?;
    view.show(OneKind { kind, versions: page.data }).await
}
