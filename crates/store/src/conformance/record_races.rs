//! Races of two writers about records with parents, names, versions and numbers, and about agents that are put below
//! others or forgotten. Two hundred rounds of each, over two handles.

use entourage_types::{Agent, EntityKind, Parent, Record, Scope, Status, Tombstone, fold_name};

use super::{
    handles::Handles,
    nouns::{Document, Project},
    races::{Orders, ROUNDS, both, one_of, two},
    sample::{at, claim, new_child, new_root, owner, post},
};
use crate::{Commit, Error, Expect, RecordFilter, Result, Store, Write, counter::next_number};

const fn is_taken(refusal: &Error) -> bool {
    matches!(refusal, Error::NameTaken { .. })
}

fn save(document: &Document, version: u64) -> Result<Commit> {
    let expect = Expect::version::<Document>(&document.id, version);
    Ok(Commit::new(at(2)).expect(expect).write(Write::record(document)?))
}

/// The names of a project's documents, in the order of their ids.
async fn names(store: &dyn Store, project: &Project) -> Result<Vec<String>> {
    let mut found = store.records::<Document>(&Scope::All, RecordFilter::of(project.parent())).await?;
    found.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(found.into_iter().map(|document| document.name).collect())
}

/// Two writers take one name: one succeeds, whether they create records or rename them. One that renames gives up its
/// old name with the commit that takes the new one: another takes that then, and not before.
pub async fn two_writers_cannot_both_take_a_name(place: impl Handles) -> Result<()> {
    let (handles, mut orders) = (two(&place).await?, Orders::default());
    for round in 0..ROUNDS {
        let project = Project::new(owner(), round, round);
        handles[0].commit(Commit::new(at(1)).write(Write::record(&project)?)).await?;
        let document = |id: &str, name: &str| Document::new(&project, format!("{id}{round}"), name);
        let outcomes =
            both(&handles, round, save(&document("a", "Plan"), 0)?, save(&document("b", "PLAN"), 0)?).await?;
        one_of(&outcomes, is_taken);
        let (first, second) = if outcomes.0.is_ok() { ("a", "b") } else { ("b", "a") };
        handles[1].commit(save(&document(second, "Draft"), 0)?).await?;
        let outcomes =
            both(&handles, round, save(&document("a", "Final"), 1)?, save(&document("b", " final"), 1)?)
                .await?;
        one_of(&outcomes, is_taken);

        // The record that was renamed has given up its name; a third record takes it, and renames in a race for it.
        let free = if outcomes.0.is_ok() == (first == "a") { "Plan" } else { "Draft" };
        handles[0].commit(save(&document("c", free), 0)?).await?;
        let outcomes =
            both(&handles, round, save(&document("c", "Last"), 1)?, save(&document("d", free), 0)?).await?;
        outcomes.0?;
        orders.saw(outcomes.1.is_ok());
        match outcomes.1 {
            Ok(_) => assert_eq!(names(&*handles[1], &project).await?.len(), 4),
            Err(refusal) => {
                assert!(is_taken(&refusal), "{refusal:?}");
                handles[1].commit(save(&document("d", free), 0)?).await?;
            }
        }
        let mut all = names(&*handles[1], &project).await?;
        all.iter_mut().for_each(|name| *name = fold_name(name));
        all.sort();
        assert_eq!(all, ["draft", "final", "last", "plan"]);
    }
    Ok(())
}

/// A new record takes a number, a name and a parent in one commit: each writer that is refused tries again, and in the
/// end each number was given once, without a gap.
pub async fn numbered_records_get_each_number_once(place: impl Handles) -> Result<()> {
    let handles = two(&place).await?;
    let numbered = async |handle: usize, round: u64| {
        let mut commit = Commit::new(at(1));
        let number = next_number(&*handles[handle], &owner(), "projects", &mut commit).await?;
        let project = Project::new(owner(), format!("{round} {handle}"), number);
        let document = Document::new(&project, format!("{round} {handle}"), "Read me");
        commit.expect.push(Expect::version::<Project>(&project.id, 0));
        Ok::<_, Error>(commit.write(Write::record(&project)?).write(Write::record(&document)?))
    };
    for round in 0..ROUNDS {
        let outcomes = both(&handles, round, numbered(0, round).await?, numbered(1, round).await?).await?;
        one_of(&outcomes, |refusal| matches!(refusal, Error::OtherVersion { kind: EntityKind::COUNTER, .. }));
        let again = usize::from(outcomes.0.is_ok());
        handles[again].commit(numbered(again, round).await?).await?;
        // Two writers of one version: one of them has read what the other has not.
        let known = Document {
            archived: true,
            ..Document::new(&Project::new(owner(), format!("{round} 0"), 0), format!("{round} 0"), "Read me")
        };
        let outcomes =
            both(&handles, round, save(&known, 1)?, save(&Document { archived: false, ..known.clone() }, 1)?)
                .await?;
        one_of(&outcomes, |refusal| matches!(refusal, Error::OtherVersion { expected: 1, found: 2, .. }));
    }
    let page = crate::Page::all();
    let store = &*handles[1] as &dyn Store;
    let all = store.records::<Project>(&Scope::All, RecordFilter { page, ..RecordFilter::default() }).await?;
    assert!(all.iter().map(|project| project.number).eq(1..=2 * ROUNDS));
    Ok(())
}

/// A record is removed while another is written that belongs to it: that one is refused, or removed along.
pub async fn nothing_is_left_below_a_removed_record(place: impl Handles) -> Result<()> {
    let (handles, mut orders) = (two(&place).await?, Orders::default());
    for round in 0..ROUNDS {
        let project = Project::new(owner(), round, round);
        handles[0].commit(Commit::new(at(1)).write(Write::record(&project)?)).await?;
        let remove = Commit::new(at(2)).write(Write::PruneEntity(Project::KIND, project.id.clone()));
        let below = save(&Document::new(&project, round, "Late"), 0)?;
        let (removed, written) = both(&handles, round, remove, below).await?;
        removed?;
        orders.saw(written.is_ok());
        assert!(matches!(written, Ok(_) | Err(Error::NoParent { .. })), "{written:?}");
        assert_eq!(names(&*handles[1], &project).await?, [""; 0]);
    }
    Ok(())
}

async fn end(store: &impl Store, agent: &Agent, status: Status) -> Result<Commit> {
    let agent = claim(store, agent.id).await?.agent;
    Ok(Commit::fenced(&agent, at(2)).write(Write::Agent(Agent { status, ..agent.clone() })))
}

/// One writer creates an agent while another wakes one that has ended: one of them gets the last place.
pub async fn two_writers_cannot_both_take_the_last_living_place(place: impl Handles) -> Result<()> {
    let handles = two(&place).await?;
    for round in 0..ROUNDS {
        let root = new_root(&*handles[0], owner()).await?;
        let ended = new_child(&*handles[0], &root).await?;
        let ends = end(&*handles[0], &ended, Status::Succeeded).await?;
        handles[0].commit(ends).await?;
        let room = || {
            let children = Commit::new(at(3)).expect(Expect::ChildrenBelow(root.id, 1));
            children.expect(Expect::TreeBelow(root.id, 2))
        };
        let (new, mut wakes) = (room().write(Write::NewAgent(root.child("digger", "", None, at(3)))), room());
        wakes.post(post(ended.id, "dig on"), &root.owner);
        let outcomes = both(&handles, round, new, wakes).await?;
        one_of(&outcomes, |refusal| matches!(refusal, Error::TooManyChildren { found: 1, limit: 1, .. }));
    }
    Ok(())
}

/// An agent is put below one that is deleted at the same moment: one of the two is refused, so that none is left alive
/// below a deleted one.
pub async fn no_agent_is_put_below_a_deleted_one(place: impl Handles) -> Result<()> {
    let (handles, mut orders) = (two(&place).await?, Orders::default());
    for round in 0..ROUNDS {
        let root = new_root(&*handles[0], owner()).await?;
        let delete =
            end(&*handles[0], &root, Status::Cancelled).await?.expect(Expect::ChildrenDeleted(root.id));
        let below = Write::NewAgent(root.child("digger", "", None, at(3)));
        let put = Commit::new(at(3)).expect(Expect::NotDeleted(root.id)).write(below);
        let outcomes = both(&handles, round, delete, put).await?;
        one_of(&outcomes, |refusal| matches!(refusal, Error::HasChildren { .. } | Error::Deleted { .. }));
        orders.saw(outcomes.0.is_ok());
    }
    Ok(())
}

/// An ended child is forgotten while another writer posts to it: one of them succeeds.
pub async fn a_child_is_either_forgotten_or_written_to(place: impl Handles) -> Result<()> {
    let (handles, mut orders) = (two(&place).await?, Orders::default());
    for round in 0..ROUNDS {
        let root = new_root(&*handles[0], owner()).await?;
        let child = new_child(&*handles[0], &root).await?;
        let ends = end(&*handles[0], &child, Status::Succeeded).await?;
        handles[0].commit(ends).await?;
        let of = Parent::from(child.id);
        let left = Tombstone { of, owner: owner(), root: root.id, agent: child.id, at: at(3) };
        let forget = Commit::new(at(3))
            .expect(Expect::Ended(child.id))
            .write(Write::PruneAgent(child.id))
            .write(Write::record(&left)?);
        let mut news = Commit::new(at(3));
        news.post(post(child.id, "dig on"), &root.owner);
        let outcomes = both(&handles, round, forget, news).await?;
        one_of(&outcomes, |refusal| matches!(refusal, Error::NotEnded { .. } | Error::NoAgent { .. }));
        orders.saw(outcomes.0.is_ok());
        let numbers = handles[1].events(&Scope::All, root.id, 0, 100).await?;
        assert!(numbers.iter().map(|event| event.seq).eq(1..=numbers.len() as u64), "{numbers:?}");
        let is_left = handles[1].agent(&Scope::All, child.id).await?.is_some();
        assert_eq!(
            (is_left, handles[0].inbox(child.id).await?.len()),
            (outcomes.1.is_ok(), usize::from(is_left))
        );
    }
    Ok(())
}
