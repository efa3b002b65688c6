//! Agencies: who may write to whom, drawn, and what was said.

use std::collections::{HashMap, VecDeque};

use askama::Template;
use axum::Json;
use entourage_api::{Agency, AgencyChat, PageQuery};

use super::{
    filters,
    place::Onwards,
    shell::{Page, Section, Shown, View},
};
use crate::{
    extract::{Caller, Filter, Id},
    routes::v1::agencies,
};

/// The most agents that are drawn; the list has all of them.
const DRAWN: usize = 60;
/// The size of an agent in the drawing.
const WIDE: usize = 150;
const HIGH: usize = 36;
/// How far apart they stand.
const GAP_X: usize = 40;
const GAP_Y: usize = 60;

#[derive(Template)]
#[template(path = "agencies.html")]
struct Agencies {
    agencies: Vec<Agency>,
}

impl Page for Agencies {
    const SECTION: Section = Section::Agencies;

    fn title(&self) -> String {
        "Agencies".to_owned()
    }
}

pub(super) async fn all(view: View) -> Shown {
    let Json(list) = agencies::list(view.caller.clone()).await;
    view.show(Agencies { agencies: list.data }).await
}

#[derive(Template)]
#[template(path = "agency.html")]
struct OneAgency {
    agency: Agency,
    chats: Vec<AgencyChat>,
    next: Option<String>,
    drawing: Option<Drawing>,
}

impl OneAgency {
    /// To whom an agent may write.
    fn written_to<'a>(&'a self, from: &'a str) -> impl Iterator<Item = &'a String> {
        self.agency.flows.iter().filter(move |flow| flow.from == from).map(|flow| &flow.to)
    }
}

/// The chart in layers: those whom a person may write to on top, and each agent below the first that may write to it.
struct Drawing {
    width: usize,
    height: usize,
    agents: Vec<Placed>,
    flows: Vec<Line>,
}

struct Placed {
    name: String,
    x: usize,
    y: usize,
    is_entry: bool,
}

struct Line {
    from: (usize, usize),
    to: (usize, usize),
}

impl Page for OneAgency {
    const SECTION: Section = Section::Agencies;

    fn title(&self) -> String {
        self.agency.name.clone()
    }
}

pub(super) async fn one(
    view: View,
    Id(name): Id<String>,
    Filter(Onwards { cursor }): Filter<Onwards>,
) -> Shown {
    let query = PageQuery { cursor, ..PageQuery::default() };
    let caller: &Caller = &view.caller;
    let Json(agency) = agencies::get(caller.clone(), Id(name.clone())).await?;
    let Json(page) = agencies::chats(caller.clone(), Id(name), Filter(query)).await?;
    let drawing = (agency.agents.len() <= DRAWN).then(|| draw(&agency));
    view.show(OneAgency { agency, chats: page.data, next: page.next_cursor, drawing }).await
}

/// The layer of each agent: how many flows lead to it from an entry point.
fn layers(agency: &Agency) -> HashMap<&str, usize> {
    let mut layers: HashMap<&str, usize> =
        agency.entry_points.iter().map(|name| (name.as_str(), 0)).collect();
    let mut reached: VecDeque<&str> = agency.entry_points.iter().map(String::as_str).collect();
    while let Some(from) = reached.pop_front() {
        let below = layers[from] + 1;
        for flow in agency.flows.iter().filter(|flow| flow.from == from) {
            if !layers.contains_key(flow.to.as_str()) {
                layers.insert(&flow.to, below);
                reached.push_back(&flow.to);
            }
        }
    }
    layers
}

fn draw(agency: &Agency) -> Drawing {
    let layers = layers(agency);
    let deepest = layers.values().max().copied().unwrap_or(0);
    let mut filled: HashMap<usize, usize> = HashMap::new();
    let mut agents = Vec::with_capacity(agency.agents.len());
    for name in &agency.agents {
        let layer = layers.get(name.as_str()).copied().unwrap_or(deepest + 1);
        let place = filled.entry(layer).or_default();
        let (x, y) = (*place * (WIDE + GAP_X), layer * (HIGH + GAP_Y));
        *place += 1;
        let is_entry = agency.entry_points.contains(name);
        agents.push(Placed { name: name.clone(), x: x + GAP_X / 2, y: y + GAP_Y / 2, is_entry });
    }
    let at = |name: &str| agents.iter().find(|placed| placed.name == name);
    let flows = agency.flows.iter().filter_map(|flow| {
        let (from, to) = (at(&flow.from)?, at(&flow.to)?);
        let side = |y: usize, below: bool| if below { y + HIGH } else { y };
        let down = from.y <= to.y;
        Some(Line { from: (from.x + WIDE / 2, side(from.y, down)), to: (to.x + WIDE / 2, side(to.y, !down)) })
    });
    let flows = flows.collect();
    let width = agents.iter().map(|placed| placed.x + WIDE).max().unwrap_or(0) + GAP_X / 2;
    let height = agents.iter().map(|placed| placed.y + HIGH).max().unwrap_or(0) + GAP_Y / 2;
    Drawing { width, height, agents, flows }
}

#[cfg(test)]
mod tests {
    use entourage_api::Flow;

    use super::*;

    #[test]
    fn agents_stand_below_those_that_write_to_them_and_none_on_another() {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let flow = |from: &str, to: &str| Flow { from: from.into(), to: to.into() };
        let agency = Agency {
            name: "a".into(),
            description: String::new(),
            agents: names(&["boss", "left", "right", "deep", "alone"]),
            entry_points: names(&["boss"]),
            flows: vec![
                flow("boss", "left"),
                flow("boss", "right"),
                flow("right", "deep"),
                flow("deep", "boss"),
            ],
            shared_instructions: String::new(),
            mermaid: String::new(),
        };
        let drawing = draw(&agency);
        let rows: Vec<usize> =
            drawing.agents.iter().map(|placed| (placed.y - GAP_Y / 2) / (HIGH + GAP_Y)).collect();
        assert_eq!(rows, [0, 1, 1, 2, 3]);
        let mut places: Vec<(usize, usize)> =
            drawing.agents.iter().map(|placed| (placed.x, placed.y)).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!((places.len(), drawing.flows.len()), (5, 4));
    }
}
