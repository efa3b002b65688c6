//! Tests of the prompts, each written out.

use entourage_types::{Owner, ProjectId, ProposedTarget, Time};

use super::*;
use crate::programs::act::tests::written;

pub(super) fn project_named(name: &str, description: &str) -> Project {
    let at = Time::from_micros(1);
    let (name, description) = (name.to_owned(), description.to_owned());
    Project {
        id: ProjectId::new(),
        owner: Owner::local(),
        number: 3,
        name,
        description,
        created: at,
        updated: at,
    }
}

/// What a decision reads of these documents.
pub(super) fn excerpts<const N: usize>(documents: [&Document; N]) -> [DocumentExcerpt; N] {
    documents.map(|document| DocumentExcerpt::of(document.clone()))
}

/// What follows the sentence about data.
fn after_data(prompt: &str) -> &str {
    prompt.strip_prefix(DATA).unwrap().trim_start()
}

/// Shows: S5-R023, S5-R024, S5-R029, S5-R030, S5-R031, S5-R049, S5-R128.
#[test]
fn a_decision_reads_the_message_the_project_and_all_documents() {
    let project = project_named("My \"Project\"", "Food & travel.\n");
    let (travel, recipes) = (
        written(7, "Travel Guide", "", ""),
        written(2, "Recipes", "In <b>French</b>.", "# Soup\n\n\"Water\" & salt.\n"),
    );
    let documents = excerpts([&travel, &recipes]);
    let around = Surroundings { project: &project, documents: &documents, open: Some(documents[0].head.id) };
    assert_eq!(
        after_data(&decision("Add <my> favorite recipes", around, None)),
        "\
<project id=\"3\" name=\"My &quot;Project&quot;\">
Food &amp; travel.
</project>

<documents count=\"2\">
<document id=\"2\" name=\"Recipes\" shown=\"whole\">
<standing_instruction>
In &lt;b&gt;French&lt;/b&gt;.
</standing_instruction>
<content>
# Soup

\"Water\" &amp; salt.
</content>
</document>
<document id=\"7\" name=\"Travel Guide\" shown=\"whole\">
<standing_instruction></standing_instruction>
<content></content>
</document>
</documents>

The currently open document is the one with id 7: the user sees it, and may mean it by \"this\" or \"here\". They may as well mean another one.

<user_message>
Add &lt;my&gt; favorite recipes
</user_message>

Decide what is to be done about the user's message."
    );
    let bare = Surroundings { documents: &[], open: Some(DocumentId::new()), ..around };
    let prompt = decision("Hello", bare, None);
    assert!(prompt.contains("<documents count=\"0\">\n</documents>\n\n<user_message>"), "{prompt}");
}

/// Shows: S5-R025, S5-R028.
#[test]
fn a_decision_reads_excerpts_and_a_rewrite_the_whole() {
    let content = format!("{}{}{}", "a".repeat(1_500), "m".repeat(300), "z".repeat(500));
    let project = project_named("P", "");
    let (long, short) = (written(1, "Long", "", &content), written(2, "Short", "", "Text."));
    let documents = excerpts([&long, &short]);
    let around = Surroundings { project: &project, documents: &documents, open: None };
    let cut = format!("{}\n[… 300 of 2300 characters left out …]\n{}", "a".repeat(1_500), "z".repeat(500));
    let shown = format!(
        "shown=\"in part\">\n<standing_instruction></standing_instruction>\n<content>\n{cut}\n</content>"
    );
    let decided = decision("Hello", around, None);
    assert!(decided.contains(&shown) && decided.contains("It is not lost"), "{decided}");
    assert!(rewrite("Hello", &long, None, WebResults::NotSearched, RewriteForm::Whole).contains(&content));
    let about_other = conversation("Hello", around, Some(&short), WebResults::NotSearched);
    assert!(about_other.contains(&shown), "{about_other}");
    let talked = conversation("Hello", around, Some(&long), WebResults::NotSearched);
    assert!(talked.contains(&content) && !talked.contains("It is not lost"), "{talked}");
}

#[test]
fn of_very_many_documents_those_most_likely_meant_are_shown() {
    let project = project_named("P", "");
    let written = |number| DocumentExcerpt::of(written(number, "D", "", &"x".repeat(2_000)));
    let mut documents: Vec<DocumentExcerpt> = (1..=100).map(written).collect();
    documents[41].head.updated = Time::from_micros(9);
    let around = Surroundings { project: &project, documents: &documents, open: Some(documents[98].head.id) };
    let prompt = decision("Hello", around, None);
    let is_shown = |number: u64, how: &str| {
        prompt.contains(&format!("<document id=\"{number}\" name=\"D\" shown=\"{how}\">"))
    };
    assert_eq!((1..=100).filter(|number| is_shown(*number, "whole")).count(), 60);
    assert_eq!((1..=100).filter(|number| is_shown(*number, "by name")).count(), 40);
    assert!(is_shown(42, "whole") && is_shown(99, "whole") && is_shown(100, "by name"));
    assert!(prompt.len() < 140_000 && prompt.contains("It is not lost"));
}

/// Shows: S5-R127.
#[test]
fn a_decision_reads_what_the_user_was_asked_to_confirm() {
    let project = project_named("P", "");
    let documents = excerpts([&written(2, "Budget", "", "Text.")]);
    let around = Surroundings { project: &project, documents: &documents, open: None };
    let id = documents[0].head.id;
    let target = |document, version| Some(ProposedTarget { document, version });
    for (target, opening, meaning) in [
        (target(id, 1), "document_state=\"unchanged\" document=\"2\"", "do not ask again"),
        (target(id, 2), "document_state=\"changed\" document=\"2\"", "ask again with pending_confirmation"),
        (target(DocumentId::new(), 1), "document_state=\"gone\"", "it cannot be done"),
        (None, "document_state=\"unchanged\"", "do not ask again"),
    ] {
        let prompt = "I'll remove <all>. Should I proceed?".to_owned();
        let proposal = ProposedChange { prompt, target, change: "Remove <all>.".to_owned() };
        let prompt = decision("Yes", around, Some(&proposal));
        let section = format!(
            "<pending_confirmation {opening}>\nI'll remove &lt;all&gt;. Should I proceed?\n\n\
             change_summary: Remove &lt;all&gt;.\n</pending_confirmation>\n\
             Your last message asked"
        );
        assert!(prompt.contains(&section) && prompt.contains(meaning), "{prompt}");
    }
}

/// Shows: S5-R060, S5-R053, S5-R055.
#[test]
fn a_rewrite_reads_the_request_the_document_and_what_the_web_says() {
    let document = written(2, "Recipes", "In French.", "# Soup\n");
    assert_eq!(
        after_data(&rewrite("Yes", &document, Some("Add milk."), WebResults::Found("1. [Milk](a)\n   <b>"), RewriteForm::Whole)),
        "\
<document id=\"2\" name=\"Recipes\">
<standing_instruction>
In French.
</standing_instruction>
<content>
# Soup
</content>
</document>

<web_results>
1. [Milk](a)
   &lt;b&gt;
</web_results>

<decided_change>
Add milk.
</decided_change>

<user_message>
Yes
</user_message>

Write the whole new content of the document. Keep to its standing instruction in how you write, and to the user's message in what."
    );
    let without = rewrite("Yes", &document, None, WebResults::NotSearched, RewriteForm::Whole);
    assert!(!without.contains("<web_results>") && !without.contains("web search"), "{without}");
    let failed = rewrite("Yes", &document, None, WebResults::Failed, RewriteForm::Whole);
    assert!(
        failed.contains("A web search was tried and failed.") && !failed.contains("<web_results>"),
        "{failed}"
    );
    let long = written(2, "Recipes", "", &"x".repeat(20_000));
    assert!(
        rewrite("Yes", &long, None, WebResults::NotSearched, RewriteForm::Edits)
            .contains("Write the changes to the content")
    );
}

/// Shows: S5-R096, S5-R097.
#[test]
fn a_conversation_reads_the_message_the_documents_and_what_the_web_says() {
    let project = project_named("P", "About.");
    let documents = excerpts([&written(2, "Recipes", "In French.", "# Soup\n")]);
    let around = Surroundings { project: &project, documents: &documents, open: None };
    assert_eq!(
        after_data(&conversation("What is in it?", around, None, WebResults::Found("1. Milk"))),
        "\
<project id=\"3\" name=\"P\">
About.
</project>

<documents count=\"1\">
<document id=\"2\" name=\"Recipes\" shown=\"whole\">
<standing_instruction>
In French.
</standing_instruction>
<content>
# Soup
</content>
</document>
</documents>

<web_results>
1. Milk
</web_results>

<user_message>
What is in it?
</user_message>

Answer the user's message."
    );
}
