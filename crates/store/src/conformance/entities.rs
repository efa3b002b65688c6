//! Entities: written as a whole, found by tree, agent, status and words.

use entourage_types::{
    Agent, AgentId, Entity, EntityKind, Learning, LearningStatus, Note, Owner, Record, Scope, Status, Task,
};

use super::{
    Backing,
    sample::{at, new_child, new_root, note, owner, request, stranger, task},
};
use crate::{Commit, EntityQuery, Error, Page, Result, Store, Write, words::RANKED};

async fn keep(store: &impl Store, entity: &Entity) -> Result<()> {
    store.commit(Commit::new(at(1)).write(Write::entity(entity.clone()))).await.map(|_| ())
}

async fn ids(store: &impl Store, scope: &Scope, query: EntityQuery) -> Result<Vec<String>> {
    Ok(store.entities(scope, query).await?.into_iter().map(|entity| entity.id).collect())
}

/// Every field reads back, of a new and of a changed entity; the same id under another kind is another row.
pub async fn every_field_of_an_entity_reads_back(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let mut entity = Entity {
        kind: EntityKind::NOTE,
        id: "an id ' of any sort".to_owned(),
        owner: owner(),
        root: Some(root.id),
        parent: Some(root.id.into()),
        status: "kept".to_owned(),
        created: at(1),
        updated: at(2),
        version: 1,
        name: Some("a name ' of any sort".to_owned()),
        text: Some("some words".to_owned()),
        body: r#"{"any":["body",null]}"#.to_owned(),
    };
    keep(&store, &entity).await?;
    let same_id = request(&owner(), &entity.id, "done");
    keep(&store, &same_id).await?;
    assert_eq!(store.entity(&Scope::All, EntityKind::NOTE, &entity.id).await?.as_ref(), Some(&entity));
    entity =
        Entity { root: None, parent: None, name: None, text: None, updated: at(9), version: 2, ..entity };
    entity.status = "changed".to_owned();
    entity.body = "[]".to_owned();
    keep(&store, &entity).await?;
    assert_eq!(store.entity(&Scope::All, EntityKind::NOTE, &entity.id).await?.as_ref(), Some(&entity));
    // It changes once more, and stays where it is.
    entity = Entity { status: "kept".to_owned(), updated: at(10), version: 3, ..entity };
    keep(&store, &entity).await?;
    assert_eq!(store.entity(&Scope::All, EntityKind::NOTE, &entity.id).await?.as_ref(), Some(&entity));
    assert_eq!(store.entity(&Scope::All, EntityKind::REQUEST, &entity.id).await?, Some(same_id));
    assert_eq!(store.entity(&Scope::All, EntityKind::NOTE, "no such id").await?, None);
    Ok(())
}

/// Entities are found by kind, tree, agent and status, alone and combined.
pub async fn entities_are_found_by_kind_tree_agent_and_status(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (one, two) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let child = new_child(&store, &one).await?;
    let below = new_child(&store, &child).await?;
    // In the tree, and below nobody, like the threads of a chat.
    let sibling = Agent { root: one.id, ..Agent::root(owner(), "helper", "helps", at(0)) };
    store.commit(Commit::new(at(0)).write(Write::NewAgent(sibling.clone()))).await?;
    let [a, b, c] = [task(&one, child.id), task(&child, one.id), task(&two, two.id)];
    let [d, e] = [task(&below, one.id), task(&sibling, one.id)];
    let done = Task { status: Status::Succeeded, ..b.clone() };
    for task in [&a, &b, &c, &d, &e, &done] {
        store.commit(Commit::new(at(1)).write(Write::record(&task.clone())?)).await?;
    }
    let all = EntityQuery::records::<Task>();
    let [a, b, c, d, e] = [a, b, c, d, e].map(|task| task.id.to_string());
    for (query, expected) in [
        (all.clone(), vec![&a, &b, &c, &d, &e]),
        (EntityQuery::records::<Note>(), vec![]),
        (EntityQuery { root: Some(one.id), ..all.clone() }, vec![&a, &b, &d, &e]),
        (EntityQuery { parent: Some(child.id.into()), ..all.clone() }, vec![&b]),
        (EntityQuery { branch: Some(one.id), ..all.clone() }, vec![&a, &b, &d]),
        (EntityQuery { branch: Some(child.id), ..all.clone() }, vec![&b, &d]),
        (EntityQuery { root: Some(one.id), branch: Some(below.id), ..all.clone() }, vec![&d]),
        (EntityQuery { root: Some(two.id), branch: Some(child.id), ..all.clone() }, vec![]),
        (
            EntityQuery {
                branch: Some(child.id),
                page: Page { limit: 1, newest_first: true, ..Page::default() },
                ..all.clone()
            },
            vec![&d],
        ),
        (EntityQuery::in_status::<Task>(Status::Queued), vec![&a, &c, &d, &e]),
        (EntityQuery { root: Some(one.id), ..EntityQuery::in_status::<Task>(Status::Succeeded) }, vec![&b]),
        (EntityQuery { root: Some(two.id), parent: Some(one.id.into()), ..all }, vec![]),
    ] {
        let found = ids(&store, &Scope::All, query.clone()).await?;
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query:?}");
    }
    Ok(())
}

/// Lists go from the oldest or from the newest, in pages that join without gaps, also if rows change; a page
/// after a row that the scope does not include is refused with [`Error::NoRow`].
pub async fn pages_of_entities_go_both_ways(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let mut names: Vec<String> = ["m", "z", "a", "q", "b"].map(str::to_owned).to_vec();
    for (name, made) in names.iter().zip(1..) {
        keep(&store, &Entity { created: at(made), ..request(&owner(), name, "open") }).await?;
        keep(&store, &request(&stranger(), &format!("their {name}"), "open")).await?;
    }
    keep(&store, &Entity { updated: at(99), ..request(&owner(), "m", "changed") }).await?;
    let scope = Scope::Owner(owner());
    for newest_first in [false, true] {
        for limit in [1, 2, 5, 100] {
            let (mut seen, mut after) = (Vec::new(), None);
            loop {
                let page = Page { after, limit, newest_first, ..Page::default() };
                let found =
                    ids(&store, &scope, EntityQuery { page, ..EntityQuery::of(EntityKind::REQUEST) }).await?;
                after = found.last().cloned();
                seen.extend(found);
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(seen, names, "newest first {newest_first}, pages of {limit}");
        }
        names.reverse();
    }
    for hidden in ["their m", "no such row"] {
        let page = Page { after: Some(hidden.to_owned()), ..Page::default() };
        let query = EntityQuery { page, ..EntityQuery::of(EntityKind::REQUEST) };
        let refused = ids(&store, &scope, query).await;
        assert!(matches!(&refused, Err(Error::NoRow { after }) if after == hidden), "{refused:?}");
    }
    Ok(())
}

async fn search(store: &impl Store, owner: &Owner, text: &str) -> Result<Vec<String>> {
    let query = EntityQuery { text: Some(text.to_owned()), ..EntityQuery::records::<Note>() };
    let notes = store.entities(&Scope::Owner(owner.clone()), query).await?;
    notes.iter().map(|entity| Ok(Note::from_entity(entity)?.title)).collect()
}

async fn keep_notes(store: &impl Store, agent: &Agent, notes: &[(&str, &str)]) -> Result<()> {
    for (title, content) in notes {
        keep(store, &note(agent, title, content).entity()?).await?;
    }
    Ok(())
}

/// Search finds the scope's entities that contain all of the words, in any case and order, the last word as a
/// prefix; the best match comes first; other conditions restrict further.
pub async fn search_finds_by_words(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (agent, other) = (new_root(&store, owner()).await?, new_root(&store, stranger()).await?);
    let often = "spade spade spade";
    keep_notes(&store, &agent, &[("Shed", "the spade is in the shed"), ("Spade", often), ("Soil", "clay")])
        .await?;
    keep_notes(&store, &other, &[("Theirs", "another spade")]).await?;
    assert_eq!(search(&store, &owner(), "clay").await?, ["Soil"]);
    assert_eq!(search(&store, &owner(), "SHED spade").await?, ["Shed"]);
    assert_eq!(search(&store, &owner(), "spade").await?, ["Spade", "Shed"]);
    assert_eq!(search(&store, &owner(), "the spa").await?, ["Shed"]);
    assert_eq!(search(&store, &owner(), "spade clay").await?, [""; 0]);
    // Only the first words of a very long query count.
    let endless = |begin: &str| format!("{begin} {}", "clay ".repeat(100_000));
    assert_eq!(search(&store, &owner(), &endless(&"spade ".repeat(32))).await?, ["Spade", "Shed"]);
    assert_eq!(search(&store, &owner(), &endless(&"spade ".repeat(31))).await?, [""; 0]);
    // And of these only the ones near its beginning.
    let far = format!("spade{}clay", " ".repeat(100_000));
    assert_eq!(search(&store, &owner(), &far).await?, ["Spade", "Shed"]);
    assert_eq!(search(&store, &stranger(), "spade").await?, ["Theirs"]);
    let query = EntityQuery { text: Some("spade".to_owned()), ..EntityQuery::records::<Note>() };
    let first = Page { limit: 1, ..Page::default() };
    let limited = EntityQuery { page: first, root: Some(agent.id), ..query };
    assert_eq!(store.entities(&Scope::All, limited).await?.len(), 1);
    for (id, status) in [("old", LearningStatus::Retired), ("new", LearningStatus::Kept)] {
        let (id, status) = (id.to_owned(), status.as_str().to_owned());
        let learning = note(&agent, "Tool", often).entity()?;
        keep(&store, &Entity { kind: EntityKind::LEARNING, id, status, ..learning }).await?;
    }
    let kept = EntityQuery::in_status::<Learning>(LearningStatus::Kept);
    let kept = EntityQuery { text: Some("spade".to_owned()), ..kept };
    assert_eq!(ids(&store, &Scope::All, kept).await?, ["new"]);
    Ok(())
}

/// The best match is sought among the latest ones: an earlier one is not found, unless other conditions leave fewer.
pub async fn search_finds_the_best_of_the_latest(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (agent, other) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    keep_notes(&store, &agent, &[("Best", "spade spade spade")]).await?;
    let add = async |agent: &Agent, notes: u32| {
        let mut commit = Commit::new(at(1));
        for _ in 0..notes {
            commit.push(Write::record(&note(agent, "Shed", "the spade is in the shed"))?);
        }
        store.commit(commit).await
    };
    let best = async |root: Option<AgentId>| -> Result<String> {
        let page = Page { limit: 1, ..Page::default() };
        let text = Some("spade".to_owned());
        let query = EntityQuery { text, root, page, ..EntityQuery::records::<Note>() };
        let found = store.entities(&Scope::Owner(owner()), query).await?;
        Ok(Note::from_entity(&found[0])?.title)
    };
    add(&other, RANKED - 1).await?;
    assert_eq!(best(None).await?, "Best");
    add(&other, 1).await?;
    assert_eq!(best(None).await?, "Shed");
    assert_eq!(best(Some(agent.id)).await?, "Best");
    Ok(())
}

/// Search finds a word with and without diacritics, composed or not, in Latin letters; in other scripts letters
/// with a mark are letters of their own.
pub async fn search_ignores_diacritics_of_latin_letters(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let agent = new_root(&store, owner()).await?;
    let notes =
        [("Composed", "the café of Zoë in Việt Nam"), ("Plain", "the cafe of Zoe"), ("Greek", "Ωμέγα")];
    keep_notes(&store, &agent, &notes).await?;
    for words in ["cafe zoe", "CAFÉ ZOË", "Cafe\u{301} zo"] {
        let mut found = search(&store, &owner(), words).await?;
        found.sort();
        assert_eq!(found, ["Composed", "Plain"], "{words}");
    }
    assert_eq!(search(&store, &owner(), "viet nam").await?, ["Composed"]);
    assert_eq!(search(&store, &owner(), "ωμέγα").await?, ["Greek"]);
    assert_eq!(search(&store, &owner(), "ωμεγα").await?, [""; 0]);
    Ok(())
}

/// No text is query syntax; text without a word finds nothing.
pub async fn search_text_is_never_query_syntax(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let agent = new_root(&store, owner()).await?;
    keep_notes(&store, &agent, &[("Quote", "it's 5\" deep AND wide; naïve 漢字")]).await?;
    for nothing in ["", " ", "\"", "'", "*", "()", "^ - :", "\u{0}", "\" OR \"", "👾"] {
        assert_eq!(search(&store, &owner(), nothing).await?, [""; 0], "`{nothing}`");
    }
    for syntax in [
        "deep NOT",
        "OR",
        "NEAR(deep, 2)",
        "text: deep",
        "deep* zebra",
        "{text} : deep",
        "a\u{0}\"b",
        "DROP TABLE",
    ] {
        assert_eq!(search(&store, &owner(), syntax).await?, [""; 0], "`{syntax}`");
    }
    for words in
        ["it's", "5\" deep", "AND", "deep AND wide", "(deep)", "-deep", "naïve", "漢字", "deep\u{0}wide"]
    {
        assert_eq!(search(&store, &owner(), words).await?, ["Quote"], "`{words}`");
    }
    Ok(())
}

/// Search finds a changed entity by its new text, and no longer by its old text.
pub async fn search_finds_a_changed_entity_by_its_new_text(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let agent = new_root(&store, owner()).await?;
    let mut entity = note(&agent, "Shed", "green").entity()?;
    keep(&store, &entity).await?;
    entity.text = Some("red".to_owned());
    keep(&store, &entity).await?;
    assert_eq!(search(&store, &owner(), "green").await?, [""; 0]);
    assert_eq!(search(&store, &owner(), "red").await?, ["Shed"]);
    entity.status = "moved".to_owned();
    keep(&store, &entity).await?;
    assert_eq!(search(&store, &owner(), "red").await?, ["Shed"]);
    entity.text = None;
    keep(&store, &entity).await?;
    assert_eq!(search(&store, &owner(), "red").await?, [""; 0]);
    entity.text = Some("blue".to_owned());
    keep(&store, &entity).await?;
    assert_eq!(search(&store, &owner(), "blue").await?, ["Shed"]);
    Ok(())
}

/// Search finds an entity in the tree where it is, also after it has moved, and never another owner's.
pub async fn search_finds_an_entity_of_its_owner_where_it_is(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let here = new_root(&store, owner()).await?;
    let (there, theirs) = (new_root(&store, owner()).await?, new_root(&store, stranger()).await?);
    let mut entity = note(&here, "Shed", "green").entity()?;
    keep(&store, &entity).await?;
    keep_notes(&store, &theirs, &[("Barn", "green")]).await?;
    let found = async |of: &Owner, root| {
        let query = EntityQuery { text: Some("green".into()), root, ..EntityQuery::records::<Note>() };
        Ok::<_, Error>(store.entities(&Scope::Owner(of.clone()), query).await?.len())
    };
    for (of, root, expected) in [
        (owner(), None, 1),
        (owner(), Some(here.id), 1),
        (owner(), Some(there.id), 0),
        (owner(), Some(theirs.id), 0),
        (stranger(), None, 1),
    ] {
        assert_eq!(found(&of, root).await?, expected, "{of} in {root:?}");
    }
    let all = EntityQuery { text: Some("green".into()), ..EntityQuery::records::<Note>() };
    assert_eq!(store.entities(&Scope::All, all).await?.len(), 2);
    (entity.root, entity.parent) = (Some(there.id), Some(there.id.into()));
    keep(&store, &entity).await?;
    assert_eq!(found(&owner(), Some(here.id)).await?, 0);
    assert_eq!(found(&owner(), Some(there.id)).await?, 1);
    Ok(())
}

/// A page ends with the row at which it reaches the requested number of bytes, so that it is never empty.
pub async fn a_page_ends_at_the_requested_number_of_bytes(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let names: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
    for name in &names {
        let body = format!("{{\"text\":\"{}\"}}", "x".repeat(10_000));
        keep(&store, &Entity { body, ..request(&owner(), name, "open") }).await?;
    }
    let scope = Scope::Owner(owner());
    for (bytes, expected) in [(0, 1), (9_000, 1), (25_000, 3), (usize::MAX, 5)] {
        let page = Page { bytes, ..Page::default() };
        let found = ids(&store, &scope, EntityQuery { page, ..EntityQuery::of(EntityKind::REQUEST) }).await?;
        assert_eq!(found, names[..expected], "{bytes} bytes");
    }
    Ok(())
}
