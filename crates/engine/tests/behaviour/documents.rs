//! Projects and documents as a person has them: created, read, changed, compared, brought back, found, exported and
//! deleted.

use entourage_engine::{
    Client, DiffLine, DocumentChange, Error, ExpectedVersion, NewProject, Page, ProjectChange,
};
use entourage_llm::ScriptedModel;
use entourage_store::MemoryStore;
use entourage_testkit::World;
use entourage_types::{
    Change, Document, DocumentHead, DocumentId, DocumentVersion, Editor, NewDocument, Owner, Project,
    ProjectId,
};

use crate::kit::Dice;

pub(crate) async fn world() -> World {
    World::builder(ScriptedModel::new([])).store(MemoryStore::default()).start().await
}

pub(crate) async fn new_project(client: &Client, name: &str) -> Project {
    client.create_project(NewProject { name: name.into(), description: String::new() }).await.unwrap()
}

pub(crate) fn new(project: ProjectId, name: &str, content: &str) -> NewDocument {
    NewDocument {
        project,
        name: name.into(),
        standing_instruction: String::new(),
        content: content.into(),
        summary: String::new(),
    }
}

pub(crate) fn content(content: impl Into<String>) -> DocumentChange {
    DocumentChange { content: Some(content.into()), ..DocumentChange::default() }
}

pub(crate) fn renamed(name: impl Into<String>) -> DocumentChange {
    DocumentChange { name: Some(name.into()), ..DocumentChange::default() }
}

/// All versions of a document, which are numbered without gaps, and the last of which is the document itself.
pub(crate) async fn versions(client: &Client, id: DocumentId) -> Vec<DocumentVersion> {
    let document = client.document(id).await.unwrap();
    let (mut kept, mut after) = (Vec::new(), None);
    loop {
        let page = client.document_versions(id, Page { after, ..Page::all() }).await.unwrap();
        kept.extend(page.rows);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert!(kept.iter().map(|version| version.number).eq(1..=document.head.version));
    let last = kept.last().unwrap();
    let DocumentHead { name, standing_instruction, .. } = &document.head;
    assert_eq!(
        (&last.name, &last.standing_instruction, &last.content),
        (name, standing_instruction, &document.content)
    );
    kept
}

fn is_missing<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::NotFound { .. }))
}

/// Shows: S5-R022, S5-R023, S5-R024, S5-R058.
#[tokio::test]
async fn a_project_has_documents_that_are_read_whole_or_by_their_heads() {
    let world = world().await;
    let client = world.client();
    let [kitchen, garden] = [new_project(&client, " Kitchen ").await, new_project(&client, "Garden").await];
    assert_eq!((kitchen.name.as_str(), kitchen.number, garden.number), ("Kitchen", 1, 2));
    let text = "Water. ".repeat(10_000);
    let soup = NewDocument { standing_instruction: "Short.".into(), ..new(kitchen.id, "Soup", &text) };
    let soup = client.create_document(soup).await.unwrap();
    let roses = client.create_document(new(garden.id, "Roses", "Red.")).await.unwrap();
    let bread = client.create_document(new(kitchen.id, "Bread", "")).await.unwrap();
    let numbers = [&soup, &roses, &bread].map(|document| (document.head.number, document.head.version));
    assert_eq!(numbers, [(1, 1), (2, 1), (3, 1)]);
    assert_eq!((soup.head.standing_instruction.as_str(), &soup.content), ("Short.", &text));
    assert_eq!(client.document(soup.head.id).await.unwrap(), soup);
    assert_eq!(client.documents(kitchen.id).await.unwrap(), [soup.clone(), bread.clone()]);
    let heads = client.document_heads(kitchen.id, Page { limit: 1, ..Page::default() }).await.unwrap();
    assert_eq!((heads.rows, heads.next.clone()), (vec![soup.head.clone()], Some(soup.head.id.to_string())));
    let rest =
        client.document_heads(kitchen.id, Page { after: heads.next, ..Page::default() }).await.unwrap();
    assert_eq!((rest.rows, rest.next), (vec![bread.head], None));
    assert_eq!(client.document_named(kitchen.id, "  sOUP").await.unwrap(), Some(soup));
    assert_eq!(client.document_named(garden.id, "Soup").await.unwrap(), None);
    assert_eq!(client.project_named("kitchen").await.unwrap().map(|project| project.id), Some(kitchen.id));
    assert_eq!(client.projects(Page::default()).await.unwrap().rows, [kitchen, garden]);
    assert_eq!(world.audit().await, []);
}

/// Shows: S5-R062, S5-R065.
#[tokio::test]
async fn a_change_makes_a_version_and_leaves_the_rest_as_it_was() {
    let world = world().await;
    let client = world.client();
    let kitchen = new_project(&client, "Kitchen").await;
    let soup = NewDocument { standing_instruction: "Short.".into(), ..new(kitchen.id, "Soup", "Water.") };
    let soup = client.create_document(NewDocument { summary: "a\nfirst".into(), ..soup }).await.unwrap();
    let id = soup.head.id;
    let change = DocumentChange { summary: "wine".into(), ..content("Wine.") };
    let changed = client.change_document(id, change, ExpectedVersion::Exactly(1)).await.unwrap();
    let expected = DocumentHead { version: 2, updated: changed.head.updated, ..soup.head };
    assert_eq!(changed, Document { head: expected, content: "Wine.".into() });
    assert_eq!(client.document(id).await.unwrap(), changed);
    client.change_document(id, renamed("Broth"), ExpectedVersion::Any).await.unwrap();
    let kept = versions(&client, id).await;
    let told: Vec<_> = kept
        .iter()
        .map(|kept| (&*kept.name, &*kept.content, &*kept.summary, kept.change, kept.editor))
        .collect();
    assert_eq!(
        told,
        [
            ("Soup", "Water.", "a first", Change::Created, Editor::Person),
            ("Soup", "Wine.", "wine", Change::Edited, Editor::Person),
            ("Broth", "Wine.", "", Change::Edited, Editor::Person),
        ]
    );
    for same in [content("Wine."), renamed(" Broth "), DocumentChange::default()] {
        let unchanged = client.change_document(id, same, ExpectedVersion::Any).await.unwrap();
        assert_eq!(unchanged.head.version, 3, "what changes nothing makes no version");
    }
    assert_eq!(world.audit().await, []);
}

/// An editor that has seen an earlier version changes nothing, and learns which version there is.
#[tokio::test]
async fn a_change_for_an_earlier_version_is_refused_with_the_present_one() {
    let world = world().await;
    let client = world.client();
    let kitchen = new_project(&client, "Kitchen").await;
    let id = client.create_document(new(kitchen.id, "Soup", "Water.")).await.unwrap().head.id;
    client.change_document(id, content("Wine."), ExpectedVersion::Exactly(1)).await.unwrap();
    let stale = client.change_document(id, content("Beer."), ExpectedVersion::Exactly(1)).await;
    assert!(
        matches!(&stale, Err(Error::StaleVersion { document, expected: 1, current: 2 }) if *document == id)
    );
    let stale = client.undo_document(id, 1, ExpectedVersion::Exactly(1)).await;
    assert!(matches!(stale, Err(Error::StaleVersion { current: 2, .. })));
    // Also where the change would change nothing now.
    let stale = client.change_document(id, content("Wine."), ExpectedVersion::Exactly(1)).await;
    assert!(matches!(stale, Err(Error::StaleVersion { current: 2, .. })));
    assert_eq!(versions(&client, id).await.len(), 2);
}

/// Every version of a document can be shown, compared with any other and brought back.
#[tokio::test]
async fn every_version_is_reconstructed_and_brought_back_as_a_new_one() {
    let world = world().await;
    let client = world.client();
    let kitchen = new_project(&client, "Kitchen").await;
    let id = client.create_document(new(kitchen.id, "Name 0", "")).await.unwrap().head.id;
    let (dice, mut expected) = (Dice::new(7), vec![("Name 0".to_owned(), String::new())]);
    for round in 1..=60 {
        let (name, text) = expected.last().cloned().unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        let line = format!("Line {round} of ä and 😀");
        let change = match dice.below(4) {
            0 => renamed(format!("Name {round}")),
            1 if !lines.is_empty() => {
                lines.remove(dice.below(lines.len()));
                content(lines.join("\n"))
            }
            2 => {
                let back = dice.below(expected.len());
                let to = back as u64 + 1;
                let after = client.undo_document(id, to, ExpectedVersion::Any).await.unwrap();
                if expected[back] != (name, text) {
                    expected.push(expected[back].clone());
                }
                assert_eq!(after.head.version, expected.len() as u64);
                continue;
            }
            _ => {
                lines.push(&line);
                content(lines.join("\n"))
            }
        };
        let after = client.change_document(id, change, ExpectedVersion::Any).await.unwrap();
        expected.push((after.head.name, after.content));
    }
    let kept = versions(&client, id).await;
    let found: Vec<_> = kept.iter().map(|version| (version.name.clone(), version.content.clone())).collect();
    assert_eq!(found, expected);
    for (number, version) in (1..).zip(&kept) {
        assert_eq!(&client.document_version(id, number).await.unwrap(), version);
        let after = &kept[dice.below(kept.len())];
        let diff = client.document_diff(id, number, after.number).await.unwrap();
        assert_eq!(
            diff.name.map(|name| name.after),
            (version.name != after.name).then(|| after.name.clone())
        );
        let added = diff.hunks.iter().flat_map(|hunk| &hunk.lines).filter_map(|line| match line {
            DiffLine::Same(text) | DiffLine::Added(text) => Some(text.as_str()),
            DiffLine::Removed(_) => None,
        });
        assert!(added.into_iter().all(|line| after.content.contains(line)));
    }
    let last = kept.last().unwrap().number;
    let back = client.undo_document(id, 1, ExpectedVersion::Exactly(last)).await.unwrap();
    assert_eq!((back.head.name.as_str(), back.content.as_str(), back.head.version), ("Name 0", "", last + 1));
    assert_eq!(versions(&client, id).await.last().unwrap().change, Change::Undone);
    assert!(is_missing(client.undo_document(id, last + 2, ExpectedVersion::Any).await));
    assert!(is_missing(client.document_diff(id, 1, last + 2).await));
}

#[tokio::test]
async fn a_diff_shows_the_lines_that_differ() {
    let world = world().await;
    let client = world.client();
    let kitchen = new_project(&client, "Kitchen").await;
    let lines: String = (1..=20).map(|n| format!("Line {n}\n")).collect();
    let id = client.create_document(new(kitchen.id, "Soup", &lines)).await.unwrap().head.id;
    let changed = lines.replace("Line 2\n", "Zwei\n").replace("Line 20\n", "End");
    client.change_document(id, content(changed), ExpectedVersion::Any).await.unwrap();
    let diff = client.document_diff(id, 1, 2).await.unwrap();
    assert_eq!(
        diff.to_string(),
        "@@ -1,5 +1,5 @@\n Line 1\n-Line 2\n+Zwei\n Line 3\n Line 4\n Line 5\n@@ -17,4 +17,4 @@\n Line 17\n Line 18\n \
         Line 19\n-Line 20\n+End\n\\ No newline at the end\n"
    );
    assert_eq!(client.document_diff(id, 2, 2).await.unwrap().to_string(), "");
    client.change_document(id, content(""), ExpectedVersion::Any).await.unwrap();
    let diff = client.document_diff(id, 3, 1).await.unwrap();
    assert!(diff.to_string().starts_with("@@ -0,0 +1,20 @@\n+Line 1\n"), "{diff}");
}

/// The worst pair of long texts is compared in a moment.
#[tokio::test]
async fn a_diff_of_long_texts_that_have_nothing_in_common_ends() {
    let world = world().await;
    let client = world.client();
    let kitchen = new_project(&client, "Kitchen").await;
    let text =
        |from: u64| (0..90_000).map(|n| format!("{}\n", (n * 7_919 + from) % 100_003)).collect::<String>();
    let id = client.create_document(new(kitchen.id, "Soup", &text(1))).await.unwrap().head.id;
    client.change_document(id, content(text(2)), ExpectedVersion::Any).await.unwrap();
    let diff = client.document_diff(id, 1, 2).await.unwrap();
    assert!(!diff.hunks.is_empty());
}

/// Shows: S5-R078.
#[tokio::test]
async fn a_name_is_unique_in_its_project_however_it_is_spelled() {
    let world = world().await;
    let client = world.client();
    let [kitchen, garden] = [new_project(&client, "Kitchen").await, new_project(&client, "Garden").await];
    let soup = client.create_document(new(kitchen.id, "Straße", "")).await.unwrap();
    let bread = client.create_document(new(kitchen.id, "Bread", "")).await.unwrap();
    client.create_document(new(garden.id, "Straße", "")).await.unwrap();
    let holder = soup.head.id.to_string();
    let is_taken = |refused: Result<Document, Error>, given: &str| match refused {
        Err(Error::NameInUse { noun: "document", name, holder: by }) => name == given && by == holder,
        _ => false,
    };
    assert!(is_taken(client.create_document(new(kitchen.id, " STRASSE ", "")).await, "STRASSE"));
    assert!(is_taken(
        client.change_document(bread.head.id, renamed("strasse"), ExpectedVersion::Any).await,
        "strasse"
    ));
    assert_eq!(versions(&client, bread.head.id).await.len(), 1, "nothing was stored");
    // Another spelling of its own name, and a name that was given up.
    client.change_document(soup.head.id, renamed("STRASSE"), ExpectedVersion::Any).await.unwrap();
    client.change_document(soup.head.id, renamed("Weg"), ExpectedVersion::Any).await.unwrap();
    client.change_document(bread.head.id, renamed("Straße"), ExpectedVersion::Any).await.unwrap();
    let undone = client.undo_document(soup.head.id, 1, ExpectedVersion::Any).await;
    assert!(matches!(undone, Err(Error::NameInUse { .. })), "another document has the name by now");
    client.delete_document(bread.head.id, ExpectedVersion::Any).await.unwrap();
    client.undo_document(soup.head.id, 1, ExpectedVersion::Any).await.unwrap();
    let next = client.create_document(new(kitchen.id, "Bread", "")).await.unwrap();
    assert_eq!(
        next.head.number, 4,
        "a refused creation takes no number, and a deleted document keeps its own"
    );

    let taken = client.create_project(NewProject { name: "KITCHEN".into(), ..NewProject::default() }).await;
    assert!(matches!(taken, Err(Error::NameInUse { noun: "project", .. })));
    let change = ProjectChange { name: Some("garden ".into()), ..ProjectChange::default() };
    assert!(matches!(client.change_project(kitchen.id, change).await, Err(Error::NameInUse { .. })));
    let change = ProjectChange { description: Some("Recipes.".into()), ..ProjectChange::default() };
    let changed = client.change_project(kitchen.id, change).await.unwrap();
    assert_eq!((changed.name.as_str(), changed.description.as_str()), ("Kitchen", "Recipes."));
    assert_eq!(client.documents(kitchen.id).await.unwrap().len(), 2);
    assert_eq!(world.audit().await, []);
}

/// What is too long or no text is refused with its limit, and nothing is stored.
#[tokio::test]
async fn what_cannot_be_kept_is_refused_with_the_reason() {
    let world = world().await;
    let client = world.client();
    let kitchen = new_project(&client, "Kitchen").await;
    let document = client.create_document(new(kitchen.id, &"é".repeat(200), "Water.")).await.unwrap();
    let (mebibyte, long) = ("x".repeat(1 << 20), "x".repeat((1 << 20) + 1));
    client.create_document(new(kitchen.id, "Long", &mebibyte)).await.unwrap();
    let instruction = |length: usize| NewDocument {
        standing_instruction: "x".repeat(length),
        ..new(kitchen.id, "Instructed", "")
    };
    client.create_document(instruction(8 << 10)).await.unwrap();
    let says = |refused: Result<Document, Error>| match refused {
        Err(Error::Part(why)) => why.to_string(),
        other => panic!("{other:?}"),
    };
    for (name, why) in
        [(" \n", "is empty"), ("a\tb", "control character"), (&*"x".repeat(201), "201 characters")]
    {
        assert!(says(client.create_document(new(kitchen.id, name, "")).await).contains(why));
        let change = client.change_document(document.head.id, renamed(name), ExpectedVersion::Any).await;
        assert!(says(change).contains(why));
        let project = client.create_project(NewProject { name: name.into(), ..NewProject::default() }).await;
        assert!(matches!(project, Err(Error::Part(said)) if said.to_string().contains(why)));
    }
    assert!(says(client.create_document(new(kitchen.id, "Longer", &long)).await).contains("1048576 at most"));
    assert!(says(client.create_document(instruction((8 << 10) + 1)).await).contains("8192 at most"));
    let change = client.change_document(document.head.id, content(long), ExpectedVersion::Any).await;
    assert!(says(change).contains("1048577 bytes"));
    assert!(says(client.create_document(new(kitchen.id, "Nul", "a\0b")).await).contains("NUL"));
    let described = NewProject { name: "Described".into(), description: "x".repeat((8 << 10) + 1) };
    assert!(
        matches!(client.create_project(described).await, Err(Error::Part(why)) if why.to_string().contains("description"))
    );
    assert!(is_missing(client.create_document(new(ProjectId::new(), "Lost", "")).await));
    assert_eq!(client.documents(kitchen.id).await.unwrap().len(), 3);
    assert_eq!(versions(&client, document.head.id).await.len(), 1);
}

/// Shows: S5-R022, S5-R058.
#[tokio::test]
async fn an_owner_has_projects_and_documents_that_no_other_owner_sees() {
    let world = world().await;
    let (ann, eve) = (world.client(), world.engine().client(Owner::new("eve")));
    let kitchen = new_project(&ann, "Kitchen").await;
    let soup = ann.create_document(new(kitchen.id, "Soup", "Water.")).await.unwrap();
    let id = soup.head.id;
    assert!(is_missing(eve.project(kitchen.id).await));
    assert!(is_missing(eve.documents(kitchen.id).await));
    assert!(is_missing(eve.document_heads(kitchen.id, Page::default()).await));
    assert!(is_missing(eve.search_documents(kitchen.id, "water", Page::default()).await));
    assert!(is_missing(eve.create_document(new(kitchen.id, "Theirs", "")).await));
    assert!(is_missing(
        eve.change_project(kitchen.id, ProjectChange { name: Some("Mine".into()), description: None }).await
    ));
    assert!(is_missing(eve.document(id).await));
    assert!(is_missing(eve.change_document(id, content("Poison."), ExpectedVersion::Any).await));
    assert!(is_missing(eve.undo_document(id, 1, ExpectedVersion::Any).await));
    assert!(is_missing(eve.document_versions(id, Page::default()).await));
    assert!(is_missing(eve.document_version(id, 1).await));
    assert!(is_missing(eve.export_document(id).await) && is_missing(eve.export_project(kitchen.id).await));
    assert!(
        is_missing(eve.delete_document(id, ExpectedVersion::Any).await)
            && is_missing(eve.delete_project(kitchen.id).await)
    );
    assert_eq!(eve.projects(Page::default()).await.unwrap().rows, []);
    assert_eq!(eve.document_named(kitchen.id, "Soup").await.unwrap(), None);
    let theirs = new_project(&eve, "Kitchen").await;
    let other = eve.create_document(new(theirs.id, "Soup", "Wine.")).await.unwrap();
    assert_eq!((theirs.number, other.head.number), (1, 1), "each owner has names and numbers of its own");
    assert_eq!(ann.document(id).await.unwrap(), soup);
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn what_is_deleted_is_gone_with_all_below_it() {
    let world = world().await;
    let client = world.client();
    let [kitchen, garden] = [new_project(&client, "Kitchen").await, new_project(&client, "Garden").await];
    let [soup, bread] = [new(kitchen.id, "Soup", "Water."), new(kitchen.id, "Bread", "Flour.")];
    let soup = client.create_document(soup).await.unwrap().head.id;
    let bread = client.create_document(bread).await.unwrap().head.id;
    let roses = client.create_document(new(garden.id, "Roses", "Red.")).await.unwrap().head.id;
    for id in [soup, bread, roses] {
        client.change_document(id, content("Changed."), ExpectedVersion::Any).await.unwrap();
    }
    client.delete_document(soup, ExpectedVersion::Any).await.unwrap();
    assert!(is_missing(client.document_version(soup, 1).await) && is_missing(client.document(soup).await));
    assert!(is_missing(client.change_document(soup, content("Again."), ExpectedVersion::Any).await));
    assert!(is_missing(client.delete_document(soup, ExpectedVersion::Any).await));
    client.delete_project(kitchen.id).await.unwrap();
    assert!(is_missing(client.document(bread).await) && is_missing(client.document_version(bread, 2).await));
    assert!(is_missing(client.create_document(new(kitchen.id, "Late", "")).await));
    assert!(is_missing(client.delete_project(kitchen.id).await));
    assert_eq!(versions(&client, roses).await.len(), 2);
    let again = new_project(&client, "Kitchen").await;
    assert_eq!((again.number, client.documents(again.id).await.unwrap()), (3, vec![]));
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn a_search_finds_what_a_document_says_now_with_the_words_in_context() {
    let world = world().await;
    let client = world.client();
    let [kitchen, garden] = [new_project(&client, "Kitchen").await, new_project(&client, "Garden").await];
    let text = format!("{}The sóup needs salt.{}", "Nothing. ".repeat(100), " Nothing.".repeat(100));
    let soup = client.create_document(new(kitchen.id, "Soup", &text)).await.unwrap();
    client.create_document(new(kitchen.id, "Bread", "Flour and salt.")).await.unwrap();
    client.create_document(new(garden.id, "Roses", "No salt for the soup.")).await.unwrap();
    let search = async |words: &str| {
        let found = client.search_documents(kitchen.id, words, Page::default()).await.unwrap();
        found.into_iter().map(|found| (found.head.name, found.snippet)).collect::<Vec<_>>()
    };
    let found = search("SOUP sal").await;
    assert_eq!(found.len(), 1);
    assert!(found[0].1.starts_with('…') && found[0].1.contains("The sóup needs salt."), "{found:?}");
    assert_eq!(search("bread").await, [("Bread".to_owned(), "Flour and salt.".to_owned())], "by its name");
    assert_eq!(search("salt").await.len(), 2);
    client.change_document(soup.head.id, content("Water."), ExpectedVersion::Any).await.unwrap();
    assert_eq!(search("salt").await.len(), 1, "versions are not found");
    let none = client.search_documents(kitchen.id, " ?!", Page::default()).await;
    assert!(matches!(none, Err(Error::Invalid(_))));
}

#[tokio::test]
async fn documents_are_exported_as_files_with_safe_names() {
    let world = world().await;
    let client = world.client();
    let kitchen = new_project(&client, "Kitchen").await;
    for name in ["../../etc/passwd", "con", "A/B", "a:b", "Soup.md", ".."] {
        client.create_document(new(kitchen.id, name, &format!("# {name}\n"))).await.unwrap();
    }
    let mut export = client.export_project(kitchen.id).await.unwrap();
    let mut files = Vec::new();
    while let Some(file) = export.next().await.unwrap() {
        files.push(file);
    }
    let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["_.._etc_passwd.md", "con_.md", "A_B.md", "a_b (2).md", "Soup.md", "document.md"]);
    assert_eq!(files[3].content, "# a:b\n");
    let soup = client.document_named(kitchen.id, "soup.md").await.unwrap().unwrap();
    assert_eq!(client.export_document(soup.head.id).await.unwrap(), files[4]);
    // Into a directory: each becomes a file there, and nothing beside it.
    let directory = tempfile::tempdir().unwrap();
    for file in &files {
        std::fs::write(directory.path().join(&file.name), &file.content).unwrap();
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), files.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_has_a_thousand_documents_and_not_one_more_whoever_is_first() {
    let world = world().await;
    let client = world.client();
    let kitchen = new_project(&client, "Kitchen").await;
    for n in 1..999 {
        client.create_document(new(kitchen.id, &format!("Document {n}"), "")).await.unwrap();
    }
    let creations = (0..8).map(|n| {
        let client = client.clone();
        tokio::spawn(async move { client.create_document(new(kitchen.id, &format!("Last {n}"), "")).await })
    });
    let (mut created, mut refused) = (0, 0);
    for creation in creations.collect::<Vec<_>>() {
        match creation.await.unwrap() {
            Ok(_) => created += 1,
            Err(Error::ProjectFull) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((created, refused), (2, 6));
    let documents = client.documents(kitchen.id).await.unwrap();
    assert!(documents.iter().map(|document| document.head.number).eq(1..=1000));
    client.delete_document(documents[0].head.id, ExpectedVersion::Any).await.unwrap();
    client.create_document(new(kitchen.id, "There is room", "")).await.unwrap();
}
