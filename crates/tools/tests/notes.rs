//! Notes: written with the output, found by their words.

use std::sync::Arc;

use entourage_tools::{CreateNote, Error, Outcome, SearchNotes};
use entourage_types::Note;
use serde_json::json;

use crate::support::{Shelf, call_in, context, done, fails, kind};

async fn written(title: &str, content: &str) -> Note {
    let mut done = done(&CreateNote, json!({ "title": title, "content": content })).await;
    assert_eq!(done.notes.len(), 1);
    done.notes.remove(0)
}

#[tokio::test]
async fn a_call_that_runs_again_writes_the_same_note() {
    let context = context(kind("writer", &[]), true);
    let arguments = json!({ "title": "Plan", "content": "first, second" });
    let first = call_in(&context, &CreateNote, arguments.clone()).await.unwrap();
    let again = call_in(&context, &CreateNote, arguments).await.unwrap();
    assert_eq!(first, again);
    let Outcome::Done(done) = first else { panic!("not done") };
    let note = &done.notes[0];
    assert_eq!((note.title.as_str(), note.content.as_str()), ("Plan", "first, second"));
    assert_eq!((note.agent, note.root, &note.owner), (context.agent, context.root, &context.owner));
    assert!(done.text.contains("Plan"));
    assert_ne!(written("Plan", "x").await.id, note.id, "another call is another note");
    assert!(matches!(
        fails(&CreateNote, json!({ "title": "", "content": " " })).await,
        Error::Arguments { .. }
    ));
}

#[tokio::test]
async fn notes_are_found_by_their_words() {
    let mut context = context(kind("reader", &[]), true);
    let mut shelf = Shelf::default();
    for number in 0..30 {
        shelf.0.push(written(&format!("Number {number}"), "a harbour at night").await);
    }
    context.notes = Arc::new(shelf);
    let search = async |arguments| match call_in(&context, &SearchNotes, arguments).await {
        Ok(Outcome::Done(done)) => done.text,
        other => panic!("not done: {other:?}"),
    };
    let five = search(json!({ "query": "harbour" })).await;
    assert!(five.starts_with("## Number 0\n") && five.contains("a harbour at night"), "{five}");
    assert_eq!(five.matches("## ").count(), 5);
    assert_eq!(search(json!({ "query": "harbour", "limit": 2 })).await.matches("## ").count(), 2);
    assert_eq!(search(json!({ "query": "harbour", "limit": 1000 })).await.matches("## ").count(), 20);
    assert!(search(json!({ "query": "mountain" })).await.contains("No note matches"));
}
