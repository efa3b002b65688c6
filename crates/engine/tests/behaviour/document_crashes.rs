//! The process dies at each commit of a person's changes: each is made whole or not at all, and can be made again.

use entourage_engine::{Client, DocumentChange, ExpectedVersion, NewProject, Page, Result};
use entourage_testkit::Fault;
use entourage_types::{Change, Document, Owner};

use crate::{
    documents::{content, new, versions, world},
    kit::insist,
};

/// What a person does who wants a document in its fourth version: looks at what there is, and does what is missing.
async fn work(client: &Client) -> Result<()> {
    let new_project = NewProject { name: "Kitchen".into(), ..NewProject::default() };
    let kitchen = match client.project_named("Kitchen").await? {
        Some(kitchen) => kitchen,
        None => client.create_project(new_project).await?,
    };
    let soup = match client.document_named(kitchen.id, "Soup").await? {
        Some(soup) => soup,
        None => client.create_document(new(kitchen.id, "Soup", "Water.")).await?,
    };
    let id = soup.head.id;
    for version in soup.head.version..4 {
        let expected = ExpectedVersion::Exactly(version);
        match version {
            1 => client.change_document(id, content("Wine."), expected).await?,
            2 => {
                let standing_instruction = Some("Short.".to_owned());
                let change = DocumentChange { standing_instruction, ..DocumentChange::default() };
                client.change_document(id, change, expected).await?
            }
            _ => client.undo_document(id, 1, expected).await?,
        };
    }
    match client.document_named(kitchen.id, "Draft").await? {
        Some(draft) => client.delete_document(draft.head.id, ExpectedVersion::Any).await?,
        None => {
            let draft = client.create_document(new(kitchen.id, "Draft", "")).await?;
            client.delete_document(draft.head.id, ExpectedVersion::Any).await?;
        }
    }
    Ok(())
}

/// Whatever has happened so far: each document is as its last version, and its versions have no gaps.
async fn is_whole(client: &Client) {
    for project in client.projects(Page::default()).await.unwrap().rows {
        for document in client.documents(project.id).await.unwrap() {
            versions(client, document.head.id).await;
        }
    }
}

/// Shows: S5-R125, S5-R126.
#[tokio::test]
async fn a_change_is_made_whole_or_not_at_all_wherever_the_process_dies() {
    let undisturbed = world().await;
    work(&undisturbed.engine().client(Owner::local())).await.unwrap();
    let commits = undisturbed.faults().commits();
    assert!(commits >= 7, "{commits}");
    for at in 1..=commits {
        for fault in Fault::ENDING {
            let world = world().await;
            world.faults().plan(at, fault);
            let (world, ()) = insist(world, async |world| {
                is_whole(&world.client()).await;
                work(&world.engine().client(Owner::local())).await
            })
            .await;
            let client = world.client();
            let which = format!("{fault:?} at {at}");
            let kitchen = client.project_named("Kitchen").await.unwrap().unwrap();
            let documents = client.documents(kitchen.id).await.unwrap();
            let [Document { head, content }] = &documents[..] else { panic!("{which}: {documents:?}") };
            assert_eq!((head.version, head.number, &**content), (4, 1, "Water."), "{which}");
            let changes: Vec<Change> =
                versions(&client, head.id).await.iter().map(|kept| kept.change).collect();
            assert_eq!(changes, [Change::Created, Change::Edited, Change::Edited, Change::Undone], "{which}");
            assert_eq!((kitchen.number, world.audit().await), (1, vec![]), "{which}");
        }
    }
}
