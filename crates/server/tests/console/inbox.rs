//! Questions and grants on pages.

use std::sync::Arc;

use entourage_engine::Kinds;
use entourage_llm::{Request, Script, ScriptedModel};
use entourage_store_sqlite::SqliteStore;
use entourage_types::{ApprovalRule, Kind};
use reqwest::StatusCode;
use serde_json::json;

use super::Browser;
use crate::site::{Site, asking, send};

/// The digest of the call that a page shows.
fn digest_of(page: &str) -> &str {
    page.split("name=\"digest\" value=\"").nth(1).unwrap().split('"').next().unwrap()
}

/// A site whose agents may write notes only with approval.
async fn site_with_approvals() -> Site {
    let approval = vec![ApprovalRule::of("create_note")];
    let kind = Kind { approval, ..Kind::bare("assistant") };
    Site::of_kinds(Kinds::none().with(kind)).await
}

#[tokio::test]
async fn a_question_is_answered_by_an_option_by_words_or_not_at_all() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    for (fields, answer) in [
        (&[("act", "say"), ("option", "blue"), ("text", "")][..], Some("blue")),
        (&[("act", "say"), ("text", "neither")], Some("neither")),
        (&[("act", "decline"), ("text", "")], None),
    ] {
        let (_, question) = site.asked("ask").await;
        let page = browser.page("/console").await;
        for part in ["Which colour?", "red", "blue", &question] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let empty =
            browser.post(&format!("/console/q/{question}/answer"), &[("act", "say"), ("text", " ")]).await;
        assert_eq!(empty.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(empty.text.contains("the answer is empty"), "{}", empty.text);
        let form = page.split("data-words></textarea>").nth(1).unwrap().trim_start();
        assert!(form.starts_with("<div data-failed"), "what is wrong stands at the field: {form}");
        let both = [("act", "say"), ("option", "blue"), ("text", "but dark")];
        let both = browser.post(&format!("/console/q/{question}/answer"), &both).await;
        assert_eq!(both.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(both.text.contains("only one of them can be the answer"), "{}", both.text);
        let done = browser.post(&format!("/console/q/{question}/answer"), fields).await;
        assert_eq!(
            (done.status, &done.headers["location"]),
            (StatusCode::SEE_OTHER, &"/console".parse().unwrap())
        );
        let closed = site.get(&format!("/v1/questions/{question}")).await.expect(200);
        assert_eq!(closed["answer"].as_str(), answer, "{closed}");
        assert!(browser.page("/console").await.contains("Nobody waits for you"));
        assert!(browser.page("/console/answered").await.contains(&question));
    }
}

#[tokio::test]
async fn a_second_answer_is_told_that_there_is_one_and_an_own_repeat_succeeds() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let (_, question) = site.asked("ask").await;
    let path = format!("/console/q/{question}/answer");
    let red = [("act", "say"), ("option", "red")];
    assert_eq!(browser.post(&path, &red).await.status, StatusCode::SEE_OTHER);
    let by_script =
        browser.form(&path, &red).header("sec-fetch-site", "same-origin").header("hx-request", "true");
    let repeated = send(by_script).await;
    assert_eq!(repeated.status, StatusCode::OK, "{}", repeated.text);
    assert!(repeated.text.starts_with("<main"), "what is left in the inbox: {}", repeated.text);
    let by_script = browser.form(&path, &[("act", "say"), ("option", "blue")]);
    let by_script = by_script.header("sec-fetch-site", "same-origin").header("hx-request", "true");
    let other = send(by_script).await;
    assert_eq!(other.status, StatusCode::CONFLICT);
    assert_eq!(other.headers["hx-retarget"], "#failed");
    assert!(other.text.contains("red"), "it says what was answered: {}", other.text);
}

#[tokio::test]
async fn a_call_is_approved_as_it_was_shown_edited_or_rejected_with_a_reason() {
    let site = site_with_approvals().await;
    let browser = Browser::of(&site);
    let edited = json!({"title": "Mine", "content": "Edited."}).to_string();
    for (act, fields, output) in [
        ("approve", &[][..], "It came back: "),
        ("edit", &[("arguments", edited.as_str())], "It came back: "),
        ("reject", &[("text", "too early")], "too early"),
        ("approve_always", &[], "It came back: "),
    ] {
        let (agent, question) = site.asked("note").await;
        let page = browser.page(&format!("/console/q/{question}")).await;
        for part in ["create_note", "It is blue.", "name=\"digest\""] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let digest = digest_of(&page);
        let path = format!("/console/q/{question}/answer");
        let all: Vec<(&str, &str)> = [("act", act)].into_iter().chain(fields.iter().copied()).collect();
        let stale = [&all[..], &[("digest", "0000")]].concat();
        if act != "reject" {
            assert_eq!(browser.post(&path, &stale).await.status, StatusCode::CONFLICT, "{act}");
        }
        let fresh = if act == "reject" { all } else { [&all[..], &[("digest", digest)]].concat() };
        let done = browser.post(&path, &fresh).await;
        assert_eq!(done.status, StatusCode::SEE_OTHER, "{act}: {}", done.text);
        site.follow(&agent, 0).await.until(|frame| frame.is_status_of(&agent, "succeeded")).await;
        let transcript = browser.page(&format!("/console/agents/{agent}")).await;
        assert!(transcript.contains(output), "{act}: {transcript}");
    }
    let notes = site.get("/v1/notes").await.expect(200);
    assert_eq!(notes["data"].as_array().unwrap().len(), 3, "{notes}");
    assert!(notes.to_string().contains("Edited."), "{notes}");
    let wrong = site.asked("note").await.1;
    let answer = [("act", "edit"), ("arguments", "{"), ("digest", "0")];
    let refused = browser.post(&format!("/console/q/{wrong}/answer"), &answer).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.text.contains("the arguments are not JSON"), "{}", refused.text);
}

#[tokio::test]
async fn arguments_are_edited_in_a_form_made_of_what_the_tool_takes() {
    let site = site_with_approvals().await;
    let browser = Browser::of(&site);
    let (agent, question) = site.asked("note").await;
    let page = browser.page(&format!("/console/q/{question}")).await;
    for part in [
        "name=\"argument.title\"",
        "name=\"argument.content\"",
        "\nIt is blue.</textarea>",
        "value=\"json\"> as JSON",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let path = format!("/console/q/{question}/answer");
    let edited = [
        ("act", "edit"),
        ("edit_as", "form"),
        ("arguments", "{}"),
        ("digest", digest_of(&page)),
        ("argument.title", "Found"),
        ("argument.content", "It is\r\ngreen."),
    ];
    let missed: Vec<_> = edited.into_iter().filter(|(name, _)| *name != "argument.content").collect();
    let more = [&edited[..], &[("argument.colour", "none")]].concat();
    let unseen = [&missed[..], &[("argument.content", "gre\u{200b}en")]].concat();
    let as_json = |arguments| {
        let json = [("act", "edit"), ("edit_as", "json"), ("digest", digest_of(&page))];
        [&json[..], &[("arguments", arguments)]].concat()
    };
    for (fields, why) in [
        (missed, "has not sent the argument `content`"),
        (more, "other arguments"),
        (unseen, "U+200B"),
        (as_json("{\"title\": \"a\", \"content\": \"b\", \"title\": \"c\"}"), "`title` twice"),
        (as_json("{\"title\": \"a\", \"content\": 0.30000000000000000001}"), "would become 0.3"),
        (as_json("{\"title\": \"a\", \"content\": \"\u{202e}\"}"), "U+202E"),
    ] {
        let form = browser.form(&path, &fields).header("hx-request", "true");
        let refused = send(form.header("sec-fetch-site", "same-origin")).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{why}: {}", refused.text);
        assert!(refused.text.contains(why), "{why}: {}", refused.text);
        assert_eq!(refused.headers["hx-retarget"], "#failed", "its form takes it from there");
    }
    assert_eq!(site.get(&format!("/v1/questions/{question}")).await.expect(200)["status"], "open");
    let done = browser.post(&path, &edited).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);
    site.follow(&agent, 0).await.until(|frame| frame.is_status_of(&agent, "succeeded")).await;
    let notes = site.get("/v1/notes").await.expect(200);
    assert_eq!(notes["data"][0]["content"], "It is\ngreen.", "{notes}");
}

#[tokio::test]
async fn what_enter_sends_of_a_field_is_what_the_field_says() {
    let site = site_with_approvals().await;
    let browser = Browser::of(&site);
    let (agent, question) = site.asked("note").await;
    for page in ["/console".to_owned(), format!("/console/q/{question}"), format!("/console/agents/{agent}")]
    {
        let page = browser.page(&page).await;
        let forms: Vec<&str> = page.split("<form ").filter(|form| form.contains("data-answer")).collect();
        assert_eq!(forms.len(), 2, "one that decides, one that edits: {page}");
        for form in forms {
            let form = form.split("</form>").next().unwrap();
            // A browser presses the first button for Enter in a field of one line, or in a choice.
            let first = form.split("<button ").nth(1).unwrap().split('>').next().unwrap();
            let has_field = form
                .split("<input ")
                .skip(1)
                .any(|field| !field.split('>').next().unwrap().contains("type=\"hidden\""));
            assert_eq!(first.contains("value=\"edit\""), form.contains("name=\"arguments\""), "{form}");
            assert!(!has_field || first.contains("value=\"edit\""), "{form}");
            assert!(form.contains("name=\"digest\""), "{form}");
        }
    }
}

#[tokio::test]
async fn a_grant_is_listed_and_revoked() {
    let site = site_with_approvals().await;
    let browser = Browser::of(&site);
    assert!(browser.page("/console/grants").await.contains("No agent may do anything without asking"));
    let (agent, question) = site.asked("note").await;
    let page = browser.page(&format!("/console/q/{question}")).await;
    let blind = browser.post(&format!("/console/q/{question}/answer"), &[("act", "approve_always")]).await;
    assert_eq!(blind.status, StatusCode::UNPROCESSABLE_ENTITY, "what was shown must be said");
    let always = [("act", "approve_always"), ("digest", digest_of(&page))];
    assert!(browser.post(&format!("/console/q/{question}/answer"), &always).await.status.is_redirection());
    site.follow(&agent, 0).await.until(|frame| frame.is_status_of(&agent, "succeeded")).await;
    let page = browser.page("/console/grants").await;
    let grant = site.get("/v1/grants").await.expect(200)["data"][0]["id"].as_str().unwrap().to_owned();
    assert!(page.contains(&grant) && page.contains("Revoke"), "{page}");
    let revoked = browser.post(&format!("/console/grants/{grant}/revoke"), &[]).await;
    assert_eq!(revoked.headers["location"], "/console/grants");
    let page = browser.page("/console/grants").await;
    assert!(page.contains("revoked") && !page.contains("Revoke<"), "{page}");
}

#[tokio::test]
async fn arguments_too_long_for_a_list_are_approved_on_a_page_of_their_own() {
    let long = "It is long. ".repeat(4_000);
    let text = long.clone();
    let speak = move |_: &Request| {
        Some(Ok(Script::call("create_note", json!({"title": "Long \u{202e}", "content": text}))))
    };
    let kind = Kind { approval: vec![ApprovalRule::of("create_note")], ..Kind::bare("assistant") };
    let store = Arc::new(SqliteStore::in_memory().expect("a store"));
    let engine = asking(Arc::new(ScriptedModel::deciding(speak)), store, Kinds::none().with(kind));
    let site = Site::serving(engine, entourage_server::Settings::default()).await;
    site.work();
    let browser = Browser::of(&site);
    let (agent, question) = site.asked("note").await;
    for page in ["/console".to_owned(), format!("/console/agents/{agent}")] {
        let list = browser.page(&page).await;
        assert!(list.len() < 200_000, "{page} has {} bytes", list.len());
        assert!(list.contains("Read all of it, and decide") && !list.contains("value=\"approve\""), "{page}");
    }
    let alone = browser.page(&format!("/console/q/{question}")).await;
    assert!(alone.contains(&long) && alone.contains("value=\"approve\""), "whole, and to be decided");
    assert!(
        alone.contains("\\u202e") && !alone.contains('\u{202e}'),
        "what cannot be seen is escaped where it is edited"
    );
}
