//! Changing and ending what was made: projects, documents, goals, schedules.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Browser, chats::led_to};
use crate::{
    goal_site,
    site::{Answer, Site, send},
};

/// Sends a form as the script of a page does.
async fn by_script(browser: &Browser<'_>, path: &str, fields: &[(&str, &str)]) -> Answer {
    let form = browser.form(path, fields).header("hx-request", "true");
    send(form.header("sec-fetch-site", "same-origin")).await
}

/// The value of the field that says when a form was shown.
fn shown(page: &str) -> String {
    page.split("name=\"shown\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_name_that_is_in_use_is_refused_with_a_link_unless_the_same_form_took_it() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let first = shown(&browser.page("/console/documents").await);
    let form = [("name", "Rome"), ("shown", first.as_str())];
    let project = led_to(&browser.post("/console/projects", &form).await, "/console/projects/");
    assert_eq!(led_to(&browser.post("/console/projects", &form).await, "/console/projects/"), project);
    let page = format!("/console/projects/{project}");
    let first = shown(&browser.page(&page).await);
    let path = format!("{page}/documents");
    let form = [("name", "Plan"), ("content", "Eat."), ("shown", first.as_str())];
    let document = led_to(&browser.post(&path, &form).await, "/console/documents/");
    assert_eq!(led_to(&browser.post(&path, &form).await, "/console/documents/"), document);

    let later = shown(&browser.page("/console/documents").await);
    for (path, name, content, existing) in [
        ("/console/projects", "Rome", "", page.clone()),
        (path.as_str(), "Plan", "Eat.", format!("/console/documents/{document}")),
    ] {
        for fields in [
            &[("name", name), ("content", content), ("shown", later.as_str())][..],
            &[("name", name), ("content", content)],
        ] {
            let refused = by_script(&browser, path, fields).await;
            assert_eq!(refused.status, StatusCode::CONFLICT, "{path}: {}", refused.text);
            assert_eq!(refused.headers["hx-retarget"], "#failed");
            let link = format!("<a href=\"{existing}\">Open {name}</a>");
            assert!(refused.text.contains(&link), "{path}: {}", refused.text);
        }
    }
}

#[tokio::test]
async fn a_project_and_a_document_are_changed_unless_they_were_changed_meanwhile() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let project = site.post("/v1/projects", &json!({"name": "Rome"})).await.expect(201)["id"].clone();
    let project = project.as_str().unwrap();
    let page = format!("/console/projects/{project}");
    browser.post(&page, &[("name", "Roma"), ("description", "A\r\nweek")]).await;
    let changed = site.get(&format!("/v1/projects/{project}")).await.expect(200);
    assert_eq!((changed["name"].as_str(), changed["description"].as_str()), (Some("Roma"), Some("A\nweek")));

    let new = json!({"name": "Plan", "content": "Eat."});
    let made = site.post(&format!("/v1/projects/{project}/documents"), &new).await.expect(201);
    let id = made["id"].as_str().unwrap();
    let path = format!("/console/documents/{id}");
    let form = browser.page(&path).await;
    for part in ["name=\"seen\" value=\"1\"", "\nEat.</textarea>", "id=\"edit-form\""] {
        assert!(form.contains(part), "{part}: {form}");
    }
    let change = [
        ("name", "The plan"),
        ("content", "# Plan\r\n\r\nEat."),
        ("standing_instruction", "Be brief."),
        ("summary", "A heading"),
        ("seen", "1"),
    ];
    assert_eq!(led_to(&browser.post(&path, &change).await, "/console/documents/"), id);
    let document = site.get(&format!("/v1/documents/{id}")).await.expect(200);
    let told = ["name", "content", "standing_instruction"].map(|name| document[name].as_str().unwrap());
    assert_eq!(told, ["The plan", "# Plan\n\nEat.", "Be brief."]);
    let stale = by_script(&browser, &path, &change).await;
    assert_eq!(stale.status, StatusCode::PRECONDITION_FAILED, "{}", stale.text);
    assert_eq!(stale.headers["hx-retarget"], "#failed", "its form keeps what was written");
    for part in [
        "It was changed meanwhile",
        "Version 2 is by a person",
        "From version 1 to 2",
        "Save what I wrote on top",
    ] {
        assert!(stale.text.contains(part), "{part}: {}", stale.text);
    }

    // The newest version opens with what it changed, the text below.
    let newest = browser.page(&path).await;
    for part in ["From version 1 to 2", "Be brief.", "<article class=\"item\">", "1, 20", " UTC"] {
        assert!(newest.contains(part), "{part}: {newest}");
    }
    let alone = browser.page(&format!("{path}?v=2&with=")).await;
    assert!(!alone.contains("From version"), "{alone}");
    let earlier = browser.page(&format!("{path}?v=1")).await;
    assert!(!earlier.contains("From version") && !earlier.contains("id=\"edit-form\""), "{earlier}");
    let wrong = browser.get(&format!("{path}?v=one")).await;
    assert!(wrong.text.contains("v: `one` is not a number"), "{}", wrong.text);
}

#[tokio::test]
async fn what_was_written_for_an_earlier_version_is_kept_beside_the_newer_one_and_saved_on_top_of_it_once_that_was_seen()
 {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let project = site.post("/v1/projects", &json!({"name": "Rome"})).await.expect(201);
    let documents = format!("/v1/projects/{}/documents", project["id"].as_str().unwrap());
    let made = site.post(&documents, &json!({"name": "Plan", "content": "Eat."})).await.expect(201);
    let id = made["id"].as_str().unwrap();
    let api = format!("/v1/documents/{id}");
    let theirs = async |content: &str| {
        let change = site.request(Method::PUT, &api).header("if-match", "*");
        send(change.json(&json!({"content": content, "summary": "by others"}))).await.expect(200);
    };
    let path = format!("/console/documents/{id}");
    let mine = async |over: &str| {
        let form =
            [("name", "Plan"), ("content", "Sleep."), ("summary", "rest"), ("seen", "1"), ("over", over)];
        // What is not ticked is not sent.
        let sent = if over.is_empty() { &form[..4] } else { &form[..] };
        browser.post(&path, sent).await
    };
    theirs("Eat well.").await;
    let kept = mine("").await;
    assert_eq!(kept.status, StatusCode::PRECONDITION_FAILED);
    for part in [
        "<!doctype html>",
        "<details id=\"edit\" open>",
        "name=\"seen\" value=\"1\"",
        "\nSleep.</textarea>",
        "value=\"rest\"",
        "From version 1 to 2",
        "+ </span>Eat well.",
        "name=\"over\" value=\"2\" id=\"over-2\" required",
    ] {
        assert!(kept.text.contains(part), "{part}: {}", kept.text);
    }
    theirs("Eat very well.").await;
    let again = mine("2").await;
    assert_eq!(again.status, StatusCode::PRECONDITION_FAILED, "nobody has seen version 3");
    for part in ["From version 2 to 3", "name=\"over\" value=\"3\"", "\nSleep.</textarea>"] {
        assert!(again.text.contains(part), "{part}: {}", again.text);
    }
    assert_eq!(led_to(&mine("3").await, "/console/documents/"), id);
    let now = site.get(&api).await.expect(200);
    assert_eq!((now["content"].as_str(), now["version"].as_u64()), (Some("Sleep."), Some(4)));
}

#[tokio::test]
async fn what_nobody_has_written_in_a_document_is_left_as_it_was() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let project = site.post("/v1/projects", &json!({"name": "Rome"})).await.expect(201);
    let documents = format!("/v1/projects/{}/documents", project["id"].as_str().unwrap());
    let text = "# Plan\r\n\r\nEat.\r\n";
    let made = site.post(&documents, &json!({"name": "Plan", "content": text})).await.expect(201);
    let id = made["id"].as_str().unwrap();
    let path = format!("/console/documents/{id}");
    let saved = async |name: &str, version: &str| {
        by_script(&browser, &path, &[("name", name), ("content", text), ("seen", version)]).await
    };
    let unchanged = saved("Plan", "1").await;
    assert_eq!(unchanged.status, StatusCode::NO_CONTENT, "{}", unchanged.text);
    assert!(unchanged.headers["hx-trigger"].to_str().unwrap().contains("Nothing has changed"));
    assert_eq!(saved("The plan", "1").await.status, StatusCode::NO_CONTENT);
    let now = site.get(&format!("/v1/documents/{id}")).await.expect(200);
    let told = ["name", "content"].map(|name| now[name].as_str().unwrap());
    assert_eq!((told, now["version"].as_u64()), (["The plan", text], Some(2)));
    // What is written has lines that end as those of the others.
    let longer = format!("{text}Sleep.\r\n");
    let written = longer.replace("\r\n", "\n");
    let change = [("name", "The plan"), ("content", written.as_str()), ("seen", "2")];
    assert_eq!(by_script(&browser, &path, &change).await.status, StatusCode::NO_CONTENT);
    let now = site.get(&format!("/v1/documents/{id}")).await.expect(200);
    assert_eq!(now["content"].as_str(), Some(longer.as_str()));
}

#[tokio::test]
async fn a_goal_is_changed_put_away_taken_up_again_and_deleted() {
    let site = goal_site::site().await;
    let browser = Browser::of(&site);
    let made = browser.post("/console/goals", &[("title", "See Rome"), ("key", "k")]).await;
    let goal = led_to(&made, "/console/goals/");
    let path = format!("/console/goals/{goal}");
    let read = async || -> Value { site.get(&format!("/v1/goals/{goal}")).await.expect(200) };
    let change = [("title", "See Paris"), ("description", "In\r\nMay."), ("instructions", "By train.")];
    assert_eq!(led_to(&browser.post(&path, &change).await, "/console/goals/"), goal);
    let told = ["title", "description", "instructions"].map(|name| name.to_owned());
    let now = read().await;
    let told: Vec<_> = told.iter().map(|name| now[name.as_str()].as_str().unwrap()).collect();
    assert_eq!(told, ["See Paris", "In\nMay.", "By train."]);
    let was =
        [("was_title", "See Rome"), ("was_description", "In\r\nMay."), ("was_instructions", "By train.")];
    let mine = |title, description| [&[("title", title), ("description", description)][..], &was].concat();
    let left = by_script(&browser, &path, &mine("See Rome", "In June.")).await;
    assert!(left.status.is_success(), "{}", left.text);
    let now = read().await;
    assert_eq!((now["title"].as_str(), now["description"].as_str()), (Some("See Paris"), Some("In June.")));
    let refused = by_script(&browser, &path, &mine("See Bonn", "In\nMay.")).await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text);
    assert!(refused.text.contains("changed the title meanwhile"), "{}", refused.text);
    assert_eq!(read().await["title"], "See Paris");
    for (act, status, offered) in
        [("archive", "archived", "Take it up again"), ("open", "open", "Put it away</button>")]
    {
        browser.post(&path, &[("act", act)]).await;
        let now = read().await;
        assert_eq!(
            (now["status"].as_str(), now["title"].as_str()),
            (Some(status), Some("See Paris")),
            "{now}"
        );
        let page = browser.page(&path).await;
        assert!(page.contains(offered), "{act}: {page}");
    }
    let blank = by_script(&browser, &path, &[("title", " ")]).await;
    assert_eq!(blank.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", blank.text);
    let page = browser.page(&path).await;
    assert!(
        page.contains("<summary>Put it away, or delete it</summary>") && page.contains("for good"),
        "{page}"
    );
    let deleted = browser.post(&format!("{path}/delete"), &[]).await;
    assert_eq!(deleted.headers["location"], "/console/goals", "{}", deleted.text);
    assert!(!browser.page("/console/goals").await.contains(&goal));
}

#[tokio::test]
async fn ending_a_schedule_asks_first_and_its_form_has_the_fields_of_each_choice() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let agent = site.done("hello").await;
    let new = [
        ("agent", agent.as_str()),
        ("trigger", "look"),
        ("text", "x"),
        ("repeat", "every"),
        ("minutes", "60"),
    ];
    browser.post("/console/schedules", &new).await;
    let page = browser.page("/console/schedules").await;
    let asks = page.split("<summary>End it…</summary>").nth(1).expect("what is asked first");
    assert!(asks.split("</details>").next().unwrap().contains("value=\"end\""), "{asks}");
    for part in ["data-for=\"every\"", "data-for=\"cron\""] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let sheet = page.split("rel=\"stylesheet\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let sheet = send(browser.request(Method::GET, sheet)).await.text;
    assert!(sheet.contains("form:has([name=\"repeat\"] [value=\"cron\"]:checked) [data-for=\"every\"]"));
}
