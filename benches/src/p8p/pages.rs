//! The pages: the first one of every list that the API and the command line read, every search, and every sum.
//! The server's state and single rows are no lists, and what a maintenance job finds is little where all is well.

use anyhow::Result;
use entourage_engine::{
    AgentFilter, Client, EventFilter, ItemQuery, Page, PageEnd, QuestionFilter, RunFilter, UsageQuery,
};
use entourage_types::{
    About, AgentId, Day, DeliveryStatus, EventName, GrantStatus, LearningStatus, QuestionStatus, RunId,
    ScheduleStatus, ShownStatus, Status, StopReason, UsageBy, WaitingOn,
};
use futures::future::BoxFuture;

use super::{SILENT, Talked, id, records, rows};

/// The number of an event in the middle.
const MIDDLE: u64 = 500_000;
/// The most buckets of a timeline.
const BUCKETS: u32 = 200;

/// A read of what people read.
pub(super) type Read = Box<dyn Fn(Client) -> BoxFuture<'static, Result<()>>>;

/// Reads with their names.
type Pages = Vec<(&'static str, Read)>;

macro_rules! page {
    ($name:literal, $client:ident => $read:expr) => {{
        let read = move |$client: Client| -> BoxFuture<'static, Result<()>> {
            Box::pin(async move {
                $read.await?;
                Ok(())
            })
        };
        ($name, Box::new(read) as Read)
    }};
}

fn newest() -> Page {
    Page { limit: 50, newest_first: true, bytes: 1 << 20, ..Page::default() }
}

fn runs() -> RunFilter {
    RunFilter { page: newest(), ..RunFilter::default() }
}

fn agents() -> AgentFilter {
    AgentFilter { page: newest(), ..AgentFilter::default() }
}

fn events() -> EventFilter {
    EventFilter { limit: 50, ..EventFilter::default() }
}

fn questions() -> QuestionFilter {
    QuestionFilter { status: Some(QuestionStatus::Open), page: newest(), ..QuestionFilter::default() }
}

fn usage(by: &[UsageBy]) -> UsageQuery {
    UsageQuery { by: by.to_vec(), ..UsageQuery::default() }
}

fn day(day: &str) -> Result<Day> {
    day.parse().map_err(anyhow::Error::msg)
}

fn words(words: &str) -> Option<String> {
    Some(words.to_owned())
}

fn transcript(agent: AgentId, from: u64) -> ItemQuery {
    ItemQuery { bytes: 1 << 20, ..ItemQuery::of(agent, from, 50) }
}

fn run(number: u32) -> Result<RunId> {
    Ok(format!("run_{number:032x}").parse()?)
}

/// All pages.
pub(super) fn pages(talked: Talked) -> Pages {
    [
        of_work(),
        of_events(),
        of_transcripts(),
        of_requests(talked),
        of_questions(),
        of_memory(talked),
        of_records(talked),
        of_kinds(),
        of_usage(talked),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What tells a whole tree, however large: of 100,000 agents, or of half a million events. These are no pages of lists, and
/// have no target.
pub(super) fn whole_trees() -> Pages {
    vec![
        page!("the tree in the middle of its events", client => client.tree_at(id(1)?, MIDDLE)),
        page!("the whole tree", client => client.tree(id(1)?)),
        page!("usage of the whole tree", client => client.tree_usage(id(1)?)),
        page!("usage of the whole tree by day", client => {
            client.usage(UsageQuery { root: Some(id(1)?), ..usage(&[UsageBy::Day]) })
        }),
    ]
}

/// Runs, their steps, agents and trees.
fn of_work() -> Pages {
    vec![
        page!("runs", client => client.find_runs(runs())),
        page!("runs of the tree", client => client.find_runs(RunFilter { root: Some(id(1)?), ..runs() })),
        page!("runs of one agent", client => client.find_runs(RunFilter { agent: Some(id(7)?), ..runs() })),
        page!("runs of a rare kind", client => client.find_runs(RunFilter { kind: Some("rare".into()), ..runs() })),
        page!("runs of no version", client => client.find_runs(RunFilter { version: Some("none".into()), ..runs() })),
        page!("failed runs", client => client.find_runs(RunFilter { status: Some(ShownStatus::Failed), ..runs() })),
        page!("stopped runs, of which there are none", client => {
            client.find_runs(RunFilter { status: Some(ShownStatus::Stopped), ..runs() })
        }),
        page!("failed runs of the tree", client => {
            client.find_runs(RunFilter { root: Some(id(1)?), status: Some(ShownStatus::Failed), ..runs() })
        }),
        page!("runs that a limit ended", client => {
            client.find_runs(RunFilter { stop_reason: Some(StopReason::MaxSteps), ..runs() })
        }),
        page!("agents", client => client.find_agents(agents())),
        page!("agents of a rare kind", client => client.find_agents(AgentFilter { kind: Some("rare".into()), ..agents() })),
        page!("agents with words that no title has", client => {
            client.find_agents(AgentFilter { title: Some("no such words".into()), ..agents() })
        }),
        page!("agents that wait on a person", client => {
            client.find_agents(AgentFilter { waiting_on: Some(WaitingOn::User), ..agents() })
        }),
        page!("failed agents of the tree", client => {
            client.find_agents(AgentFilter { root: Some(id(1)?), status: Some(ShownStatus::Failed), ..agents() })
        }),
        page!("agents by when they began to work", client => client.latest_agents(agents())),
        page!("children of the root, with their sums", client => client.children(id(1)?, agents())),
        page!("waiting children of the root", client => {
            client.children(id(1)?, AgentFilter { status: Some(ShownStatus::Waiting), ..agents() })
        }),
        page!("the sums of the whole tree", client => client.subtree(id(1)?)),
        page!("why, through one agent", client => client.why(id(2)?)),
        page!("roots", client => client.find_agents(AgentFilter { roots: true, ..agents() })),
        page!("roots of a kind", client => client.roots_of("researcher", newest())),
        page!("agents that have not read a post, of which there are none", client => {
            client.find_agents(AgentFilter { unread: true, ..agents() })
        }),
        page!("steps of a run of a hundred calls, of an agent that has talked much", client => {
            client.steps_page(run(records::RUN)?, Page { newest_first: false, ..newest() })
        }),
    ]
}

/// Events, and trees as events tell them.
fn of_events() -> Pages {
    vec![
        page!("the last events", client => client.event_page(id(1)?, events())),
        page!("events in the middle", client => {
            client.event_page(id(1)?, EventFilter { before: Some(MIDDLE), ..events() })
        }),
        page!("events about one agent", client => {
            client.event_page(id(1)?, EventFilter { agent: Some(id(7)?), ..events() })
        }),
        page!("events of a rare name", client => {
            client.event_page(id(1)?, EventFilter { name: Some(EventName::Grant), ..events() })
        }),
        page!("the first events", client => {
            client.event_page(id(1)?, EventFilter { after: Some(0), ..events() })
        }),
        page!("the timeline of a tree", client => client.timeline(id(1)?, BUCKETS)),
        page!("the tree at its thousandth event", client => client.tree_at(id(1)?, 1_000)),
    ]
}

fn of_transcripts() -> Pages {
    vec![
        page!("messages of the root, below which many ask", client => {
            client.transcript_before(id(1)?, None, 50, 1 << 20)
        }),
        page!("messages of one agent", client => client.transcript_before(id(7)?, None, 50, 1 << 20)),
        page!("messages of one agent, in the middle", client => {
            let before = Some(PageEnd { item: 5_000, last: None });
            client.transcript_before(id(7)?, before, 50, 1 << 20)
        }),
        page!("items of one agent", client => client.transcript_part(transcript(id(7)?, 0))),
        page!("items of one agent, in the middle", client => client.transcript_part(transcript(id(7)?, 5_000))),
    ]
}

/// What a model saw and sees.
fn of_requests(talked: Talked) -> Pages {
    let Talked { agent, run, request, item } = talked;
    vec![
        page!("a request, rebuilt", client => client.request(run, request)),
        page!("the request of an item, rebuilt", client => client.request_of_item(agent, item)),
        page!("what a model sees", client => client.context(agent)),
    ]
}

fn of_questions() -> Pages {
    vec![
        page!("open questions, soonest due first", client => {
            client.find_questions(QuestionFilter { soonest_first: true, ..questions() })
        }),
        page!("open questions about what none is about", client => {
            client.find_questions(QuestionFilter { about: Some(About::Doubt), ..questions() })
        }),
        page!("open questions of the tree", client => {
            client.find_questions(QuestionFilter { root: Some(id(1)?), ..questions() })
        }),
        page!("questions of one agent", client => {
            client.find_questions(QuestionFilter { agent: Some(id(97)?), status: None, ..questions() })
        }),
        page!("answered questions, of which there are none", client => {
            client.find_questions(QuestionFilter { status: Some(QuestionStatus::Answered), ..questions() })
        }),
    ]
}

/// Notes, learnings and closed sessions.
fn of_memory(talked: Talked) -> Pages {
    let other = talked.agent;
    vec![
        page!("notes with a word that all have", client => client.find_notes(None, words("trains"), newest())),
        page!("notes with a word that none has", client => client.find_notes(None, words("ships"), newest())),
        page!("notes of the tree with a word that few have", client => {
            client.find_notes(Some(id(1)?), words("trains 77"), newest())
        }),
        page!("notes", client => client.find_notes(None, None, newest())),
        page!("learnings", client => client.find_learnings(None, None, None, newest())),
        page!("learnings of one agent", client => client.learnings(id(7)?)),
        page!("retired learnings", client => {
            client.find_learnings(None, Some(LearningStatus::Retired), None, newest())
        }),
        page!("kept learnings with a word that all have", client => {
            client.find_learnings(None, Some(LearningStatus::Kept), words("trains"), newest())
        }),
        page!("learnings with a word that none has", client => {
            client.find_learnings(None, None, words("ships"), newest())
        }),
        page!("learnings of another tree with a word that all have", client => {
            client.find_learnings(Some(other), None, words("trains"), newest())
        }),
        page!("sessions", client => client.find_sessions(None, None, newest())),
        page!("sessions of one agent", client => client.sessions(id(2)?, newest())),
        page!("sessions with a word that all have", client => client.find_sessions(None, words("trains"), newest())),
        page!("sessions with a word that none has", client => client.find_sessions(None, words("ships"), newest())),
        page!("sessions of one agent with a word that few have", client => {
            client.find_sessions(Some(id(2)?), words("trains 77"), newest())
        }),
    ]
}

/// Tasks, grants, interventions, chats, schedules, deliveries and job runs.
fn of_records(talked: Talked) -> Pages {
    let other = talked.agent;
    vec![
        page!("tasks", client => client.find_tasks(None, None, newest())),
        page!("failed tasks", client => client.find_tasks(None, Some(Status::Failed), newest())),
        page!("tasks of the tree", client => client.find_tasks(Some(id(1)?), None, newest())),
        page!("failed tasks of the tree", client => client.find_tasks(Some(id(1)?), Some(Status::Failed), newest())),
        page!("cancelled tasks of the tree, of which there are none", client => {
            client.find_tasks(Some(id(1)?), Some(Status::Cancelled), newest())
        }),
        page!("succeeded tasks of another tree", client => {
            client.find_tasks(Some(other), Some(Status::Succeeded), newest())
        }),
        page!("grants", client => client.grants(None, None, None, newest())),
        page!("standing grants", client => client.grants(None, None, Some(GrantStatus::Standing), newest())),
        page!("revoked grants of one agent", client => {
            client.grants(None, Some(id(7)?), Some(GrantStatus::Revoked), newest())
        }),
        page!("interventions in one agent", client => client.interventions(id(1)?, newest())),
        page!("chats", client => client.chats(newest())),
        page!("chats of an agency", client => client.agency_chats(records::AGENCY, newest())),
        page!("schedules", client => client.schedules(None, None, newest())),
        page!("schedules of one agent", client => client.schedules(Some(id(7)?), None, newest())),
        page!("paused schedules, of which there are few", client => {
            client.schedules(None, Some(ScheduleStatus::Paused), newest())
        }),
        page!("deliveries to a receiver", client => client.deliveries(rows::RECEIVER, None, newest())),
        page!("deliveries that were given up", client => {
            client.deliveries(rows::RECEIVER, Some(DeliveryStatus::GivenUp), newest())
        }),
        page!("deliveries to a receiver that got none", client => client.deliveries(SILENT, None, newest())),
        page!("receivers, with what did not arrive", client => client.receivers()),
        page!("maintenance jobs", client => client.jobs()),
    ]
}

fn of_kinds() -> Pages {
    vec![
        page!("kinds, with their open runs", client => client.kinds_in_use()),
        page!("versions of a kind", client => client.kind_versions(records::KIND, newest())),
        page!("versions of a rare kind", client => client.kind_versions(records::RARE, newest())),
        page!("one version of a kind", client => async move {
            client.kind_version(records::KIND, &records::version(501)).await
        }),
    ]
}

/// Sums.
fn of_usage(talked: Talked) -> Pages {
    let other = talked.agent;
    vec![
        page!("usage by day and model", client => client.usage(usage(&[UsageBy::Day, UsageBy::Model]))),
        page!("usage of a month by hour", client => {
            let (from, to) = (Some(day("2025-06-01")?), Some(day("2025-06-30")?));
            client.usage(UsageQuery { from, to, ..usage(&[UsageBy::Hour]) })
        }),
        page!("usage of one agent", client => {
            client.usage(UsageQuery { agent: Some(id(7)?), ..usage(&[UsageBy::Model]) })
        }),
        page!("usage of a branch", client => {
            client.usage(UsageQuery { under: Some(id(3)?), ..usage(&[UsageBy::Model]) })
        }),
        page!("usage of another tree", client => client.tree_usage(other)),
        page!("budgets of an agent", client => client.budgets(id(7)?)),
        page!("the budget of today", client => client.budget_today()),
    ]
}
