//! The provider of the week's model: what it answers, and when it is away. It keeps counts and no request, so that what
//! the process holds is the engine's.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::Clock as _;
use entourage_llm::{Deltas, Error, Message, Model, Price, Reply, Request, Result};
use entourage_testkit::FakeClock;
use entourage_types::{CallId, Cost, Time, ToolCall, Usage};
use serde_json::{Value, json};

use super::HOUR;

/// What one answer uses, and what it costs: 3 dollars a million tokens read and 15 a million written.
const USED: Usage = Usage { input: 700, output: 30, reasoning: 0, cached: 0, cache_written: 0 };
const PRICE: Price = Price { input: 3.0, output: 15.0, cached: None, cache_written: None };
pub(super) const COST: u64 = 700 * 3_000 + 30 * 15_000;

const DAYS: usize = 9;

/// How the provider fails around a full hour of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outage {
    /// For the first twenty seconds of the hour: calls survive it by their retries.
    Short,
    /// For half an hour before and after: the retries are used up, and the run fails.
    Long,
}

impl Outage {
    /// The outage around this full hour, counted from the beginning. The long ones meet the feeds of Berlin and New
    /// York on three mornings, the short ones those of Tokyo and Sydney on one.
    pub(super) fn around(hour: usize) -> Option<Self> {
        match hour {
            hour if hour % 29 == 18 => Some(Self::Long),
            hour if hour % 23 == 10 => Some(Self::Short),
            _ => None,
        }
    }

    /// Whether the provider is away so long after the beginning.
    fn is_at(since_begin: Duration) -> bool {
        let hour = since_begin.as_secs() / HOUR.as_secs();
        let within = since_begin - HOUR * hour as u32;
        let (before, after) = (Self::around(hour as usize), Self::around(hour as usize + 1));
        match before {
            Some(Self::Long) if within < HOUR / 2 => true,
            Some(Self::Short) if within < Duration::from_secs(20) => true,
            _ => after == Some(Self::Long) && within >= HOUR / 2,
        }
    }
}

/// The provider. Clones are the same one.
#[derive(Clone)]
pub(super) struct Provider {
    clock: FakeClock,
    begin: Time,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    answers: AtomicU64,
    refusals: AtomicU64,
    /// The longest request of each day, in bytes.
    longest: [AtomicUsize; DAYS],
}

impl Provider {
    pub(super) fn new(clock: &FakeClock, begin: Time) -> Self {
        Self { clock: clock.clone(), begin, counts: Arc::default() }
    }

    /// How many answers it gave.
    pub(super) fn answers(&self) -> u64 {
        self.counts.answers.load(Ordering::SeqCst)
    }

    /// How many requests it refused because it was away.
    pub(super) fn refusals(&self) -> u64 {
        self.counts.refusals.load(Ordering::SeqCst)
    }

    /// The longest request of each day, in bytes.
    pub(super) fn longest_requests(&self) -> Vec<usize> {
        self.counts.longest.iter().map(|longest| longest.load(Ordering::SeqCst)).collect()
    }
}

#[async_trait]
impl Model for Provider {
    async fn call(&self, request: Request, _: &mut dyn Deltas) -> Result<Reply> {
        let since_begin = self.clock.now().since(self.begin);
        if Outage::is_at(since_begin) {
            self.counts.refusals.fetch_add(1, Ordering::SeqCst);
            return Err(Error::Unreachable { model: "week".into(), cause: "reset".into(), sent: false });
        }
        self.counts.answers.fetch_add(1, Ordering::SeqCst);
        let day = since_begin.as_secs() / (24 * HOUR).as_secs();
        let length = format!("{}{:?}", request.system, request.messages).len();
        self.counts.longest[day as usize].fetch_max(length, Ordering::SeqCst);
        let (text, calls) = match answer(&request) {
            Answer::Text(text) => (text.to_owned(), Vec::new()),
            Answer::Call(tool, arguments) => {
                (String::new(), vec![ToolCall { id: CallId::new(), tool: tool.into(), arguments }])
            }
        };
        Ok(Reply { text, calls, model: "week".into(), usage: USED, cost: PRICE.of(&USED) })
    }

    fn price(&self, _: Option<&str>, usage: &Usage) -> Option<Cost> {
        PRICE.of(usage)
    }

    fn describe(&self) -> String {
        "answers for a week".into()
    }
}

enum Answer {
    Text(&'static str),
    Call(&'static str, Value),
}

fn answer(request: &Request) -> Answer {
    let asked = request.messages.iter().rposition(|message| matches!(message, Message::User(_)));
    let since = &request.messages[asked.map_or(0, |at| at + 1)..];
    let turns = since.iter().filter(|message| matches!(message, Message::Assistant { .. })).count();
    let text = match asked.map(|at| &request.messages[at]) {
        Some(Message::User(text)) => text.as_str(),
        _ => "",
    };
    if request.system.starts_with("You keep the records") {
        return Answer::Text("They spoke of it.");
    }
    if request.system.starts_with("You work on one task") {
        return match turns {
            0 => Answer::Call("create_note", json!({ "title": "Found", "content": "It is there." })),
            _ => Answer::Text("It is there."),
        };
    }
    match (text, turns) {
        (text, 0) if text.starts_with("Write the feed") => Answer::Call("list_goals", json!({})),
        (text, 0) if text.starts_with("Find") => {
            Answer::Call("create_task", json!({ "title": "Find", "instructions": "Find it." }))
        }
        (text, _) if text.starts_with("Check in") => Answer::Text("There is nothing to say."),
        _ => Answer::Call("send_message", json!({ "message": "Done." })),
    }
}
