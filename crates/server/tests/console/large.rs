//! Large trees: who needs a person comes first, and what is looked for is looked for in the whole tree.

use super::Browser;
use crate::site::Site;

#[tokio::test]
async fn in_a_large_tree_those_that_need_a_person_come_first_and_words_are_looked_for_in_all_of_it() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let (root, question) = site.asked("tell ask").await;
    let tree = site.get(&format!("/v1/agents/{root}/tree")).await.expect(200);
    let asking = tree["root"]["children"][0]["id"].as_str().unwrap().to_owned();
    let children = site.children_of(&root, 250).await;
    let grandchild = &site.children_of(&children[0], 212).await[211];

    let page = browser.page(&format!("/console/trees/{root}")).await;
    let (need, all) = page.split_once("<h2>All</h2>").expect("two parts");
    for part in ["<h2>Need a person</h2>", &asking, "asks: Which colour?", &format!("/console/q/{question}")]
    {
        assert!(need.contains(part), "{part}: {need}");
    }
    assert!(!all.contains(&asking), "it is on a later page: {all}");
    assert!(!need.contains(&children[0]), "{need}");
    let inbox = format!("/console?root={root}");
    assert!(page.contains(&format!("href=\"{inbox}\">1 open question of this tree")), "{page}");

    let narrowed = browser.page(&format!("/console/trees/{root}?text=Part+211")).await;
    assert!(narrowed.contains(grandchild) && narrowed.contains(&children[211]), "{narrowed}");
    assert!(!narrowed.contains(&children[1]) && !narrowed.contains("Need a person"), "{narrowed}");
    let waiting = browser.page(&format!("/console/trees/{root}?of={}&status=waiting", children[0])).await;
    assert!(waiting.contains(&asking), "wherever it is in the tree: {waiting}");
}

#[tokio::test]
async fn the_inbox_can_be_narrowed_to_a_tree_and_stays_so() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let (one, question) = site.asked("ask").await;
    let (_, other) = site.asked("ask aloud").await;
    let path = format!("/console?root={one}");
    let page = browser.page(&path).await;
    assert!(page.contains(&question) && !page.contains(&other), "{page}");
    for part in [">ask</a>", "Of all trees", &format!("name=\"root\" value=\"{one}\"")] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let given = [("act", "say"), ("option", "red"), ("root", one.as_str())];
    let answered = browser.post(&format!("/console/q/{question}/answer"), &given).await;
    assert_eq!(answered.headers["location"], path, "{}", answered.text);
    let answered = browser.page(&format!("/console/answered?root={one}")).await;
    assert!(answered.contains(&question) && !answered.contains(&other), "{answered}");
    assert!(browser.page("/console").await.contains(&other));
}

#[tokio::test]
async fn trees_and_chats_are_found_behind_many_agents_that_have_changed_since() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let first = site.done("hello").await;
    let large = site.done("hello again").await;
    site.children_of(&large, 1300).await;
    for path in ["/console/trees", "/console/trees?status=succeeded", "/console/chats"] {
        let page = browser.page(path).await;
        for root in [&first, &large] {
            assert!(page.contains(&format!("/{root}\"")), "{path}, {root}: {page}");
        }
    }
}
