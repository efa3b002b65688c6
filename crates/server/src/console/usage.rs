//! Usage: what was spent, by whom, on what.

use std::cmp::Reverse;

use askama::Template;
use axum::Json;
use entourage_api::{ReportUsage, Tally, UsageRow};
use entourage_types::{AgentId, UsageBy};
use serde::Deserialize;

use super::{
    filters,
    shell::{Page, Section, Shown, View},
};
use crate::{
    extract::{Filter, Id},
    routes::v1::{agents, usage},
};

/// How wide the longest bar is, in its own units.
const WIDTH: f64 = 1000.0;
/// How many trees have their titles; the others have their ids.
const TITLED: usize = 50;
/// How many rows are shown: the last days, or those that spent most.
const SHOWN: usize = 200;

#[derive(Deserialize)]
pub(super) struct Wanted {
    by: Option<UsageBy>,
    /// The tree of this agent alone.
    under: Option<AgentId>,
}

#[derive(Template)]
#[template(path = "usage.html")]
struct Report {
    by: UsageBy,
    under: Option<AgentId>,
    rows: Vec<Row>,
    /// How many rows are not shown.
    hidden: usize,
    total: Tally,
}

struct Row {
    name: String,
    path: Option<String>,
    tally: Tally,
    width: f64,
}

/// What it can be divided by.
const WAYS: [UsageBy; 4] = [UsageBy::Day, UsageBy::Model, UsageBy::Kind, UsageBy::Tree];

impl Report {
    fn is_by_day(&self) -> bool {
        self.by == UsageBy::Day
    }
}

impl Page for Report {
    const SECTION: Section = Section::Usage;

    fn title(&self) -> String {
        "Usage".to_owned()
    }
}

pub(super) async fn show(view: View, Filter(Wanted { by, under }): Filter<Wanted>) -> Shown {
    let by = by.unwrap_or(UsageBy::Day);
    let wanted = ReportUsage { group_by: vec![by], under, ..ReportUsage::default() };
    let Json(report) = usage::usage(view.caller.clone(), Filter(wanted)).await?;
    let size = |tally: &Tally| (tally.cost.nanos(), tally.usage.input + tally.usage.output);
    // Where no price is known, tokens tell more than nothing.
    let is_priced = report.data.iter().any(|row| row.tally.cost.nanos() > 0);
    let measure = |tally: &Tally| if is_priced { size(tally).0 } else { size(tally).1 };
    let most = report.data.iter().map(|row| measure(&row.tally)).max().unwrap_or(0).max(1);
    let mut data = report.data;
    let hidden = data.len().saturating_sub(SHOWN);
    if by == UsageBy::Day {
        data.drain(..hidden);
    } else {
        data.sort_by_key(|row| Reverse(measure(&row.tally)));
        data.truncate(SHOWN);
    }
    let mut rows = Vec::with_capacity(data.len());
    for (number, row) in data.into_iter().enumerate() {
        let width = measure(&row.tally) as f64 / most as f64 * WIDTH;
        let (mut name, path) = named(&row);
        if let Some(tree) = row.tree.filter(|_| number < TITLED)
            && let Ok(Json(root)) = agents::get(view.caller.clone(), Id(tree)).await
        {
            name = filters::title_of(&root.title, &root.kind).to_owned();
        }
        rows.push(Row { name, path, width, tally: row.tally });
    }
    view.show(Report { by, under, rows, hidden, total: report.total }).await
}

fn named(row: &UsageRow) -> (String, Option<String>) {
    match row {
        UsageRow { tree: Some(tree), .. } => (tree.to_string(), Some(format!("/console/trees/{tree}"))),
        UsageRow { model: Some(model), .. } => (model.clone(), None),
        UsageRow { kind: Some(kind), .. } => (kind.clone(), Some(format!("/console/kinds/{kind}"))),
        UsageRow { day: Some(day), .. } => (day.to_string(), None),
        _ => (String::new(), None),
    }
}
