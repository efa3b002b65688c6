//! Which writer may write what. A commit that breaks these rules is a bug of its author and is refused as a
//! whole, with [`Error::RuleViolation`] if no other error names the cause.

use entourage_types::{
    Agent, AgentId, Entity, EntityKind, EventBody, Owner, Question, Record, Run, RunId, Scope, Status, Wakeup,
};

use super::{
    Backing,
    sample::{
        at, claim, done, key, new_child, new_root, open, owner, post, question, request, run, say, step,
        stranger, wakeup,
    },
};
use crate::{Commit, EntityQuery, Error, ItemQuery, Result, RunQuery, Store, Write};

/// A second agent of the same id is refused.
pub async fn an_agent_is_created_once(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let agent = new_root(&store, owner()).await?;
    let again = Agent { title: "another".to_owned(), ..agent.clone() };
    let refused = store.commit(Commit::new(at(1)).write(Write::NewAgent(again))).await;
    assert!(matches!(refused, Err(Error::AgentExists { agent: found }) if found == agent.id), "{refused:?}");
    assert_eq!(store.agent(&Scope::All, agent.id).await?, Some(agent));
    Ok(())
}

/// The commit that creates an agent contains exactly the items that the agent's row counts, whether an
/// outsider or an activation creates it; each item has its event, and the transcript continues after them.
pub async fn an_agent_may_be_created_with_items(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let begun = |mut agent: Agent, count: u64| {
        let items: Vec<_> = (0..count).map(|_| say(&mut agent, RunId::new(), "before")).collect();
        (agent, items.into_iter().map(Write::Item).collect::<Vec<_>>())
    };
    let (root, items) = begun(Agent::root(owner(), "helper", "helps", at(0)), 2);
    for (count, kept) in [(2, &items[..1]), (1, &items[..]), (1, &items[1..]), (0, &items[..])] {
        let mut refused = Commit::new(at(1)).write(Write::NewAgent(Agent { items: count, ..root.clone() }));
        refused.writes.extend_from_slice(kept);
        let refused = store.commit(refused).await;
        assert!(matches!(refused, Err(Error::RuleViolation(_))), "{count} items: {refused:?}");
    }
    let mut commit = Commit::new(at(1)).write(Write::NewAgent(root.clone()));
    commit.writes.extend(items);
    store.commit(commit).await?;

    let mut parent = claim(&store, root.id).await?.agent;
    assert_eq!((parent.items, claim(&store, root.id).await?.items.len()), (2, 2));
    parent = claim(&store, root.id).await?.agent;
    let (child, items) = begun(parent.child("digger", "digs", None, at(2)), 3);
    let own = Write::Item(say(&mut parent, RunId::new(), "behind"));
    let mut commit = Commit::fenced(&parent, at(2)).write(Write::NewAgent(child.clone())).write(own);
    commit.writes.extend(items);
    store.commit(commit).await?;
    for (agent, count) in [(&root, 3), (&child, 3)] {
        let row = store.agent(&Scope::All, agent.id).await?;
        assert_eq!(row.map(|row| row.items), Some(count));
        let more = claim(&store, agent.id).await?.agent;
        let next = say(&mut more.clone(), RunId::new(), "the next");
        store.commit(Commit::fenced(&more, at(3)).write(Write::Item(next))).await?;
        let told = store.events(&Scope::All, root.id, 0, 100).await?;
        let told = told.iter().filter(|event| event.agent == agent.id);
        let told: Vec<u64> = told
            .filter_map(|event| match &event.body {
                EventBody::Item { item_seq, .. } => Some(*item_seq),
                _ => None,
            })
            .collect();
        assert_eq!(told, [0, 1, 2, 3]);
    }
    Ok(())
}

/// Two agents of one tree never have the same key; agents of different trees may.
pub async fn a_key_is_unique_in_its_tree(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (here, there) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let keyed = |above: &Agent| above.child("peer", "answers", Some(key("chat peer")), at(1));
    let first = keyed(&here);
    store.commit(Commit::new(at(1)).write(Write::NewAgent(first.clone()))).await?;
    let refused = store.commit(Commit::new(at(1)).write(Write::NewAgent(keyed(&here)))).await;
    assert!(matches!(refused, Err(Error::AgentExists { agent }) if agent == first.id), "{refused:?}");
    store.commit(Commit::new(at(1)).write(Write::NewAgent(keyed(&there)))).await?;
    Ok(())
}

/// Writing an agent's row never changes its epoch, owner, kind, key, place in the tree or time of creation.
pub async fn an_agent_never_changes_its_owner_kind_key_or_place(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (root, other) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let child = new_child(&store, &root).await?;
    let agent = claim(&store, child.id).await?.agent;

    let changed: [fn(&mut Agent, &Agent); 7] = [
        |agent, _| agent.owner = stranger(),
        |agent, other| agent.root = other.root,
        |agent, other| agent.parent = Some(other.id),
        |agent, _| agent.depth = 7,
        |agent, _| agent.key = Some(key("a")),
        |agent, _| agent.kind = "another".to_owned(),
        |agent, _| agent.created = at(99),
    ];
    for change in changed {
        let mut row = agent.clone();
        change(&mut row, &other);
        let refused = store.commit(Commit::fenced(&agent, at(2)).write(Write::Agent(row))).await;
        assert!(matches!(refused, Err(Error::RuleViolation(_))), "{refused:?}");
    }
    let raised = Agent { epoch: 99.into(), status: Status::Running, ..agent.clone() };
    store.commit(Commit::fenced(&agent, at(2)).write(Write::Agent(raised))).await?;
    let expected = Agent { status: Status::Running, ..agent };
    assert_eq!(store.agent(&Scope::All, child.id).await?, Some(expected));
    assert_eq!(store.events(&Scope::All, other.root, 1, 10).await?, [], "told in another tree");
    Ok(())
}

/// A commit of an activation with another agent's row, item or run is refused as a whole.
pub async fn an_activation_writes_its_own_agent_only(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (mine, theirs) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let agent = claim(&store, mine.id).await?.agent;
    let mut other = theirs.clone();
    let (their_item, their_run) = (say(&mut other, RunId::new(), "forged"), run(&theirs));
    for write in [Write::Agent(theirs.clone()), Write::Item(their_item), Write::Run(their_run)] {
        let commit = Commit::fenced(&agent, at(2))
            .write(Write::entity(request(&owner(), "before", "done")))
            .write(write.clone());
        let refused = store.commit(commit).await;
        assert!(matches!(refused, Err(Error::RuleViolation(_))), "{write:?}: {refused:?}");
    }
    assert_eq!(store.entity(&Scope::All, EntityKind::REQUEST, "before").await?, None);
    assert_eq!(store.agent(&Scope::All, theirs.id).await?, Some(theirs));
    Ok(())
}

/// A run that exists belongs to its agent for good.
pub async fn a_run_of_another_agent_is_not_taken_over(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (mine, theirs) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let (mine, theirs) = (claim(&store, mine.id).await?.agent, claim(&store, theirs.id).await?.agent);
    let foreign = run(&theirs);
    store.commit(Commit::fenced(&theirs, at(1)).write(Write::Run(foreign.clone()))).await?;
    let forged = Run { id: foreign.id, ..run(&mine) };
    let refused = store.commit(Commit::fenced(&mine, at(2)).write(Write::Run(forged))).await;
    assert!(matches!(refused, Err(Error::RuleViolation(_))), "{refused:?}");
    let runs = RunQuery { agent: Some(theirs.id), ..RunQuery::default() };
    assert_eq!(store.runs(&Scope::All, runs).await?, [foreign]);
    Ok(())
}

/// No name, title or error of a row has a NUL, which not every database can store.
pub async fn a_nul_in_a_name_title_or_error_is_refused(place: impl Backing) -> Result<()> {
    const NUL: &str = "a\0b";
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let agent = claim(&store, root.id).await?.agent;
    let new = |change: fn(&mut Agent)| {
        let mut agent = Agent::root(owner(), "helper", "helps", at(0));
        change(&mut agent);
        Write::NewAgent(agent)
    };
    let record = |change: fn(&mut Entity)| {
        let mut record = request(&owner(), "a request", "done");
        change(&mut record);
        Write::entity(record)
    };
    let woken = Wakeup { owner: Owner::new(NUL), ..wakeup(&agent, at(1)) };
    for write in [
        new(|agent| agent.title = NUL.to_owned()),
        new(|agent| agent.kind = NUL.to_owned()),
        new(|agent| agent.owner = Owner::new(NUL)),
        Write::Agent(Agent { title: NUL.to_owned(), ..agent.clone() }),
        Write::Run(Run { error: Some(NUL.to_owned()), ..run(&agent) }),
        Write::Run(Run { kind_version: NUL.to_owned(), ..run(&agent) }),
        Write::ScheduleWakeup(woken),
        record(|record| record.owner = Owner::new(NUL)),
        record(|record| record.id = NUL.to_owned()),
        record(|record| record.status = NUL.to_owned()),
    ] {
        let refused = store.commit(Commit::fenced(&agent, at(2)).write(write.clone())).await;
        assert!(matches!(refused, Err(Error::RuleViolation(_))), "{write:?}: {refused:?}");
    }
    Ok(())
}

/// The run of a step is an existing run of the writer, or is written by the same commit.
pub async fn a_step_must_belong_to_a_run_of_its_writer(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (mine, theirs) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let (mine, theirs) = (claim(&store, mine.id).await?.agent, claim(&store, theirs.id).await?.agent);
    let (own, foreign) = (run(&mine), run(&theirs));
    let kept = step(foreign.id, "model/0", open());
    let commit =
        Commit::fenced(&theirs, at(1)).write(Write::Step(kept.clone())).write(Write::Run(foreign.clone()));
    store.commit(commit).await?;
    for run in [foreign.id, own.id] {
        let write = Write::Step(step(run, "model/0", done()));
        let refused = store.commit(Commit::fenced(&mine, at(2)).write(write)).await;
        assert!(matches!(refused, Err(Error::RuleViolation(_))), "{refused:?}");
    }
    store.commit(Commit::fenced(&mine, at(2)).write(Write::Run(own.clone()))).await?;
    let write = Write::Step(step(own.id, "model/0", done()));
    store.commit(Commit::fenced(&mine, at(3)).write(write)).await?;
    assert_eq!(store.steps(&Scope::All, foreign.id).await?, [kept]);
    assert_eq!(store.steps(&Scope::All, own.id).await?.len(), 1);
    Ok(())
}

/// A commit without a fence writes no row, item, run or step of an existing agent, consumes no post or
/// wake-up, and drops no wake-up whose agent exists.
pub async fn a_commit_without_a_fence_writes_no_transcript(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let mut agent = new_root(&store, owner()).await?;
    let (post, wakeup) = (post(agent.id, "hello"), wakeup(&agent, at(1)));
    let known =
        Commit::new(at(1)).write(Write::Post(post.clone())).write(Write::ScheduleWakeup(wakeup.clone()));
    store.commit(known).await?;
    let run = run(&agent);
    for write in [
        Write::Agent(agent.clone()),
        Write::Item(say(&mut agent, run.id, "forged")),
        Write::Step(step(run.id, "model/0", done())),
        Write::Run(run),
        Write::ConsumePost(post.id),
        Write::ConsumeWakeup(wakeup.id),
        Write::DropOrphanWakeup(wakeup.clone()),
    ] {
        let refused = store.commit(Commit::new(at(2)).write(write.clone())).await;
        assert!(matches!(refused, Err(Error::RuleViolation(_))), "{write:?}: {refused:?}");
    }
    let all = ItemQuery::of(agent.id, 0, 10);
    assert_eq!(store.items(&Scope::All, all).await?, []);
    assert_eq!(store.runs(&Scope::All, RunQuery::default()).await?, []);
    assert_eq!(store.inbox(agent.id).await?, [post]);
    assert_eq!(store.due(at(1), None, 10).await?, [wakeup]);
    Ok(())
}

/// A post or a wake-up for an agent that does not exist is refused; an agent that the same commit creates
/// exists.
pub async fn a_post_to_a_missing_agent_is_refused(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let agent = Agent::root(owner(), "helper", "helps", at(0));
    let (post, wakeup) = (post(agent.id, "hello"), wakeup(&agent, at(1)));
    for write in [Write::Post(post.clone()), Write::ScheduleWakeup(wakeup)] {
        let refused = store.commit(Commit::new(at(1)).write(write)).await;
        assert!(
            matches!(refused, Err(Error::NoAgent { agent: missing }) if missing == agent.id),
            "{refused:?}"
        );
    }
    let mut commit = Commit::new(at(1)).write(Write::NewAgent(agent.clone()));
    commit.post(post.clone(), &agent.owner);
    store.commit(commit).await?;
    assert_eq!(store.inbox(agent.id).await?, [post]);
    let nobody: Vec<AgentId> = store.due(at(1), None, 10).await?.into_iter().map(|w| w.agent).collect();
    assert_eq!(nobody, [agent.id]);
    Ok(())
}

/// A write with an event is refused if the root of the event's tree does not exist or is removed by the same
/// commit.
pub async fn an_event_of_a_missing_tree_is_refused(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (tree, gone) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    store.commit(Commit::new(at(1)).write(Write::PruneAgent(gone.id))).await?;
    let asked = |agent: &Agent| Write::record(&question(agent));
    let forgets = Commit::new(at(2)).write(asked(&tree)?).write(Write::PruneAgent(tree.id));
    for (commit, root) in [(Commit::new(at(2)).write(asked(&gone)?), &gone), (forgets, &tree)] {
        let refused = store.commit(commit).await;
        assert!(matches!(refused, Err(Error::NoAgent { agent }) if agent == root.id), "{refused:?}");
    }
    assert_eq!(store.agent(&Scope::All, tree.id).await?, Some(tree.clone()));
    for (root, told) in [(&tree, 1), (&gone, 0)] {
        assert_eq!(store.events(&Scope::All, root.id, 0, 10).await?.len(), told);
    }
    let other = new_root(&store, owner()).await?;
    let astray = Write::Record(question(&tree).entity()?, question(&other).event()?.map(Box::new));
    let refused = store.commit(Commit::new(at(2)).write(astray)).await;
    assert!(matches!(refused, Err(Error::RuleViolation(_))), "told in another tree: {refused:?}");
    let asked = store.entities(&Scope::All, EntityQuery::records::<Question>()).await?;
    assert_eq!(asked, []);
    Ok(())
}

/// An entity whose id another owner's entity has is refused.
pub async fn an_entity_cannot_be_taken_by_another_owner(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let write =
        |owner: &Owner, status| Commit::new(at(1)).write(Write::entity(request(owner, "one", status)));
    store.commit(write(&owner(), "open")).await?;
    let refused = store.commit(write(&stranger(), "stolen")).await;
    assert!(matches!(&refused, Err(Error::Exists { id, .. }) if id == "one"), "{refused:?}");
    let kept = store.entity(&Scope::All, EntityKind::REQUEST, "one").await?;
    assert_eq!(kept, Some(request(&owner(), "one", "open")));
    Ok(())
}

/// Names by which rows are found have no NUL and at most 512 bytes, to fit into the columns and indexes of
/// every database.
pub async fn names_have_no_nul_and_a_bounded_length(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let agent = claim(&store, known.id).await?.agent;
    let long = "k".repeat(513);
    for name in ["a\0b", long.as_str()] {
        let child = Agent { key: Some(key(name)), ..known.child("digger", "digs", None, at(0)) };
        let of_kind = Agent { kind: name.to_owned(), ..known.child("digger", "digs", None, at(0)) };
        let stranger = Agent::root(Owner::new(name), "digger", "", at(0));
        let outside = [
            Write::NewAgent(child),
            Write::NewAgent(of_kind),
            Write::NewAgent(stranger),
            Write::entity(request(&owner(), name, "done")),
            Write::entity(request(&owner(), "id", name)),
        ];
        for write in outside {
            let refused = store.commit(Commit::new(at(1)).write(write)).await;
            assert!(matches!(refused, Err(Error::RuleViolation(_))), "{refused:?}");
        }
        let run = run(&agent);
        let named = Write::Step(step(run.id, name, done()));
        let refused = store.commit(Commit::fenced(&agent, at(1)).write(Write::Run(run)).write(named)).await;
        assert!(matches!(refused, Err(Error::RuleViolation(_))), "{refused:?}");
    }
    let longest = Agent { key: Some(key(&"k".repeat(511))), ..known.child("digger", "digs", None, at(0)) };
    store.commit(Commit::new(at(1)).write(Write::NewAgent(longest))).await?;
    Ok(())
}
