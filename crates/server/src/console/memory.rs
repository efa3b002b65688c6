//! Memory: what agents keep.

use askama::Template;
use axum::Json;
use entourage_api::{FindLearnings, FindSessions, Learning, ListNotes, Note, Session};
use serde::Deserialize;

use super::{
    filters,
    shell::{Page, Section, Shown, View},
};
use crate::{
    extract::Filter,
    routes::v1::{memory, work},
};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    #[default]
    Notes,
    Learnings,
    Sessions,
}

impl Place {
    const ALL: [Self; 3] = [Self::Notes, Self::Learnings, Self::Sessions];

    fn name(self) -> &'static str {
        match self {
            Self::Notes => "notes",
            Self::Learnings => "learnings",
            Self::Sessions => "sessions",
        }
    }

    fn is(self, other: &Self) -> bool {
        self == *other
    }
}

#[derive(Deserialize)]
pub(super) struct Wanted {
    #[serde(default, rename = "in")]
    place: Place,
    text: Option<String>,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "memory.html")]
struct Memory {
    place: Place,
    text: String,
    notes: Vec<Note>,
    learnings: Vec<Learning>,
    sessions: Vec<Session>,
    next: Option<String>,
}

impl Page for Memory {
    const SECTION: Section = Section::Memory;

    fn title(&self) -> String {
        "Memory".to_owned()
    }
}

pub(super) async fn show(view: View, Filter(Wanted { place, text, cursor }): Filter<Wanted>) -> Shown {
    let caller = view.caller.clone();
    let text = text.filter(|text| !text.trim().is_empty());
    let mut found = Memory {
        place,
        text: text.clone().unwrap_or_default(),
        notes: Vec::new(),
        learnings: Vec::new(),
        sessions: Vec::new(),
        next: None,
    };
    match place {
        Place::Notes => {
            let Json(page) =
                work::notes(caller, Filter(ListNotes { text, cursor, ..ListNotes::default() })).await?;
            (found.notes, found.next) = (page.data, page.next_cursor);
        }
        Place::Learnings => {
            let wanted = FindLearnings { text, cursor, ..FindLearnings::default() };
            let Json(page) = memory::all_learnings(caller, Filter(wanted)).await?;
            (found.learnings, found.next) = (page.data, page.next_cursor);
        }
        Place::Sessions => {
            let wanted = FindSessions { text, cursor, ..FindSessions::default() };
            let Json(page) = memory::all_sessions(caller, Filter(wanted)).await?;
            (found.sessions, found.next) = (page.data, page.next_cursor);
        }
    }
    view.show(found).await
}
