//! The scope of a read.

use entourage_types::{EntityKind, ModelUse, Note, Record, Scope, Usage, UsageBy};

use super::{
    Backing,
    sample::{at, claim, done, new_root, note, owner, run, say, step, stranger},
};
use crate::{
    AgentQuery, Commit, EntityQuery, Error, ItemQuery, Page, Result, RunQuery, Store, UsageQuery, Write,
};

/// Every read, under the owner's scope, under [`Scope::All`], and under another owner's, which reveals in no
/// way that the rows exist.
pub async fn no_read_shows_another_owners_rows(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let mut agent = claim(&store, known.id).await?.agent;
    let (mut run, note) = (run(&agent), note(&agent, "secret", "a buried chest").entity()?);
    let usage = Usage { input: 1, ..Usage::default() };
    run.charge(&ModelUse { model: "some::model".to_owned(), usage, cost: None }, at(2));
    let commit = Commit::fenced(&agent, at(2))
        .write(Write::Item(say(&mut agent, run.id, "secret")))
        .write(Write::Run(run.clone()))
        .write(Write::Step(step(run.id, "model/0", done())))
        .write(Write::entity(note.clone()));
    store.commit(commit).await?;

    for (scope, sees) in
        [(Scope::Owner(owner()), true), (Scope::All, true), (Scope::Owner(stranger()), false)]
    {
        let found = [
            ("agent", store.agent(&scope, agent.id).await?.is_some()),
            ("agents", !store.agents(&scope, AgentQuery::default()).await?.is_empty()),
            (
                "agents by root",
                !store
                    .agents(&scope, AgentQuery { root: Some(agent.id), ..AgentQuery::default() })
                    .await?
                    .is_empty(),
            ),
            ("items", {
                let query = ItemQuery::of(agent.id, 0, 10);
                !store.items(&scope, query).await?.is_empty()
            }),
            ("runs", !store.runs(&scope, RunQuery::default()).await?.is_empty()),
            (
                "runs by id",
                !store.runs(&scope, RunQuery { id: Some(run.id), ..RunQuery::default() }).await?.is_empty(),
            ),
            (
                "runs by agent",
                !store
                    .runs(&scope, RunQuery { agent: Some(agent.id), ..RunQuery::default() })
                    .await?
                    .is_empty(),
            ),
            (
                "runs by root",
                !store
                    .runs(&scope, RunQuery { root: Some(agent.id), ..RunQuery::default() })
                    .await?
                    .is_empty(),
            ),
            ("run counts", !store.count_runs(&scope, RunQuery::default()).await?.is_empty()),
            ("usage", {
                let query = UsageQuery { run: Some(run.id), by: vec![UsageBy::Run], ..UsageQuery::default() };
                !store.usage(&scope, query).await?.is_empty()
            }),
            ("steps", !store.steps(&scope, run.id).await?.is_empty()),
            ("entity", store.entity(&scope, EntityKind::NOTE, &note.id).await?.is_some()),
            ("entities", !store.entities(&scope, EntityQuery::records::<Note>()).await?.is_empty()),
            ("search", {
                let text = Some("chest".to_owned());
                let query = EntityQuery { text, ..EntityQuery::records::<Note>() };
                !store.entities(&scope, query).await?.is_empty()
            }),
            ("events", !store.events(&scope, agent.root, 0, 10).await?.is_empty()),
        ];
        for (read, found) in found {
            assert_eq!(found, sees, "{read} on behalf of {scope:?}");
        }
    }

    // A page after another owner's row is refused like one after a row that does not exist.
    let theirs = new_root(&store, stranger()).await?;
    for hidden in [known.id.to_string(), "agt_none".to_owned()] {
        let page = Page { after: Some(hidden.clone()), newest_first: true, ..Page::default() };
        let query = AgentQuery { page, ..AgentQuery::default() };
        let refused = store.agents(&Scope::Owner(theirs.owner.clone()), query).await;
        assert!(matches!(&refused, Err(Error::NoRow { after }) if *after == hidden), "{refused:?}");
    }
    Ok(())
}
