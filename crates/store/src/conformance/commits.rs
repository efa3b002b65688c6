//! A commit is applied as a whole or not at all, and its hints are sent once it has happened.

use entourage_types::{Agent, EntityKind, EventBody, Scope, Status};
use tokio::sync::broadcast::error::TryRecvError;

use super::{
    Backing,
    handles::Handles,
    sample::{at, claim, new_root, note, owner, post, request, run, say, stranger, wakeup},
};
use crate::{AgentQuery, Commit, EntityQuery, Error, Expect, Fence, Result, Store, Write};

/// An outsider's commit with writes of several types, each of which leaves a trace.
fn much(known: &Agent) -> Commit {
    let new = known.child("digger", "digs", None, at(1));
    let mut commit = Commit::new(at(1))
        .write(Write::NewAgent(new))
        .write(Write::entity(request(&known.owner, "a request", "done")))
        .write(Write::ScheduleWakeup(wakeup(known, at(1))));
    commit.post(post(known.id, "hello"), &known.owner);
    commit
}

/// Asserts that nothing of [`much`] is stored.
async fn assert_nothing(store: &impl Store, known: &Agent) -> Result<()> {
    let all = Scope::All;
    let tree = AgentQuery { root: Some(known.root), ..AgentQuery::default() };
    assert_eq!(store.agents(&all, tree).await?.len(), 1, "an agent was made");
    assert_eq!(store.entity(&all, EntityKind::REQUEST, "a request").await?, None);
    assert_eq!(store.inbox(known.id).await?, []);
    assert_eq!(store.due(at(1_000_000), None, 10).await?, []);
    assert_eq!(store.events(&all, known.root, 1, 10).await?, []);
    Ok(())
}

/// If an expectation does not hold, none of the commit's writes is stored.
pub async fn a_failed_expectation_stores_nothing(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let refused = store.commit(much(&known).expect(Expect::TreeBelow(known.root, 1))).await;
    assert!(matches!(refused, Err(Error::TreeFull { .. })), "{refused:?}");
    assert_nothing(&store, &known).await
}

/// If another claim has raised the epoch since, none of the commit's writes is stored.
pub async fn a_refused_fence_stores_nothing(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let old = claim(&store, known.id).await?;
    claim(&store, known.id).await?;
    let fence = Fence { agent: known.id, epoch: old.agent.epoch };
    let refused = store.commit(Commit { fence: Some(fence), ..much(&known) }).await;
    assert!(matches!(refused, Err(Error::Fenced { agent }) if agent == known.id), "{refused:?}");
    assert_nothing(&store, &known).await
}

/// If the last write is refused, none of the writes before it is stored either.
pub async fn a_refused_write_stores_nothing(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let theirs = request(&stranger(), "theirs", "done");
    store.commit(Commit::new(at(1)).write(Write::entity(theirs))).await?;
    let stolen = request(&owner(), "theirs", "stolen");
    for last in [Write::NewAgent(known.clone()), Write::entity(stolen.clone())] {
        let refused = store.commit(much(&known).write(last)).await;
        assert!(refused.is_err());
        assert_nothing(&store, &known).await?;
    }
    // Nor does it use up numbers of a commit that is written at the same time.
    let stolen = Commit::new(at(1)).write(Write::entity(stolen));
    let (told, refused) = tokio::join!(store.commit(much(&known)), store.commit(stolen));
    assert!(told.is_ok() && refused.is_err());
    let events = store.events(&Scope::All, known.root, 0, 10).await?;
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    Ok(())
}

/// Each expectation, both when it holds and when it does not; `AtRest` has its own property in
/// [`retention`](super::retention).
pub async fn each_expectation_holds_or_refuses_the_commit(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let unknown = Agent::root(owner(), "helper", "never made", at(0));
    let kind = EntityKind::REQUEST;
    let (there, not_there) = ("there".to_owned(), "not there".to_owned());
    store.commit(Commit::new(at(1)).write(Write::entity(request(&owner(), &there, "open")))).await?;

    for holds in [
        Expect::Agent(known.id),
        Expect::Absent(kind, not_there.clone()),
        Expect::Absent(EntityKind::NOTE, there.clone()),
        Expect::Status(kind, there.clone(), "open"),
        Expect::Version(kind, there.clone(), 1),
        Expect::Version(kind, not_there.clone(), 0),
        Expect::TreeBelow(known.root, 2),
        Expect::ChildrenBelow(known.id, 1),
    ] {
        let committed = store.commit(Commit::new(at(1)).expect(holds.clone())).await;
        assert!(committed.is_ok(), "{holds:?}: {committed:?}");
    }

    let refusal = async |expected| match store.commit(Commit::new(at(1)).expect(expected)).await {
        Ok(_) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    };
    assert_eq!(refusal(Expect::Agent(unknown.id)).await, Error::NoAgent { agent: unknown.id }.to_string());
    assert_eq!(
        refusal(Expect::Absent(kind, there.clone())).await,
        Error::Exists { kind, id: there.clone() }.to_string()
    );
    let not_in = |id: String, found: &str| {
        Error::NotInStatus { kind, id, expected: "done".to_owned(), found: found.to_owned() }.to_string()
    };
    assert_eq!(refusal(Expect::Status(kind, there.clone(), "done")).await, not_in(there.clone(), "open"));
    let missing = Expect::Status(kind, not_there.clone(), "done");
    assert_eq!(refusal(missing).await, not_in(not_there.clone(), "missing"));
    for (id, expected, found) in [(&there, 0, 1), (&there, 2, 1), (&not_there, 1, 0)] {
        let other = Error::OtherVersion { kind, id: id.clone(), expected, found }.to_string();
        assert_eq!(refusal(Expect::Version(kind, id.clone(), expected)).await, other);
    }
    assert_eq!(
        refusal(Expect::TreeBelow(known.root, 1)).await,
        Error::TreeFull { root: known.root, found: 1, limit: 1 }.to_string()
    );
    assert_eq!(
        refusal(Expect::ChildrenBelow(known.id, 0)).await,
        Error::TooManyChildren { parent: known.id, found: 0, limit: 0 }.to_string()
    );
    Ok(())
}

/// If a commit writes a row twice, the second write stays.
pub async fn the_last_write_of_a_row_wins(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let mut agent = claim(&store, known.id).await?.agent;
    let mut commit = Commit::fenced(&agent, at(2));
    for (status, word) in [(Status::Running, "open"), (Status::Failed, "done")] {
        agent.status = status;
        commit.push(Write::Agent(agent.clone()));
        commit.push(Write::entity(request(&owner(), "twice", word)));
    }
    store.commit(commit).await?;
    assert_eq!(store.agent(&Scope::All, known.id).await?, Some(agent));
    let twice = EntityQuery::of(EntityKind::REQUEST);
    let words: Vec<_> = store.entities(&Scope::All, twice).await?.into_iter().map(|e| e.status).collect();
    assert_eq!(words, ["done"]);
    Ok(())
}

/// Once a commit has returned, its hints have been sent, and what they contain can be read; a refused commit
/// sends none.
pub async fn hints_follow_durability(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let mut agent = claim(&store, known.id).await?.agent;
    let (mut hints, mut woken) = (store.changed(), store.woken());

    let refused = Commit::new(at(1)).expect(Expect::TreeBelow(known.root, 0));
    assert!(store.commit(refused.write(Write::ScheduleWakeup(wakeup(&agent, at(1))))).await.is_err());
    assert_eq!(hints.try_recv().err(), Some(TryRecvError::Empty));
    assert_eq!(woken.try_recv().err(), Some(TryRecvError::Empty));

    let (run, wake) = (run(&agent), wakeup(&agent, at(5)));
    let item = say(&mut agent, run.id, "hello");
    let commit = Commit::fenced(&agent, at(2))
        .write(Write::Item(item.clone()))
        .write(Write::Run(run))
        .write(Write::ScheduleWakeup(wake.clone()))
        .write(Write::record(&note(&agent, "a note", "tells nobody"))?);
    store.commit(commit).await?;
    let Ok(hint) = hints.try_recv() else { panic!("the commit returned and its hint was not sent") };
    assert_eq!(woken.try_recv().as_deref(), Ok([wake].as_slice()));
    assert!(hint.touches(known.root));
    assert!(matches!(&hint.events[0].body, EventBody::Item { item: Some(told), .. } if *told == item));
    assert_eq!(store.events(&Scope::All, known.root, 1, 10).await?, hint.events);
    Ok(())
}

/// A commit that happened and is repeated under its id, through whichever handle, changes nothing more, sends no more
/// hints and returns the same again: also while it is under way, and after another activation has claimed its agent.
/// One that was refused may happen later.
pub async fn a_repeated_commit_happens_once(place: impl Handles) -> Result<()> {
    let [one, other] = place.open_two().await?;
    let known = new_root(&one, owner()).await?;
    let agent = claim(&one, known.id).await?.agent;
    let activation = Commit::fenced(&agent, at(2)).write(Write::record(&note(&agent, "a note", "once"))?);
    let activation = activation.write(Write::Post(post(known.id, "to itself")));
    for commit in [activation, much(&known)] {
        let (mut changed, mut woken) = (other.changed(), other.woken());
        let done = one.commit(commit.clone()).await?;
        claim(&other, known.id).await?;
        let events = other.last_event(&Scope::All, known.root).await?;
        let posts = other.inbox(known.id).await?;
        let (again, at_once) = tokio::join!(other.commit(commit.clone()), other.commit(commit.clone()));
        assert_eq!((again?, at_once?), (done, done), "{commit:?}");
        assert_eq!(other.last_event(&Scope::All, known.root).await?, events);
        assert_eq!(other.inbox(known.id).await?, posts);
        assert!(changed.try_recv().is_err() && woken.try_recv().is_err());
    }
    let twice = much(&known);
    let (first, second) = tokio::join!(one.commit(twice.clone()), one.commit(twice));
    assert_eq!(first?, second?);
    let tree = AgentQuery { root: Some(known.root), ..AgentQuery::default() };
    assert_eq!(
        other.agents(&Scope::All, tree).await?.len(),
        3,
        "the root, and a child of each of the two commits"
    );

    let early = Commit::new(at(3)).expect(Expect::Status(EntityKind::REQUEST, "late".to_owned(), "done"));
    assert!(one.commit(early.clone()).await.is_err());
    one.commit(Commit::new(at(3)).write(Write::entity(request(&owner(), "late", "done")))).await?;
    one.commit(early).await?;
    Ok(())
}
