//! Forgetting: the events of a tree that lives on keep their numbers, and nothing that was said by or to what is
//! forgotten.

use entourage_types::{
    About, Action, Agent, AgentId, Answer, Author, CallId, Columns, EntityKind, Event, EventBody, Grant,
    GrantId, GrantStatus, GrantSubject, Intervention, InterventionId, InterventionStatus, NewEvent, Owner,
    Parent, Proposal, Question, QuestionId, QuestionStatus, Record, Retry, Run, RunId, Scope, Session,
    SessionEnd, SessionId, Status, StepState, Task, TaskResult, Tombstone,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Backing,
    handles::Handles,
    races::two,
    sample::{at, claim, new_child, new_root, owner, question, run, say, step, task},
};
use crate::{Commit, Expect, Result, Store, Write};

/// What is never to be read again.
const SECRET: &str = "where the treasure lies";

/// A record of an application whose event is about an agent that it does not belong to.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Map {
    id: String,
    owner: Owner,
    root: Option<AgentId>,
    parent: Parent,
    told_of: AgentId,
    text: String,
}

impl Record for Map {
    const KIND: EntityKind = EntityKind::new("sample_map");
    type Status = &'static str;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.clone(),
            owner: self.owner.clone(),
            root: self.root,
            parent: Some(self.parent.clone()),
            status: "drawn",
            created: at(1),
            updated: at(1),
            name: None,
            text: None,
        }
    }

    fn event(&self) -> serde_json::Result<Option<NewEvent>> {
        self.root.map(|root| NewEvent::of(self, root, self.told_of)).transpose()
    }
}

fn map(id: &str, of: &Agent, parent: impl Into<Parent>, root: Option<AgentId>) -> Map {
    let (id, owner, text) = (id.to_owned(), of.owner.clone(), SECRET.to_owned());
    Map { id, owner, root, parent: parent.into(), told_of: of.root, text }
}

fn tombstone(agent: &Agent) -> Tombstone {
    let (of, owner, root) = (Parent::from(agent.id), agent.owner.clone(), agent.root);
    Tombstone { of, owner, root, agent: agent.id, at: at(4) }
}

fn forget(agent: &Agent) -> Result<Commit> {
    let forgets = Commit::new(at(4)).expect(Expect::Ended(agent.id)).write(Write::PruneAgent(agent.id));
    Ok(forgets.write(Write::record(&tombstone(agent))?))
}

async fn events(store: &impl Store, root: AgentId) -> Result<Vec<Event>> {
    store.events(&Scope::All, root, 0, 100).await
}

fn is_told(events: &[Event]) -> Result<bool> {
    Ok(serde_json::to_string(events)?.contains(SECRET))
}

/// Writes that emit one event of each sort about an agent, each with a secret.
fn tell_all(agent: &mut Agent, other: AgentId) -> Result<Vec<Write>> {
    let secret = || SECRET.to_owned();
    let failed = Run {
        status: Status::Failed,
        error: Some(secret()),
        ..run(&Agent { status: Status::Running, ..agent.clone() })
    };
    let again = StepState::Retry(Retry {
        due: at(9),
        error: secret(),
        models_failed: 0,
        said: Vec::new(),
        spent: 1,
        failed: Vec::new(),
        put_off: 0,
        shortage: None,
        held_back: false,
    });
    let proposal = Proposal {
        tool: "dig".to_owned(),
        arguments: json!({ "at": SECRET }),
        parameters: json!({ "examples": [SECRET] }),
        digest: secret(),
        kind_version: "1".to_owned(),
        held_by: Some(GrantSubject::Host(secret())),
    };
    let asked = Question {
        text: secret(),
        options: vec![secret()],
        about: About::Approval,
        proposal: Some(Box::new(proposal)),
        ..question(agent)
    };
    let answers = [
        Answer::Text(secret()),
        Answer::Approve { arguments: Some(json!(SECRET)), always: true, digest: Some(secret()) },
        Answer::Reject { reason: Some(secret()) },
    ];
    let answered = answers.map(|answer| Question {
        id: QuestionId::new(),
        status: QuestionStatus::Answered,
        answer: Some(answer),
        ..asked.clone()
    });
    let (owner, root, own) = (agent.owner.clone(), agent.root, agent.id);
    let intervention = Intervention {
        id: InterventionId::new(),
        owner: owner.clone(),
        root,
        agent: own,
        by: Author::User,
        action: Action::Steer,
        text: Some(secret()),
        of: None,
        status: InterventionStatus::Applied,
        created: at(1),
        updated: at(1),
    };
    let grant = Grant {
        id: GrantId::new(),
        owner: owner.clone(),
        root,
        agent: own,
        tool: "dig".to_owned(),
        subject: GrantSubject::Host(secret()),
        question: asked.id,
        status: GrantStatus::Standing,
        created: at(1),
        updated: at(1),
    };
    let session = Session {
        id: SessionId::new(),
        owner,
        root,
        agent: own,
        number: 1,
        summary: secret(),
        reason: SessionEnd::Asked,
        trigger: None,
        messages: 1,
        tokens: 1,
        items: (0, 0),
        used: None,
        started: at(1),
        completed: at(1),
    };
    let mut writes = vec![
        Write::Item(say(agent, RunId::new(), SECRET)),
        Write::Step(step(failed.id, "model/1", again)),
        Write::Run(failed),
        Write::record(&asked)?,
        Write::record(&intervention)?,
        Write::record(&grant)?,
        Write::record(&session)?,
        Write::record(&map("own", agent, own, Some(root)))?,
        Write::record(&map("below", agent, Parent::record::<Map>("own"), Some(root)))?,
    ];
    for answered in &answered {
        writes.push(Write::record(answered)?);
    }
    for result in [None, Some(TaskResult::Text(secret())), Some(TaskResult::Error(secret()))] {
        let assigned = Task { instruction: secret(), call: CallId::new(), result, ..task(agent, other) };
        writes.push(Write::record(&assigned)?);
    }
    agent.status = Status::Failed;
    writes.push(Write::Agent(agent.clone()));
    Ok(writes)
}

/// Each sort of event about a forgotten agent, or about a record that is removed with it, is read without any text, and
/// is otherwise as it was.
pub async fn the_events_of_a_forgotten_agent_have_no_texts(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let tree = new_root(&store, owner()).await?;
    let new = tree.child("digger", SECRET, None, at(1));
    let assigned = Task { instruction: SECRET.to_owned(), ..task(&tree, new.id) };
    let create = Commit::new(at(1)).write(Write::NewAgent(new.clone())).write(Write::record(&assigned)?);
    store.commit(create).await?;
    let mut child = claim(&store, new.id).await?.agent;
    let fenced = Commit::fenced(&child, at(2));
    let writes = tell_all(&mut child, tree.id)?;
    store.commit(Commit { writes, ..fenced }).await?;
    let before = events(&store, tree.id).await?;
    assert_eq!(before.len(), 19, "{before:?}");
    assert!(is_told(&before)?);

    store.commit(forget(&child)?).await?;
    drop(store);
    let store = place.open().await?;
    let after = events(&store, tree.id).await?;
    assert!(after.iter().map(|event| event.seq).eq(1..=before.len() as u64 + 1), "{after:?}");
    assert!(!is_told(&after)?, "{after:?}");
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((before.agent, before.at), (after.agent, after.at));
        let left = if before.seq == 1 { before.body.clone() } else { before.body.clone().without_texts() };
        assert_eq!(after.body, left);
    }
    assert!(matches!(after.last().map(|event| &event.body), Some(EventBody::Record { kind, record, .. })
        if kind == "tombstone" && !record.is_null()));
    assert_eq!(store.entities(&Scope::All, crate::EntityQuery::records::<Task>()).await?.len(), 1);
    let kept = (&store as &dyn Store).record::<Task>(&Scope::All, assigned.id).await?;
    assert_eq!(kept, Some(assigned), "the parent knows what it assigned");
    Ok(())
}

/// The events about a forgotten record, and about what belonged to it, are read without what it said, in whichever tree
/// these are; the events about others stay as they are.
pub async fn the_events_of_a_forgotten_record_have_no_texts(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let tree = new_root(&store, owner()).await?;
    let (own, other) = (tree.id, Some(tree.id));
    let maps = [
        map("in the tree", &tree, own, other),
        map("of no tree", &tree, own, None),
        map("below", &tree, Parent::record::<Map>("of no tree"), other),
        map("kept", &tree, own, other),
    ];
    let mut draw = Commit::new(at(2));
    for map in &maps {
        draw.push(Write::record(map)?);
    }
    store.commit(draw).await?;
    let before = events(&store, tree.id).await?;
    assert_eq!(before.len(), 4);
    for id in ["in the tree", "of no tree"] {
        store.commit(Commit::new(at(3)).write(Write::PruneEntity(Map::KIND, id.to_owned()))).await?;
    }
    let after = events(&store, tree.id).await?;
    let left: Vec<EventBody> = before.iter().map(|event| event.body.clone()).collect();
    let [made, first, below, kept] =
        <[EventBody; 4]>::try_from(left).unwrap_or_else(|left| panic!("{left:?}"));
    let told: Vec<EventBody> = after.into_iter().map(|event| event.body).collect();
    assert_eq!(told, [made, first.without_texts(), below.without_texts(), kept]);
    Ok(())
}

/// An agent that is removed without a tombstone, as retention does on the way to its root, changes no event; nor does
/// one that is forgotten change those of others.
pub async fn events_keep_their_texts_unless_something_is_forgotten(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let tree = new_root(&store, owner()).await?;
    let [first, second] = [new_child(&store, &tree).await?, new_child(&store, &tree).await?];
    store.commit(Commit::new(at(2)).write(Write::record(&question(&first))?)).await?;
    store.commit(Commit::new(at(2)).write(Write::record(&question(&second))?)).await?;
    let before = events(&store, tree.id).await?;
    store.commit(Commit::new(at(3)).write(Write::PruneAgent(first.id))).await?;
    assert_eq!(events(&store, tree.id).await?, before);
    let mut own = claim(&store, second.id).await?.agent;
    own.status = Status::Succeeded;
    store.commit(Commit::fenced(&own, at(3)).write(Write::Agent(own.clone()))).await?;
    store.commit(forget(&second)?).await?;
    let after = events(&store, tree.id).await?;
    for (before, after) in before.iter().zip(&after).filter(|(event, _)| event.agent != second.id) {
        assert_eq!(before, after);
    }
    Ok(())
}

/// What one handle told of an agent, the other one forgets: no handle keeps it, and both number on.
pub async fn an_agent_is_forgotten_with_what_another_handle_told_of_it(place: impl Handles) -> Result<()> {
    let handles = two(&place).await?;
    for round in 0..4 {
        let (tells, forgets) = (&*handles[round % 2], &*handles[(round + 1) % 2]);
        let tree = new_root(tells, owner()).await?;
        let mut child = new_child(tells, &tree).await?;
        child = claim(tells, child.id).await?.agent;
        let fenced = Commit::fenced(&child, at(2));
        let writes = tell_all(&mut child, tree.id)?;
        tells.commit(Commit { writes, ..fenced }).await?;
        let before = events(forgets, tree.id).await?;
        assert!(is_told(&before)?);
        forgets.commit(forget(&child)?).await?;
        tells.commit(Commit::new(at(5)).write(Write::record(&question(&tree))?)).await?;
        for handle in &handles {
            let after = events(&**handle, tree.id).await?;
            assert!(!is_told(&after)?, "{after:?}");
            assert!(after.iter().map(|event| event.seq).eq(1..=before.len() as u64 + 2), "{after:?}");
        }
    }
    Ok(())
}
