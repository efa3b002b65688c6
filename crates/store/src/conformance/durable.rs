//! What outlives the process.

use entourage_types::{Agent, Note, Record, RunId, Scope, StepState};

use super::{
    Backing,
    sample::{at, claim, new_root, note, owner, post, run, say, step, wakeup},
};
use crate::{Commit, EntityQuery, Error, Result, Store, Write};

/// A store that is closed and opened again has the same rows and the same numbers, and still refuses old
/// epochs.
pub async fn a_reopened_store_has_the_same_rows_and_numbers(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let before = claim(&store, known.id).await?.agent;
    let mut agent = claim(&store, known.id).await?.agent;
    let (run, post, wake) = (run(&agent), post(agent.id, "hello"), wakeup(&agent, at(9)));
    let note = note(&agent, "kept", "a buried chest").entity()?;
    let item = say(&mut agent, run.id, "hello");
    let step = step(run.id, "model/0", StepState::Started);
    let commit = Commit::fenced(&agent, at(2))
        .write(Write::Item(item.clone()))
        .write(Write::Run(run.clone()))
        .write(Write::Step(step.clone()))
        .write(Write::Post(post.clone()))
        .write(Write::ScheduleWakeup(wake.clone()))
        .write(Write::entity(note.clone()))
        .write(Write::Agent(agent.clone()));
    store.commit(commit).await?;
    let events = store.events(&Scope::All, known.root, 0, 100).await?;
    drop(store);

    let store = place.open().await?;
    assert_eq!(store.events(&Scope::All, known.root, 0, 100).await?, events);
    assert_eq!(store.due(at(9), None, 10).await?, std::slice::from_ref(&wake));
    let text = Some("chest".to_owned());
    let query = EntityQuery { text, with_texts: true, ..EntityQuery::records::<Note>() };
    assert_eq!(store.entities(&Scope::All, query).await?, [note]);
    let refused = store.commit(Commit::fenced(&before, at(3))).await;
    assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
    let claim = claim(&store, known.id).await?;
    assert_eq!(claim.agent, Agent { epoch: claim.agent.epoch, ..agent });
    assert_eq!((claim.run, claim.steps, claim.items), (Some(run), vec![step], vec![item]));
    assert_eq!((claim.inbox, claim.wakeups), (vec![post], vec![wake]));
    let mut agent = claim.agent;
    let item = say(&mut agent, RunId::new(), "and on");
    store.commit(Commit::fenced(&agent, at(3)).write(Write::Item(item))).await?;
    let numbers = store.events(&Scope::All, known.root, 0, 100).await?.into_iter().map(|event| event.seq);
    assert_eq!(numbers.collect::<Vec<_>>(), (1..=events.len() as u64 + 1).collect::<Vec<_>>());
    Ok(())
}
