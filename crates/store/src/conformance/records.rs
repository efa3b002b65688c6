//! Records that belong to records, have unique names, and long texts.

use entourage_types::{Counter, EntityKind, Parent, Record, Scope, UniqueName};

use super::{
    Backing,
    nouns::{Document, Project},
    sample::{at, new_root, owner, request, stranger},
};
use crate::{Commit, EntityQuery, Error, RecordFilter, Result, Store, Write, counter::next_number};

async fn keep<R: Record>(store: &impl Store, record: &R) -> Result<()> {
    store.commit(Commit::new(at(1)).write(Write::record(record)?)).await.map(drop)
}

async fn ids(store: &dyn Store, scope: &Scope, filter: RecordFilter<Document>) -> Result<Vec<String>> {
    Ok(store.records(scope, filter).await?.into_iter().map(|document| document.id).collect())
}

/// Stores two projects and returns them.
async fn two_projects(store: &impl Store) -> Result<[Project; 2]> {
    let projects = [1, 2].map(|number| Project::new(owner(), format!("p{number}"), number));
    for project in &projects {
        keep(store, project).await?;
    }
    Ok(projects)
}

/// Records are found by the record that they belong to, alone and with a status, in the order of their first writes.
pub async fn records_are_found_by_the_record_that_they_belong_to(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let [one, two] = two_projects(&store).await?;
    for id in ["z", "a", "m"] {
        keep(&store, &Document::new(&one, id, id)).await?;
    }
    keep(&store, &Document { archived: true, ..Document::new(&one, "a", "a") }).await?;
    keep(&store, &Document::new(&two, "b", "b")).await?;
    let (store, own) = (&store as &dyn Store, Scope::from(&owner()));
    let of = |project: &Project| RecordFilter::of(project.parent());
    assert_eq!(ids(store, &own, of(&one)).await?, ["z", "a", "m"]);
    assert_eq!(ids(store, &own, of(&two)).await?, ["b"]);
    assert_eq!(ids(store, &own, RecordFilter { status: Some("archived"), ..of(&one) }).await?, ["a"]);
    assert_eq!(ids(store, &own, RecordFilter { status: Some("current"), ..of(&one) }).await?, ["z", "m"]);
    assert_eq!(ids(store, &Scope::Owner(stranger()), of(&one)).await?, [""; 0]);
    let of_same_id = RecordFilter::of(Parent::Record(EntityKind::NOTE, one.id.clone()));
    assert_eq!(ids(store, &Scope::All, of_same_id).await?, [""; 0]);
    let words = Some("long".to_owned());
    assert_eq!(ids(store, &own, RecordFilter { words, ..of(&two) }).await?, ["b"]);
    Ok(())
}

/// A record belongs to a record that exists and has the same owner, or that the commit writes before.
pub async fn a_record_below_a_missing_or_foreign_record_is_refused(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let project = Project::new(owner(), "p", 1);
    let document = Document::new(&project, "d", "d");
    let is_refused = |refused: Result<_>| matches!(refused, Err(Error::NoParent { id, .. }) if id == "p");
    let write = Commit::new(at(1)).write(Write::record(&document)?);
    assert!(is_refused(store.commit(write.clone().write(Write::record(&project)?)).await.map(drop)));
    let theirs = Project { owner: stranger(), ..project.clone() };
    keep(&store, &theirs).await?;
    assert!(is_refused(store.commit(write).await.map(drop)));
    store.commit(Commit::new(at(1)).write(Write::PruneEntity(Project::KIND, "p".to_owned()))).await?;
    let both = Commit::new(at(1)).write(Write::record(&project)?).write(Write::record(&document)?);
    store.commit(both).await?;
    let first = Commit::new(at(2)).write(Write::PruneEntity(Project::KIND, "p".to_owned()));
    assert!(is_refused(store.commit(first.write(Write::record(&document)?)).await.map(drop)));
    assert!(store.entity(&Scope::All, Document::KIND, "d").await?.is_some());
    Ok(())
}

/// A name is unique, folded, among the records of one noun, owner and parent. It is free once its record has another
/// name or was removed, and one commit may hand it over, in the order of its writes.
pub async fn a_name_is_unique_in_its_scope(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let [one, two] = two_projects(&store).await?;
    let theirs = Project::new(stranger(), "theirs", 1);
    keep(&store, &theirs).await?;
    keep(&store, &Document::new(&one, "a", "Report")).await?;
    let refused = keep(&store, &Document::new(&one, "b", " report ")).await;
    assert!(matches!(&refused, Err(Error::NameTaken { holder, .. }) if holder == "a"), "{refused:?}");
    assert_eq!(store.entity(&Scope::All, Document::KIND, "b").await?, None);
    keep(&store, &Document::new(&one, "a", "REPORT")).await?;
    keep(&store, &Document::new(&two, "c", "Report")).await?;
    keep(&store, &Document::new(&theirs, "t", "Report")).await?;

    // A rename takes one name and gives up the other.
    keep(&store, &Document::new(&one, "a", "Summary")).await?;
    keep(&store, &Document::new(&one, "b", "Report")).await?;
    let refused = keep(&store, &Document::new(&one, "a", "Report")).await;
    assert!(matches!(&refused, Err(Error::NameTaken { holder, .. }) if holder == "b"), "{refused:?}");

    // One commit hands a name over: first it is given up, then it is taken.
    let renames = |order: [(&str, &str); 2]| {
        let writes = order.map(|(id, name)| Write::record(&Document::new(&one, id, name)));
        writes.into_iter().try_fold(Commit::new(at(2)), |commit, write| Ok::<_, Error>(commit.write(write?)))
    };
    let refused = store.commit(renames([("a", "Report"), ("b", "Draft")])?).await;
    assert!(matches!(&refused, Err(Error::NameTaken { holder, .. }) if holder == "b"), "{refused:?}");
    store.commit(renames([("b", "Draft"), ("a", "Report")])?).await?;
    let refused = store.commit(renames([("n", "New"), ("m", "new")])?).await;
    assert!(matches!(&refused, Err(Error::NameTaken { holder, .. }) if holder == "n"), "{refused:?}");

    store.commit(Commit::new(at(3)).write(Write::PruneEntity(Document::KIND, "a".to_owned()))).await?;
    keep(&store, &Document::new(&one, "e", "Report")).await?;
    Ok(())
}

/// A record is found by its name, however that is spelled, in the scope of the name and among the records of one owner.
pub async fn a_record_is_found_by_its_name(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let [one, two] = two_projects(&store).await?;
    let theirs = Project::new(stranger(), "theirs", 1);
    keep(&store, &theirs).await?;
    for (project, id) in [(&one, "a"), (&two, "b"), (&theirs, "t")] {
        keep(&store, &Document::new(project, id, "Report")).await?;
        keep(&store, &Document::new(project, format!("other {id}"), "Other")).await?;
    }
    keep(&store, &Document::new(&one, "a", "Summary")).await?;
    let (store, own) = (&store as &dyn Store, Scope::from(&owner()));
    let named = |project: &Project, name: &str| {
        RecordFilter::<Document>::named(UniqueName::below(&project.parent(), name))
    };
    assert_eq!(ids(store, &own, named(&one, " SUMMARY ")).await?, ["a"]);
    assert_eq!(ids(store, &own, named(&one, "Report")).await?, [""; 0], "it has another name now");
    assert_eq!(ids(store, &own, named(&two, "report")).await?, ["b"]);
    assert_eq!(ids(store, &own, named(&theirs, "Report")).await?, [""; 0]);
    assert_eq!(ids(store, &Scope::All, named(&theirs, "Report")).await?, ["t"]);
    let below = RecordFilter { parent: Some(two.parent()), status: Some("current"), ..named(&two, "Report") };
    assert_eq!(ids(store, &own, below.clone()).await?, ["b"]);
    assert_eq!(ids(store, &own, RecordFilter { parent: Some(one.parent()), ..below }).await?, [""; 0]);
    Ok(())
}

/// A list and a search leave out the texts by which records are found, unless these are asked for; one record is read
/// with its text.
pub async fn lists_leave_out_texts_unless_asked(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let [one, _] = two_projects(&store).await?;
    let document = Document::new(&one, "d", "d");
    keep(&store, &document).await?;
    let store = &store as &dyn Store;
    assert_eq!(store.record(&Scope::All, "d").await?, Some(document.clone()));
    for words in [None, Some("long".to_owned())] {
        let listed = RecordFilter::<Document> { words, ..RecordFilter::of(one.parent()) };
        let short = Document { content: None, ..document.clone() };
        assert_eq!(store.records(&Scope::All, listed.clone()).await?, [short]);
        let whole = RecordFilter { with_texts: true, ..listed };
        assert_eq!(store.records(&Scope::All, whole).await?, std::slice::from_ref(&document));
    }
    Ok(())
}

/// A record is removed with all that belong to it, at any depth, and so is what belongs to the records of a removed
/// tree; other records stay.
pub async fn what_belongs_to_a_removed_record_is_removed_with_it(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let [one, two] = two_projects(&store).await?;
    let tree = new_root(&store, owner()).await?;
    let of_tree = Project { root: Some(tree.id), ..Project::new(owner(), "p3", 3) };
    keep(&store, &of_tree).await?;
    for (project, id) in [(&one, "a"), (&two, "b"), (&of_tree, "c")] {
        let document = Document::new(project, id, id);
        keep(&store, &document).await?;
        let of = Parent::record::<Document>(id);
        keep(&store, &Document { id: format!("below {id}"), of, ..document }).await?;
    }
    let left = async || ids(&store, &Scope::All, RecordFilter::default()).await;
    store.commit(Commit::new(at(2)).write(Write::PruneEntity(Project::KIND, one.id.clone()))).await?;
    assert_eq!(left().await?, ["b", "below b", "c", "below c"]);
    store.commit(Commit::new(at(2)).write(Write::PruneAgent(tree.id))).await?;
    assert_eq!(left().await?, ["b", "below b"]);
    let words = EntityQuery { text: Some("long".to_owned()), ..EntityQuery::records::<Document>() };
    assert_eq!(store.entities(&Scope::All, words).await?.len(), 2);
    Ok(())
}

/// No counter can be removed: its numbers would be given twice.
pub async fn a_counter_is_never_removed(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let mut commit = Commit::new(at(1));
    assert_eq!(next_number(&store, &owner(), "projects", &mut commit).await?, 1);
    store.commit(commit).await?;
    let id = Counter::id_of(&owner(), "projects");
    let refused = store.commit(Commit::new(at(2)).write(Write::PruneEntity(EntityKind::COUNTER, id))).await;
    assert!(matches!(refused, Err(Error::RuleViolation(_))), "{refused:?}");
    assert_eq!(next_number(&store, &owner(), "projects", &mut Commit::new(at(2))).await?, 2);
    assert_eq!(next_number(&store, &stranger(), "projects", &mut Commit::new(at(2))).await?, 1);
    Ok(())
}

/// Names and parents, too, have a bounded length and no NUL.
pub async fn names_and_parents_of_records_have_a_bounded_length(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    for name in ["a\0b".to_owned(), "k".repeat(513)] {
        let mut named = request(&owner(), "id", "done");
        named.name = Some(name.clone());
        let mut below = request(&owner(), "id", "done");
        below.parent = Some(Parent::Record(EntityKind::NOTE, name));
        for record in [named, below] {
            let refused = store.commit(Commit::new(at(1)).write(Write::entity(record))).await;
            assert!(matches!(refused, Err(Error::RuleViolation(_))), "{refused:?}");
        }
    }
    Ok(())
}
