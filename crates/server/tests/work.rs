//! Tasks, notes and kinds.

use entourage_api::{Note, Task};
use serde_json::json;

use crate::site::Site;

#[tokio::test]
async fn tasks_and_notes_can_be_listed_for_one_tree() {
    let site = Site::open().await;
    let id = site.done("tell note it").await;
    let other = site.done("hello").await;

    let tasks = site.get(&format!("/v1/tasks?root={id}&status=succeeded")).await.expect(200);
    let task: Task = serde_json::from_value(tasks["data"][0].clone()).unwrap();
    assert_eq!(task.instruction, "note it");
    let same: Task = site.get(&format!("/v1/tasks/{}", task.id)).await.read();
    assert_eq!(same, task);
    assert_eq!(site.get(&format!("/v1/tasks?root={id}&status=failed")).await.expect(200)["data"], json!([]));
    assert_eq!(site.get(&format!("/v1/tasks?root={other}")).await.expect(200)["data"], json!([]));

    let notes = site.get(&format!("/v1/notes?root={id}")).await.expect(200);
    let note: Note = serde_json::from_value(notes["data"][0].clone()).unwrap();
    assert_eq!((note.title.as_str(), note.content.as_str()), ("Found", "It is blue."));
    assert_eq!(site.get(&format!("/v1/notes?root={other}")).await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn kinds_are_listed_without_their_instructions() {
    let site = Site::open().await;
    let kinds = site.get("/v1/kinds").await.expect(200);
    let names: Vec<_> = kinds["data"].as_array().unwrap().iter().map(|kind| kind["name"].clone()).collect();
    let builtin = [
        "assistant",
        "documents",
        "explorer",
        "general",
        "goal",
        "orchestrator",
        "researcher",
        "task",
        "user_agent",
    ];
    assert_eq!(names, builtin);

    let kind = site.get("/v1/kinds/assistant").await.expect(200);
    assert_eq!(kind, kinds["data"][0]);
    assert_eq!(kind["peers"], json!(["researcher"]));
    assert_eq!(kind.get("instructions"), None);
    site.get("/v1/kinds/poet").await.problem(404, "not-found");
}
