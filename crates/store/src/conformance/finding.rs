//! Finding rows by what people look for: words of a title, what an agent waits for, how a run ended, events by agent and
//! name, questions by when they are due, and pages that end at a given row.

use entourage_types::{
    Agent, AgentId, DocumentHead, EventName, Note, NoteId, Owner, Project, ProjectId, Question, Record as _,
    Run, RunId, Scope, ShownStatus, Status, StopReason, WaitingOn,
};

use super::{
    Backing,
    sample::{at, claim, new_child, new_root, note, owner, question, run, stranger},
};
use crate::{
    AgentQuery, Commit, EntityQuery, EventQuery, Page, RecordFilter, Result, RunQuery, Store, Write,
};

fn ann() -> Scope {
    Scope::Owner(owner())
}

/// Agents are found by words of their title and by what they wait for, in both directions.
pub async fn agents_are_found_by_title_and_by_what_they_wait_for(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let titled = |title: &str| Agent::root(owner(), "helper", title, at(0));
    let agents = [
        titled("Prices of trains"),
        titled("TRAINS, and prices"),
        titled("ships"),
        Agent::root(stranger(), "helper", "prices of trains", at(0)),
    ];
    for (nth, agent) in agents.iter().enumerate() {
        store.commit(Commit::new(at(0)).write(Write::NewAgent(agent.clone()))).await?;
        let row = claim(&store, agent.id).await?.agent;
        let waiting_on = Some(if nth == 1 { WaitingOn::User } else { WaitingOn::Timer });
        let row = Agent { status: Status::Waiting, waiting_on, ..row };
        store.commit(Commit::fenced(&row, at(1)).write(Write::Agent(row.clone()))).await?;
    }
    let all = AgentQuery::default();
    let titled = |title: &str| AgentQuery { title: Some(title.to_owned()), ..all.clone() };
    let waiting = |on| AgentQuery { waiting_on: Some(on), ..all.clone() };
    for (query, expected) in [
        (titled("trains prices"), vec![0, 1]),
        (titled("train"), vec![0, 1]),
        (titled("ships trains"), vec![]),
        (titled("%"), vec![]),
        (titled("\0"), vec![]),
        (titled("trains\0 prices"), vec![]),
        (waiting(WaitingOn::User), vec![1]),
        (waiting(WaitingOn::Timer), vec![0, 2]),
        (waiting(WaitingOn::Agent), vec![]),
        (AgentQuery { waiting_on: Some(WaitingOn::Timer), ..titled("prices") }, vec![0]),
    ] {
        for newest_first in [false, true] {
            let page = Page { newest_first, ..Page::default() };
            let found = store.agents(&ann(), AgentQuery { page, ..query.clone() }).await?;
            let found: Vec<AgentId> = found.iter().map(|agent| agent.id).collect();
            let mut expected: Vec<AgentId> = expected.iter().map(|nth: &usize| agents[*nth].id).collect();
            if newest_first {
                expected.reverse();
            }
            assert_eq!(found, expected, "{query:?}");
        }
    }
    Ok(())
}

/// Records are found by when they last changed, with and without words.
pub async fn records_are_found_by_when_they_last_changed(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let mut notes = Vec::new();
    for nth in 0..4 {
        let note = Note { created: at(10 * nth), ..note(&root, "Prices", "of trains") };
        store.commit(Commit::new(at(40)).write(Write::record(&note)?)).await?;
        notes.push(note.id);
    }
    for words in [None, Some("trains".to_owned())] {
        for (since, expected) in [(0, 0..4), (10, 1..4), (11, 2..4), (31, 4..4)] {
            let page = Page { newest_first: true, ..Page::default() };
            let query = RecordFilter::<Note> {
                since: Some(at(since)),
                words: words.clone(),
                page,
                ..RecordFilter::default()
            };
            let found = (&store as &dyn Store).records(&ann(), query).await?;
            let found: Vec<NoteId> = found.iter().map(|note| note.id).rev().collect();
            assert_eq!(found, notes[expected], "since {since}");
        }
    }
    Ok(())
}

/// Records that last changed in other months are found by words since any time, also those that changed in another month
/// than before, and none that was removed.
pub async fn records_of_months_are_found_by_words_since_a_time(place: impl Backing) -> Result<()> {
    let day = |day: u64| at(day * 24 * 60 * 60 * 1_000_000);
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let notes =
        [0, 29, 45, 200, 400, 401].map(|nth| Note { created: day(nth), ..note(&root, "Prices", "trains") });
    for note in &notes {
        store.commit(Commit::new(note.created).write(Write::record(note)?)).await?;
    }
    // Which of the notes are found by a word since a day, whatever comes first.
    let found = async |words: &str, since: u64| -> Result<Vec<usize>> {
        let mut found = Vec::new();
        for newest_first in [false, true] {
            let query = RecordFilter::<Note> {
                since: Some(day(since)),
                words: Some(words.to_owned()),
                page: Page { newest_first, ..Page::default() },
                ..RecordFilter::default()
            };
            let ids = (&store as &dyn Store).records(&ann(), query).await?.into_iter().map(|note| note.id);
            let mut nths: Vec<_> = ids.map(|id| notes.iter().position(|note| note.id == id)).collect();
            nths.sort_unstable();
            found.push(nths.into_iter().flatten().collect());
        }
        assert_eq!(found[0], found[1], "`{words}` since day {since}, best first and newest first");
        Ok(found.remove(0))
    };
    for (since, first) in
        [(0, 0), (1, 1), (30, 2), (45, 2), (46, 3), (200, 3), (201, 4), (401, 5), (402, 6), (4_000, 6)]
    {
        let expected: Vec<usize> = (first..notes.len()).collect();
        assert_eq!(found("trains", since).await?, expected, "since day {since}");
    }
    let change = async |nth: usize, on: u64, content: &str| -> Result<()> {
        let changed = Note { created: day(on), content: content.to_owned(), ..notes[nth].clone() };
        store.commit(Commit::new(day(500)).write(Write::record(&changed)?)).await.map(drop)
    };
    change(0, 430, "trains").await?;
    change(1, 500, "ships").await?;
    change(2, 45, "ships").await?;
    let removes = Write::PruneEntity(Note::KIND, notes[4].id.to_string());
    store.commit(Commit::new(day(500)).write(removes)).await?;
    for (words, since, expected) in [
        ("trains", 0, vec![0, 3, 5]),
        ("ships", 0, vec![1, 2]),
        ("ships", 46, vec![1]),
        ("trains", 401, vec![0, 5]),
        ("trains", 430, vec![0]),
        ("prices", 431, vec![1]),
        ("prices", 501, vec![]),
    ] {
        assert_eq!(found(words, since).await?, expected, "`{words}` since day {since}");
    }
    Ok(())
}

/// Runs are found by tree, kind, version, status and stop reason, however the store looks for those of a tree.
pub async fn runs_are_found_by_how_they_ended(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let child = new_child(&store, &root).await?;
    let other = new_root(&store, owner()).await?;
    let ended = |agent: &Agent, status, stop_reason, version: &str| Run {
        status,
        stop_reason: Some(stop_reason),
        kind_version: version.to_owned(),
        ended: Some(at(5)),
        ..run(agent)
    };
    let runs = [
        ended(&root, Status::Succeeded, StopReason::Completed, "v1"),
        ended(&root, Status::Failed, StopReason::MaxSteps, "v2"),
        ended(&child, Status::Failed, StopReason::Cancelled, "v1"),
        ended(&other, Status::Failed, StopReason::MaxSteps, "v1"),
        run(&child),
    ];
    for run in &runs {
        let agent = claim(&store, run.agent).await?.agent;
        store.commit(Commit::fenced(&agent, at(5)).write(Write::Run(run.clone()))).await?;
    }
    let all = RunQuery::default();
    let status = |status| RunQuery { status: Some(status), ..all.clone() };
    let of_tree = |query: RunQuery| RunQuery { root: Some(root.id), ..query };
    for (query, expected) in [
        (status(ShownStatus::Succeeded), vec![0]),
        (status(ShownStatus::Failed), vec![1, 3]),
        (status(ShownStatus::Stopped), vec![2]),
        (status(ShownStatus::Running), vec![4]),
        (of_tree(status(ShownStatus::Failed)), vec![1]),
        (of_tree(all.clone()), vec![0, 1, 2, 4]),
        (RunQuery { stop_reason: Some(StopReason::MaxSteps), ..all.clone() }, vec![1, 3]),
        (of_tree(RunQuery { stop_reason: Some(StopReason::MaxSteps), ..all.clone() }), vec![1]),
        (RunQuery { version: Some("v2".to_owned()), ..all.clone() }, vec![1]),
        (RunQuery { kind: Some("digger".to_owned()), ..all.clone() }, vec![2, 4]),
        (of_tree(RunQuery { version: Some("v1".to_owned()), ..all.clone() }), vec![0, 2, 4]),
        (RunQuery { agent: Some(child.id), ..status(ShownStatus::Stopped) }, vec![2]),
        (RunQuery { version: Some("v3".to_owned()), ..all.clone() }, vec![]),
    ] {
        for of_large_tree in [false, true] {
            let query = RunQuery { of_large_tree, ..query.clone() };
            let found = store.runs(&ann(), query.clone()).await?;
            let found: Vec<RunId> = found.iter().map(|run| run.id).collect();
            let expected: Vec<RunId> = expected.iter().map(|nth: &usize| runs[*nth].id).collect();
            assert_eq!(found, expected, "{query:?}");
            assert!(store.runs(&Scope::Owner(stranger()), query).await?.is_empty());
        }
    }
    Ok(())
}

/// Events are read forwards and backwards between two numbers, of one agent, of one name, or both.
pub async fn events_are_found_by_agent_and_name_between_two_numbers(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let child = new_child(&store, &root).await?;
    for (nth, agent) in [&root, &child, &root, &child, &child].into_iter().enumerate() {
        let row = claim(&store, agent.id).await?.agent;
        let status = if nth % 2 == 0 { Status::Running } else { Status::Succeeded };
        let row = Agent { status, ..row };
        store.commit(Commit::fenced(&row, at(2)).write(Write::Agent(row.clone()))).await?;
        store.commit(Commit::new(at(2)).write(Write::record(&question(agent))?)).await?;
    }
    let everything = store.events(&Scope::All, root.id, 0, 100).await?;
    assert!(everything.len() >= 10, "{everything:?}");
    let name = everything.last().map(|event| event.body.name());
    for agent in [None, Some(root.id), Some(child.id)] {
        for named in [None, name, Some(EventName::Grant)] {
            for (after, before) in
                [(0, None), (3, None), (0, Some(8)), (3, Some(8)), (5, Some(6)), (99, None)]
            {
                for (limit, latest) in [(100, false), (100, true), (2, false), (2, true)] {
                    let query = EventQuery {
                        before,
                        latest,
                        agent,
                        name: named,
                        ..EventQuery::of(root.id, after, limit)
                    };
                    let mut expected: Vec<_> = everything
                        .iter()
                        .filter(|event| event.seq > after && before.is_none_or(|before| event.seq < before))
                        .filter(|event| agent.is_none_or(|agent| event.agent == agent))
                        .filter(|event| named.is_none_or(|name| event.body.name() == name))
                        .cloned()
                        .collect();
                    let most = limit as usize;
                    if latest {
                        expected.drain(..expected.len().saturating_sub(most));
                    }
                    expected.truncate(most);
                    assert_eq!(store.select_events(&ann(), query.clone()).await?, expected, "{query:?}");
                    assert!(store.select_events(&Scope::Owner(stranger()), query).await?.is_empty());
                }
            }
        }
    }
    Ok(())
}

/// Questions come by when they are due, those that never are last; a page begins after any of them, and ends at a given
/// row.
pub async fn questions_are_read_by_when_they_are_due(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let agent = new_root(&store, owner()).await?;
    let mut questions = Vec::new();
    for due in [Some(9_000_000), None, Some(3_000_000), Some(9_000_000), None] {
        let asked = Question { due: due.map(at), ..question(&agent) };
        store.commit(Commit::new(at(1)).write(Write::record(&asked)?)).await?;
        questions.push(asked.id.to_string());
    }
    let by_due: Vec<String> = [2, 0, 3, 1, 4].iter().map(|nth: &usize| questions[*nth].clone()).collect();
    let read = async |soonest_first, page| -> Result<Vec<String>> {
        let query = EntityQuery { soonest_first, page, ..EntityQuery::records::<Question>() };
        Ok(store.entities(&ann(), query).await?.into_iter().map(|found| found.id).collect())
    };
    assert_eq!(read(true, Page::default()).await?, by_due);
    for nth in 0..by_due.len() {
        let page = Page { after: Some(by_due[nth].clone()), limit: 2, ..Page::default() };
        let end = by_due.len().min(nth + 3);
        assert_eq!(read(true, page).await?, by_due[nth + 1..end], "after {nth}");
        for newest_first in [false, true] {
            let mut expected = questions.clone();
            if newest_first {
                expected.reverse();
            }
            let until = Page { until: Some(expected[nth].clone()), newest_first, ..Page::default() };
            assert_eq!(read(false, until).await?, expected[..=nth], "until {nth}");
        }
    }
    Ok(())
}

/// A number leads to the one record of its noun and owner that has it, whatever was written to that since.
pub async fn records_are_found_by_their_number(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let stored = async |owner: Owner, number: u64| -> Result<Project> {
        let (id, name) = (ProjectId::new(), format!("project {number}"));
        let description = String::new();
        let project = Project { id, owner, number, name, description, created: at(1), updated: at(1) };
        store.commit(Commit::new(at(1)).write(Write::record(&project)?)).await?;
        Ok(project)
    };
    let (own, theirs) = (stored(owner(), 7).await?, stored(stranger(), 7).await?);
    stored(owner(), 70).await?;
    let renamed = Project { name: "another".to_owned(), ..own };
    store.commit(Commit::new(at(2)).write(Write::record(&renamed)?)).await?;
    let store: &dyn Store = &store;
    for (number, scope, expected) in [
        (7, &ann(), vec![renamed.clone()]),
        (7, &Scope::from(&stranger()), vec![theirs]),
        (8, &ann(), vec![]),
        (u64::MAX, &ann(), vec![]),
    ] {
        let found: Vec<Project> = store.records(scope, RecordFilter::numbered(number)).await?;
        assert_eq!(found, expected, "{number}");
    }
    let documents: Vec<DocumentHead> = store.records(&ann(), RecordFilter::numbered(7)).await?;
    assert!(documents.is_empty(), "numbers of other nouns are others");
    Ok(())
}
