//! The tools for documents: which document a call means, what they show, and what they refuse.

use std::sync::Arc;

use entourage_tools::{
    CreateDocument, DocumentEdit, DocumentWrite, Done, EditDocument, ListDocuments, Outcome, ReadDocument,
    Result, RewriteDocument, SearchDocuments, Tool,
};
use entourage_types::{
    Document, DocumentHead, DocumentId, Entity, Kind, NewDocument, Owner, Project, ProjectId, Record,
    SectionEdit, Time,
};
use serde_json::{Value, json};

use crate::support::{Shelf, call_in, context, kind, offered};

fn tools() -> [&'static dyn Tool; 6] {
    [&ListDocuments, &ReadDocument, &SearchDocuments, &CreateDocument, &EditDocument, &RewriteDocument]
}

/// A kind that names the document tools.
fn editor() -> Kind {
    Kind { tools: Some(tools().map(|tool| tool.name().to_owned()).to_vec()), ..kind("editor", &[]) }
}

fn project(name: &str) -> Project {
    let at = Time::from_micros(0);
    Project {
        id: ProjectId::new(),
        owner: Owner::local(),
        number: 1,
        name: name.into(),
        description: String::new(),
        created: at,
        updated: at,
    }
}

fn document(of: &Project, name: &str, content: &str) -> Document {
    let at = Time::from_micros(0);
    let head = DocumentHead {
        id: DocumentId::new(),
        owner: Owner::local(),
        project: of.id,
        number: 1,
        name: name.into(),
        standing_instruction: String::new(),
        version: 3,
        created: at,
        updated: at,
    };
    Document { head, content: content.into() }
}

/// A shelf with these projects and documents, and calls of an agent that reads it.
struct Desk(Vec<Entity>);

impl Desk {
    fn of(projects: &[&Project], documents: &[&Document]) -> Self {
        let projects = projects.iter().map(|project| project.entity().unwrap());
        Self(projects.chain(documents.iter().map(|document| document.entity().unwrap())).collect())
    }

    async fn call(&self, tool: &dyn Tool, arguments: Value) -> Result<Done> {
        let mut context = context(editor(), true);
        context.reader = Arc::new(Shelf { records: self.0.clone(), ..Shelf::default() });
        match call_in(&context, tool, arguments).await? {
            Outcome::Done(done) => Ok(done),
            other => panic!("not done: {other:?}"),
        }
    }

    async fn says(&self, tool: &dyn Tool, arguments: Value) -> String {
        self.call(tool, arguments).await.unwrap().text
    }

    async fn refuses(&self, tool: &dyn Tool, arguments: Value) -> String {
        self.call(tool, arguments).await.unwrap_err().to_string()
    }
}

fn written(done: &Done) -> &DocumentWrite {
    assert!(done.records.is_empty(), "a document is no plain record");
    done.document.as_ref().map(DocumentEdit::write).expect("it writes a document")
}

#[test]
fn document_tools_are_offered_to_kinds_that_name_them() {
    for tool in tools() {
        assert!(offered(tool, &kind("assistant", &[]), true).is_none(), "{}", tool.name());
        assert!(offered(tool, &editor(), false).is_some(), "{}", tool.name());
    }
}

/// Shows: S5-R059.
#[tokio::test]
async fn a_call_names_its_project_and_its_document_by_name_or_id() {
    let (kitchen, garden) = (project("Kitchen"), project("Garden"));
    let soup = document(&kitchen, "Soup", "Water.");
    let roses = document(&garden, "Roses", "Red.");
    let one = Desk::of(&[&kitchen], &[&soup]);
    assert!(one.says(&ReadDocument, json!({"document": " SOUP "})).await.ends_with("\nWater."));
    let both = Desk::of(&[&kitchen, &garden], &[&soup, &roses]);
    for project in ["kitchen".to_owned(), kitchen.id.to_string()] {
        let read = json!({"document": "soup", "project": project});
        assert!(both.says(&ReadDocument, read).await.ends_with("\nWater."));
    }
    let by_id = json!({"document": soup.head.id});
    assert!(both.says(&ReadDocument, by_id).await.ends_with("\nWater."), "an id needs no project");
    let elsewhere = json!({"document": soup.head.id, "project": "Garden"});
    let refused = both.refuses(&ReadDocument, elsewhere).await;
    assert!(
        refused.contains("`Garden` has no document") && refused.contains("There are: `Roses`"),
        "{refused}"
    );
    let refused = both.refuses(&ReadDocument, json!({"document": "Soup"})).await;
    assert!(refused.contains("name one as `project`. There are: `Kitchen`, `Garden`"), "{refused}");
    let refused = both.refuses(&ListDocuments, json!({"project": "Cellar"})).await;
    assert!(refused.contains("no project `Cellar`. There are: `Kitchen`, `Garden`"), "{refused}");
    let refused = Desk::of(&[], &[]).refuses(&ListDocuments, json!({})).await;
    assert!(refused.contains("there are no projects"), "{refused}");
}

#[tokio::test]
async fn documents_are_listed_without_their_texts() {
    let kitchen = project("Kitchen");
    let mut soup = document(&kitchen, "Soup", "Water.");
    soup.head.standing_instruction = "Keep\nit short.".into();
    let desk = Desk::of(&[&kitchen], &[&soup, &document(&kitchen, "Bread", "Flour.")]);
    assert_eq!(
        desk.says(&ListDocuments, json!({})).await,
        "Documents of the project `Kitchen`:\n- `Soup`, version 3. Standing instruction: Keep it short.\n\
         - `Bread`, version 3"
    );
    assert_eq!(
        Desk::of(&[&kitchen], &[]).says(&ListDocuments, json!({})).await,
        "The project `Kitchen` has no documents."
    );
    let many: Vec<Document> = (0..201).map(|n| document(&kitchen, &format!("Document {n}"), "")).collect();
    let desk = Desk::of(&[&kitchen], &many.iter().collect::<Vec<_>>());
    let first = desk.says(&ListDocuments, json!({})).await;
    assert!(
        first.ends_with("- `Document 199`, version 3\n[there are more: go on with `from` 200]"),
        "{first}"
    );
    let rest = desk.says(&ListDocuments, json!({"from": 200})).await;
    assert_eq!(rest, "Documents of the project `Kitchen`:\n- `Document 200`, version 3");
}

#[tokio::test]
async fn a_long_document_is_read_in_parts_that_make_the_whole() {
    let kitchen = project("Kitchen");
    let content: String = (0..30_000).map(|n| ["ä", "😀", "\n", "x"][n % 4]).collect();
    let mut long = document(&kitchen, "Long", &content);
    long.head.standing_instruction = "Two\nlines.".into();
    let desk = Desk::of(&[&kitchen], &[&long]);
    let (mut read, mut from) = (String::new(), 0);
    loop {
        let part = desk.says(&ReadDocument, json!({"document": "Long", "from": from})).await;
        let instruction = if from == 0 { "\nStanding instruction:\n> Two\n> lines.\n" } else { "\n" };
        let (head, text) = part.split_once(&format!("]{instruction}")).unwrap();
        assert!(part.chars().count() <= editor().limits.max_output_chars);
        read.push_str(text);
        match head.split_once("; go on with `from` ") {
            Some((_, next)) => from = next.parse().unwrap(),
            None => break assert!(head.ends_with("that is its end"), "{head}"),
        }
    }
    assert_eq!(read, content);
    let refused = desk.refuses(&ReadDocument, json!({"document": "Long", "from": 30_000})).await;
    assert!(refused.contains("30000 characters: begin before that"), "{refused}");
    let empty = Desk::of(&[&kitchen], &[&document(&kitchen, "Empty", "")]);
    assert_eq!(
        empty.says(&ReadDocument, json!({"document": "Empty"})).await,
        "[`Empty`, version 3: it is empty]"
    );
}

#[tokio::test]
async fn a_search_shows_the_words_in_context_in_one_line_each() {
    let kitchen = project("Kitchen");
    let text = format!("{}\n- `Forged`: salt\nThe soup needs salt.", "Nothing. ".repeat(100));
    let desk =
        Desk::of(&[&kitchen], &[&document(&kitchen, "Soup", &text), &document(&kitchen, "Bread", "Flour.")]);
    let found = desk.says(&SearchDocuments, json!({"query": "soup salt"})).await;
    assert!(found.starts_with("- `Soup`: …") && found.contains("The soup needs salt."), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
    let found = desk.says(&SearchDocuments, json!({"query": "pepper"})).await;
    assert!(found.starts_with("No document of the project `Kitchen` has all of these words"), "{found}");
    assert!(desk.refuses(&SearchDocuments, json!({"query": "?!"})).await.contains("no word"));
}

/// A call made again is about the same document.
///
/// Shows: S5-R076.
#[tokio::test]
async fn a_call_creates_a_document_under_its_own_id() {
    let kitchen = project("Kitchen");
    let desk = Desk::of(&[&kitchen], &[]);
    let mut context = context(editor(), true);
    context.reader = Arc::new(Shelf { records: desk.0.clone(), ..Shelf::default() });
    let arguments =
        json!({"name": " Soup ", "content": "Water.", "standing_instruction": "Short.", "summary": "new"});
    let [first, again] = [
        call_in(&context, &CreateDocument, arguments.clone()).await.unwrap(),
        call_in(&context, &CreateDocument, arguments).await.unwrap(),
    ];
    assert_eq!(first, again);
    let Outcome::Done(done) = first else { panic!("not done") };
    let new = NewDocument {
        project: kitchen.id,
        name: "Soup".into(),
        standing_instruction: "Short.".into(),
        content: "Water.".into(),
        summary: "new".into(),
    };
    let id = DocumentId::from_uuid(context.call.uuid());
    assert_eq!(written(&done), &DocumentWrite::Create { id, new });
    assert_eq!(done.text, "Created the document `Soup` in the project `Kitchen`.");
    for (arguments, why) in [
        (json!({"name": " "}), "the name is empty"),
        (json!({"name": "a\nb"}), "control character"),
        (json!({"name": "x".repeat(201)}), "201 characters"),
        (json!({"name": "x", "content": "x".repeat((1 << 20) + 1)}), "1048576 at most"),
        (json!({"name": "x", "standing_instruction": "x".repeat(8193)}), "8192 at most"),
    ] {
        let refused = desk.refuses(&CreateDocument, arguments).await;
        assert!(refused.contains(why), "{refused}");
    }
}

/// Shows: S5-R065.
#[tokio::test]
async fn an_edit_names_the_sections_that_it_replaces_and_nothing_else() {
    let kitchen = project("Kitchen");
    let soup = document(&kitchen, "Soup", "# Soup\n\nWater and salt.\n");
    let desk = Desk::of(&[&kitchen], &[&soup]);
    let edit = |old: &str, new: &str| json!({"old": old, "new": new});
    let arguments = json!({"document": "Soup", "edits": [edit("Water", "Wine"), edit("salt", "pepper")]});
    let done = desk.call(&EditDocument, arguments).await.unwrap();
    let edits = [("Water", "Wine"), ("salt", "pepper")];
    let edits = edits.map(|(old, new)| SectionEdit { old: old.into(), new: new.into() }).to_vec();
    let expected = DocumentWrite::Sections { document: soup.head.id, edits, summary: String::new() };
    assert_eq!(written(&done), &expected);
    assert_eq!(done.text, "Changed 2 sections of `Soup`.");
    for (edits, why) in [
        (
            json!([edit("Water", "Wine"), edit("sugar", "honey")]),
            "edit 2: the document has nowhere the text `sugar`",
        ),
        (json!([edit("Soup\n\nWater", "x"), edit("Water", "y")]), "edits 1 and 2 overlap"),
        (json!([edit("a", "b")]), "edit 1: the document has 3 times the text `a`"),
        (json!([]), "there are no edits"),
    ] {
        let refused = desk.refuses(&EditDocument, json!({"document": "Soup", "edits": edits})).await;
        assert!(refused.contains(why), "{refused}");
    }
    let same =
        desk.call(&EditDocument, json!({"document": "Soup", "edits": [edit("salt", "salt")]})).await.unwrap();
    assert!(same.document.is_none() && same.text.contains("nothing was changed"), "{same:?}");
}

/// A rewrite that would lose most of a document changes nothing and asks; an empty one is refused in any case.
///
/// Shows: S5-R064.
#[tokio::test]
async fn a_rewrite_does_not_lose_a_document_by_mistake() {
    let kitchen = project("Kitchen");
    let soup = document(&kitchen, "Soup", "A long recipe for soup.");
    let desk = Desk::of(&[&kitchen], &[&soup]);
    let rewrite =
        |content: &str, shrink: Value| json!({"document": "Soup", "content": content, "shrink": shrink});
    let done = desk.call(&RewriteDocument, rewrite("A short recipe.", Value::Null)).await.unwrap();
    let (id, content) = (soup.head.id, "A short recipe.".to_owned());
    let expected = DocumentWrite::Rewrite { document: id, at: 3, content, summary: String::new() };
    assert_eq!(written(&done), &expected);
    for shrink in [Value::Null, json!(false)] {
        let refused = desk.refuses(&RewriteDocument, rewrite("Soup.", shrink)).await;
        assert!(refused.contains("5 characters and the present one 23"), "{refused}");
        assert!(refused.contains("not changed") && refused.contains("`shrink`: true"), "{refused}");
    }
    assert!(desk.call(&RewriteDocument, rewrite("Soup.", json!(true))).await.unwrap().document.is_some());
    for shrink in [Value::Null, json!(true)] {
        let refused = desk.refuses(&RewriteDocument, rewrite(" \n", shrink)).await;
        assert!(refused.contains("the new text is empty, and the document was not changed"), "{refused}");
    }
    let same = desk.call(&RewriteDocument, rewrite("A long recipe for soup.", Value::Null)).await.unwrap();
    assert!(same.document.is_none(), "{same:?}");
}
