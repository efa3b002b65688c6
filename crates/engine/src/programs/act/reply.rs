//! What the user reads of what an act came to, in Markdown.

use super::{
    naming::on_one_line,
    outcome::{CreationError, EditError, Outcome, Web},
};

/// What the user reads when no model gave an answer that could be used (S5-R120).
const APOLOGY: &str = "I'm sorry, I couldn't process your request: the language model gave no answer that I could use. \
                       Nothing was changed. Please try again.";

/// Returns what the user reads (S5-R081 to S5-R098).
pub(crate) fn reply(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Clarification(text) | Outcome::Confirmation(text) | Outcome::Conversation(text) => {
            text.trim().to_owned()
        }
        Outcome::Created { name, intent, summary, web } => paragraphs([
            Some(intent.as_deref().and_then(as_done).unwrap_or_else(|| created(name))),
            summary.as_deref().and_then(|summary| headed("Document Content Summary", summary)),
            note(*web, "_I performed a web search to gather initial content._"),
        ]),
        Outcome::Updated { name, intent, summary, web } => paragraphs([
            Some(intent.as_deref().and_then(paragraph).unwrap_or_else(|| updated(name))),
            summary.as_deref().and_then(|summary| headed("Content Summary", summary)),
            note(*web, "_I performed a web search to ensure accuracy._"),
        ]),
        Outcome::NotCreated(CreationError::NameTaken(name)) => name_taken(&on_one_line(name)),
        Outcome::NotCreated(CreationError::NoName) => not_created("The document name wasn't specified."),
        Outcome::NotCreated(CreationError::Refused(why)) => not_created(&sentence(why)),
        Outcome::NotUpdated { name, why } => not_updated(&on_one_line(name), why),
        Outcome::ModelFailed(_) => APOLOGY.to_owned(),
    }
}

/// The first sentence of a creation (S5-R085).
fn created(name: &str) -> String {
    format!("I've created the document '{}' in this project.", on_one_line(name))
}

/// The first sentence of a change without an intent statement.
fn updated(name: &str) -> String {
    format!("I've updated the document '{}'.", on_one_line(name))
}

/// Turns what the model said that it would create into what it has created (S5-R086); none if it said nothing of that
/// sort, so that no report of something done speaks of what will be.
fn as_done(intent: &str) -> Option<String> {
    const SAID: [&str; 3] = ["I'll create", "I’ll create", "I will create"];
    let intent = paragraph(intent)?;
    let done = SAID.iter().fold(intent.clone(), |intent, said| intent.replace(said, "I've created"));
    (done != intent).then_some(done)
}

/// A summary under its heading (S5-R087, S5-R093); none if it says nothing.
fn headed(heading: &str, summary: &str) -> Option<String> {
    Some(format!("**{heading}:**\n{}", paragraph(summary)?))
}

/// The note about the web (S5-R088, S5-R093).
fn note(web: Web, note: &str) -> Option<String> {
    (web == Web::Searched).then(|| note.to_owned())
}

/// What the user reads if the name is taken (S5-R090).
fn name_taken(name: &str) -> String {
    format!(
        "A document named '{name}' already exists in this project.\n\
         I can add this content to the existing document instead.\n\
         Would you like me to update '{name}' with the new content?\n\
         \n\
         Would you like me to:\n\
         1. Add this content to the existing document\n\
         2. Create a new document with a different name"
    )
}

/// What the user reads if a document was not created for this reason (S5-R091).
fn not_created(why: &str) -> String {
    format!(
        "I tried to create the document, but encountered an issue.\n\
         {why} Please try again with a clearer request,\n\
         like 'Create a document called Recipes'."
    )
}

/// What the user reads if a document was not changed for this reason (S5-R094).
fn not_updated(name: &str, why: &EditError) -> String {
    let why = match why {
        EditError::Gone => "It no longer exists in this project. Which document should I change instead?",
        EditError::Changed => "It was changed by somebody else in the meantime. Please try again.",
        EditError::Empty => {
            "The new text came back empty, so I left the document as it is. Please try again."
        }
        EditError::CutOff => {
            "The new text was cut off before its end, so I left the document as it is. Please ask for a smaller change."
        }
        EditError::Misplaced => {
            "I couldn't find the place for the change in its text, so I left the document as it is. Please tell me \
             which part you mean."
        }
        EditError::Same => "It says that already, so I left it as it is.",
        EditError::Refused(why) => &format!("{} Please try again with a clearer request.", sentence(why)),
    };
    format!("I tried to update the document '{name}', but encountered an issue.\n{why}")
}

/// Returns a reason as a sentence.
pub(super) fn sentence(why: &str) -> String {
    let why = on_one_line(why);
    let mut chars = why.chars();
    let mut sentence: String =
        chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default();
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}

/// Puts one blank line between paragraphs (S5-R089).
fn paragraphs<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

/// Returns a text of the model without blanks around it and with no more than one blank line in a row; none if it says
/// nothing.
fn paragraph(text: &str) -> Option<String> {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.trim().lines().map(str::trim_end) {
        if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
            lines.push(line);
        }
    }
    Some(lines.join("\n")).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use entourage_types::ActOutcome;

    use super::*;
    use crate::programs::act::decision::ActDecision;

    const SUMMARY: &str = "Sections for breakfast, lunch and dinner.";

    fn created(intent: Option<&str>, summary: Option<&str>, web: Web) -> String {
        let text = |text: Option<&str>| text.map(str::to_owned);
        reply(&Outcome::Created { name: "Recipes".into(), intent: text(intent), summary: text(summary), web })
    }

    fn updated(intent: Option<&str>, summary: Option<&str>, web: Web) -> String {
        let text = |text: Option<&str>| text.map(str::to_owned);
        reply(&Outcome::Updated { name: "Recipes".into(), intent: text(intent), summary: text(summary), web })
    }

    /// Shows: S5-R081, S5-R082, S5-R095.
    #[test]
    fn what_the_model_says_to_the_user_is_the_reply() {
        let text =
            "Which document should I add the dessert section to?\nYou have: Recipes, Travel Guide, Budget";
        let given = format!("\n{text}\n ");
        for outcome in [Outcome::Clarification, Outcome::Confirmation, Outcome::Conversation] {
            assert_eq!(reply(&outcome(given.clone())), text);
        }
    }

    /// Shows: S5-R085, S5-R087, S5-R088, S5-R089.
    #[test]
    fn a_creation_is_reported_with_what_is_in_the_document() {
        assert_eq!(
            created(None, None, Web::NotSearched),
            "I've created the document 'Recipes' in this project."
        );
        assert_eq!(
            created(None, Some(SUMMARY), Web::NotSearched),
            "\
I've created the document 'Recipes' in this project.

**Document Content Summary:**
Sections for breakfast, lunch and dinner."
        );
        assert_eq!(
            created(Some(" "), Some(SUMMARY), Web::Searched),
            "\
I've created the document 'Recipes' in this project.

**Document Content Summary:**
Sections for breakfast, lunch and dinner.

_I performed a web search to gather initial content._"
        );
        assert_eq!(
            created(None, Some("\n"), Web::Searched),
            "\
I've created the document 'Recipes' in this project.

_I performed a web search to gather initial content._"
        );
    }

    /// Shows: S5-R086, S5-R089.
    #[test]
    fn a_creation_is_reported_in_the_words_of_its_intent_as_done() {
        for (intent, first) in [
            ("I'll create a new document called 'Recipes'", "I've created a new document called 'Recipes'"),
            ("I’ll create 'Recipes' for you. ", "I've created 'Recipes' for you."),
            ("Sure! I will create 'Recipes'.", "Sure! I've created 'Recipes'."),
            ("I'm going to set up a document.", "I've created the document 'Recipes' in this project."),
            ("Recipes", "I've created the document 'Recipes' in this project."),
        ] {
            assert_eq!(
                created(Some(intent), Some("One.\r\n\r\n\r\n\n  \nTwo."), Web::Searched),
                format!(
                    "{first}\n\n**Document Content Summary:**\nOne.\n\nTwo.\n\n\
                     _I performed a web search to gather initial content._"
                )
            );
        }
    }

    /// Shows: S5-R093, S5-R089.
    #[test]
    fn a_change_is_reported_with_what_was_changed() {
        let intent = "I'll add your favorite recipes to the Recipes document.";
        assert_eq!(
            updated(Some(intent), Some(SUMMARY), Web::Searched),
            "\
I'll add your favorite recipes to the Recipes document.

**Content Summary:**
Sections for breakfast, lunch and dinner.

_I performed a web search to ensure accuracy._"
        );
        assert_eq!(
            updated(Some(intent), None, Web::NotSearched),
            "I'll add your favorite recipes to the Recipes document."
        );
        assert_eq!(
            updated(None, Some(SUMMARY), Web::NotSearched),
            "\
I've updated the document 'Recipes'.

**Content Summary:**
Sections for breakfast, lunch and dinner."
        );
    }

    /// Shows: S5-R085, S5-R086, S5-R093.
    #[test]
    fn a_report_is_in_the_words_of_the_decision() {
        let decision = |summary: Option<&str>| {
            ActDecision::read(json!({
                "intent_statement": "I'll create it.", "content_summary": summary, "change_summary": "Milk was added.",
            }))
        };
        let name = || "Recipes".to_owned();
        for (outcome, text) in [
            (
                Outcome::created(name(), &decision(Some(SUMMARY)), Web::NotSearched),
                "I've created it.\n\n**Document Content Summary:**\nSections for breakfast, lunch and dinner.",
            ),
            (Outcome::created(name(), &decision(None), Web::NotSearched), "I've created it."),
            (
                Outcome::updated(name(), &decision(Some(SUMMARY)), Web::NotSearched),
                "I'll create it.\n\n**Content Summary:**\nSections for breakfast, lunch and dinner.",
            ),
            (
                Outcome::updated(name(), &decision(None), Web::NotSearched),
                "I'll create it.\n\n**Content Summary:**\nMilk was added.",
            ),
        ] {
            assert_eq!(reply(&outcome), text);
        }
    }

    /// Shows: S5-R090, S5-R118.
    #[test]
    fn a_name_that_is_taken_is_offered_for_an_update() {
        assert_eq!(
            reply(&Outcome::NotCreated(CreationError::NameTaken("Recipes".into()))),
            "\
A document named 'Recipes' already exists in this project.
I can add this content to the existing document instead.
Would you like me to update 'Recipes' with the new content?

Would you like me to:
1. Add this content to the existing document
2. Create a new document with a different name"
        );
    }

    /// Shows: S5-R091, S5-R118, S5-R119.
    #[test]
    fn a_creation_that_failed_says_why_and_what_works() {
        assert_eq!(
            reply(&Outcome::NotCreated(CreationError::NoName)),
            "\
I tried to create the document, but encountered an issue.
The document name wasn't specified. Please try again with a clearer request,
like 'Create a document called Recipes'."
        );
        assert_eq!(
            reply(&Outcome::NotCreated(CreationError::Refused(
                "the name has more than 200\ncharacters".into()
            ))),
            "\
I tried to create the document, but encountered an issue.
The name has more than 200 characters. Please try again with a clearer request,
like 'Create a document called Recipes'."
        );
    }

    /// Shows: S5-R094, S5-R064.
    #[test]
    fn a_change_that_was_not_made_says_why() {
        for (why, text) in [
            (EditError::Gone, "It no longer exists in this project. Which document should I change instead?"),
            (EditError::Changed, "It was changed by somebody else in the meantime. Please try again."),
            (
                EditError::Empty,
                "The new text came back empty, so I left the document as it is. Please try again.",
            ),
            (
                EditError::CutOff,
                "The new text was cut off before its end, so I left the document as it is. Please ask for a smaller change.",
            ),
            (
                EditError::Misplaced,
                "I couldn't find the place for the change in its text, so I left the document as it is. Please tell me \
                 which part you mean.",
            ),
            (EditError::Same, "It says that already, so I left it as it is."),
            (
                EditError::Refused("the document is too long".into()),
                "The document is too long. Please try again with a clearer request.",
            ),
        ] {
            assert_eq!(
                reply(&Outcome::NotUpdated { name: "Recipes".into(), why }),
                format!("I tried to update the document 'Recipes', but encountered an issue.\n{text}")
            );
        }
    }

    /// Shows: S5-R121.
    #[test]
    fn a_failure_of_the_model_is_an_apology_without_its_cause() {
        assert_eq!(
            reply(&Outcome::ModelFailed("429 from api.example with key k".into())),
            "I'm sorry, I couldn't process your request: the language model gave no answer that I could use. Nothing was \
             changed. Please try again."
        );
    }

    /// Shows: S5-R092, S5-R094.
    #[test]
    fn only_a_success_is_reported_as_one() {
        let name = || "Recipes".to_owned();
        let succeeded = |web| {
            let (intent, summary) = (Some("I'll create it".to_owned()), Some("What is in it.".to_owned()));
            [
                Outcome::Created { name: name(), intent: intent.clone(), summary: summary.clone(), web },
                Outcome::Updated { name: name(), intent, summary, web },
            ]
        };
        for outcome in succeeded(Web::Searched).into_iter().chain(succeeded(Web::NotSearched)) {
            let kind = if matches!(outcome, Outcome::Updated { .. }) {
                ActOutcome::Updated
            } else {
                ActOutcome::Created
            };
            assert_eq!(outcome.kind(), kind);
        }
        let failed =
            [CreationError::NameTaken(name()), CreationError::NoName, CreationError::Refused("No.".into())]
                .map(Outcome::NotCreated);
        let not_updated = [EditError::Gone, EditError::Changed, EditError::Empty, EditError::Misplaced]
            .map(|why| Outcome::NotUpdated { name: name(), why });
        let asked = [Outcome::Clarification("Which?".into()), Outcome::Confirmation("Go on?".into())];
        let others = [Outcome::Conversation("Hello.".into()), Outcome::ModelFailed("why".into())];
        for outcome in failed.into_iter().chain(not_updated).chain(asked).chain(others) {
            let text = reply(&outcome);
            assert!(!matches!(outcome.kind(), ActOutcome::Created | ActOutcome::Updated), "{outcome:?}");
            for success in ["I've created", "I've updated", "Content Summary", "_I performed"] {
                assert!(!text.contains(success), "{text}");
            }
        }
    }
}
