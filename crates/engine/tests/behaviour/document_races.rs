//! Several editors at once: no change is lost, every version is there, and a name goes to one of those who want it.

use std::{collections::BTreeSet, future::Future};

use entourage_engine::{Client, DocumentChange, Error, ExpectedVersion, NewProject};
use entourage_llm::ScriptedModel;
use entourage_testkit::World;
use entourage_types::{DocumentHead, DocumentId};

use crate::documents::{content, new, new_project, renamed, versions, world};

/// Adds a line to a document as an editor does that has read it: if another one was first, it reads it again.
async fn add_line(client: &Client, id: DocumentId, line: &str) -> u64 {
    loop {
        let seen = client.document(id).await.unwrap();
        let text = format!("{}{line}\n", seen.content);
        match client.change_document(id, content(text), ExpectedVersion::Exactly(seen.head.version)).await {
            Ok(changed) => return changed.head.version,
            Err(Error::StaleVersion { expected, current, .. }) => assert!(expected < current),
            Err(other) => panic!("{other}"),
        }
    }
}

/// In each of 200 rounds two editors add a line each for the version that they have seen, and a third gives the document
/// another standing instruction, whichever version it has: nothing of that is lost.
///
/// Shows: S5-R125.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn editors_of_one_document_lose_nothing_of_each_other() {
    const ROUNDS: usize = 200;
    let world = World::builder(ScriptedModel::new([])).start().await;
    let client = world.client();
    let kitchen = new_project(&client, "Kitchen").await;
    let id = client.create_document(new(kitchen.id, "Soup", "")).await.unwrap().head.id;
    let lines = |editor: &'static str| {
        let client = client.clone();
        tokio::spawn(async move {
            let mut made = Vec::new();
            for round in 0..ROUNDS {
                made.push(add_line(&client, id, &format!("{editor} {round}")).await);
            }
            made
        })
    };
    let instructions = {
        let client = client.clone();
        tokio::spawn(async move {
            let mut made = Vec::new();
            for round in 0..ROUNDS {
                let standing_instruction = Some(format!("Instruction {round}"));
                let change = DocumentChange { standing_instruction, ..DocumentChange::default() };
                let changed = client.change_document(id, change, ExpectedVersion::Any).await.unwrap();
                made.push(changed.head.version);
            }
            made
        })
    };
    let (mut made, mut of_editors) = (BTreeSet::from([1]), Vec::new());
    for editor in [lines("ann"), lines("bob"), instructions] {
        let versions = editor.await.unwrap();
        made.extend(versions.iter().copied());
        of_editors.push(versions);
    }
    let kept = versions(&client, id).await;
    assert_eq!(kept.len(), 1 + 3 * ROUNDS);
    assert!(made.into_iter().eq(1..=kept.len() as u64), "each change made one version, and no two the same");
    let said: Vec<&str> = kept.last().unwrap().content.lines().collect();
    for editor in ["ann", "bob"] {
        let own: Vec<&str> = said.iter().copied().filter(|line| line.starts_with(editor)).collect();
        assert_eq!(own, (0..ROUNDS).map(|round| format!("{editor} {round}")).collect::<Vec<_>>());
    }
    // Each version differs from the one before by the change of its editor alone.
    for (before, after) in kept.iter().zip(&kept[1..]) {
        let is_of_third = of_editors[2].contains(&after.number);
        assert_eq!(before.content == after.content, is_of_third);
        assert_eq!(before.standing_instruction != after.standing_instruction, is_of_third);
        assert!(after.content.starts_with(&before.content));
    }
    assert_eq!(world.audit().await, []);
}

/// Does something 32 times at once, and returns how often it succeeded; else the name is in use.
async fn winners<F>(attempt: impl Fn(usize) -> F) -> usize
where
    F: Future<Output = Result<(), Error>> + Send + 'static,
{
    let attempts: Vec<_> = (0..32).map(|n| tokio::spawn(attempt(n))).collect();
    let mut won = 0;
    for attempt in attempts {
        match attempt.await.unwrap() {
            Ok(()) => won += 1,
            Err(Error::NameInUse { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    won
}

/// Shows: S5-R078.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_creations_and_renames_to_one_name_one_succeeds() {
    let world = World::builder(ScriptedModel::new([])).start().await;
    let client = world.client();
    let spelled = |n: usize| ["Kitchen", "KITCHEN", " kitchen "][n % 3].to_owned();
    let created = winners(|n| {
        let (client, name) = (client.clone(), spelled(n));
        async move { client.create_project(NewProject { name, ..NewProject::default() }).await.map(drop) }
    });
    assert_eq!(created.await, 1);
    let kitchen = client.project_named("kitchen").await.unwrap().unwrap().id;
    let created = winners(|n| {
        let (client, name) = (client.clone(), spelled(n));
        async move { client.create_document(new(kitchen, &name, "")).await.map(drop) }
    });
    assert_eq!(created.await, 1);
    let mut others = Vec::new();
    for n in 0..32 {
        others.push(client.create_document(new(kitchen, &format!("Other {n}"), "")).await.unwrap());
    }
    assert!(others.iter().map(|other| other.head.number).eq(2..=33), "refused creations took no number");
    let ids: Vec<DocumentId> = others.iter().map(|other| other.head.id).collect();
    let given = winners(|n| {
        let (client, id, name) = (client.clone(), ids[n], ["Soup", "soup "][n % 2]);
        async move { client.change_document(id, renamed(name), ExpectedVersion::Any).await.map(drop) }
    });
    assert_eq!(given.await, 1);
    let mut changed = 0;
    for id in ids {
        changed += versions(&client, id).await.len() - 1;
    }
    assert_eq!((changed, client.documents(kitchen).await.unwrap().len()), (1, 33));
    assert_eq!(world.audit().await, []);
}

/// In each of ten projects, 32 creations and renames at once want four names.
///
/// Shows: S5-R078.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_creations_and_renames_at_once_one_gets_each_name() {
    let world = World::builder(ScriptedModel::new([])).start().await;
    let client = world.client();
    for round in 0..10 {
        let kitchen = new_project(&client, &format!("Kitchen {round}")).await.id;
        let mut ids = Vec::new();
        for n in 0..16 {
            let other = client.create_document(new(kitchen, &format!("Other {n}"), "")).await.unwrap();
            ids.push(other.head.id);
        }
        let attempts = (0..32).map(|n| {
            let (client, id) = (client.clone(), ids[n / 2]);
            // Each name is wanted by four creations and four renames, each spelled twice.
            let name = format!("{} {}", ["Soup", "SOUP"][n / 8 % 2], n / 2 % 4);
            tokio::spawn(async move {
                let done = match n % 2 {
                    0 => client.create_document(new(kitchen, &name, "")).await,
                    _ => client.change_document(id, renamed(&*name), ExpectedVersion::Any).await,
                };
                match done {
                    Ok(document) => Some(document.head),
                    Err(Error::NameInUse { .. }) => None,
                    Err(other) => panic!("{other}"),
                }
            })
        });
        let attempts: Vec<_> = attempts.collect();
        let mut won = Vec::new();
        for attempt in attempts {
            won.extend(attempt.await.unwrap());
        }
        let names = |heads: &[&DocumentHead]| {
            let mut names: Vec<String> = heads.iter().map(|head| head.name.to_lowercase()).collect();
            names.sort();
            names
        };
        let winners: Vec<&DocumentHead> = won.iter().collect();
        assert_eq!(names(&winners), ["soup 0", "soup 1", "soup 2", "soup 3"], "one gets each");
        let all = client.documents(kitchen).await.unwrap();
        let (named, others): (Vec<&DocumentHead>, Vec<&DocumentHead>) =
            all.iter().map(|document| &document.head).partition(|head| !head.name.starts_with("Other"));
        assert_eq!(names(&named), names(&winners));
        let renamed = won.iter().filter(|head| head.version == 2).count();
        assert_eq!(others.len() + renamed, 16);
        assert_eq!(all.len(), 16 + won.len() - renamed);
        for document in &all {
            versions(&client, document.head.id).await;
        }
    }
    assert_eq!(world.audit().await, []);
}

/// A document that is deleted while others change it does not come back, and neither does a project.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_deleted_while_others_write_to_it_stays_deleted() {
    let world = world().await;
    let client = world.client();
    for round in 0..50 {
        let kitchen = new_project(&client, &format!("Kitchen {round}")).await.id;
        let soup = client.create_document(new(kitchen, "Soup", "")).await.unwrap().head.id;
        let writers = (0..4).map(|n| {
            let client = client.clone();
            tokio::spawn(async move {
                let changed =
                    client.change_document(soup, content(format!("{n}")), ExpectedVersion::Any).await;
                let created = client.create_document(new(kitchen, &format!("{n}"), "")).await;
                for refused in [changed.err(), created.err()].into_iter().flatten() {
                    assert!(matches!(refused, Error::NotFound { .. }), "{refused}");
                }
            })
        });
        let writers: Vec<_> = writers.collect();
        match round % 2 {
            0 => client.delete_document(soup, ExpectedVersion::Any).await.unwrap(),
            _ => client.delete_project(kitchen).await.unwrap(),
        }
        for writer in writers {
            writer.await.unwrap();
        }
        assert!(matches!(client.document(soup).await, Err(Error::NotFound { .. })));
        assert!(matches!(client.document_version(soup, 1).await, Err(Error::NotFound { .. })));
        if round % 2 == 1 {
            assert!(matches!(client.documents(kitchen).await, Err(Error::NotFound { .. })));
        }
    }
    assert_eq!(world.audit().await, []);
}
