//! What is to be done about a message, from what the model decided.

use entourage_types::DocumentId;

use super::{decision::ActDecision, excerpt::DocumentExcerpt, naming};

/// The question if the model wants to ask one and gives none (S5-R083).
const QUESTION: &str = "Could you tell me more about what you would like me to do?";
/// The prompt if the model wants a confirmation and says of what in no words (S5-R083).
const PROMPT: &str = "I'd like to make this change to your documents. Should I proceed?";

/// What is to be done: one thing, whatever flags the decision has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Intent {
    /// Ask the user what they mean. Nothing else is done (S5-R084).
    Clarify {
        /// The question.
        question: String,
    },
    /// Ask the user whether to go on. Nothing else is done (S5-R084).
    Confirm {
        /// What the user is asked to confirm.
        prompt: String,
    },
    /// Create a document.
    Create {
        /// Its name.
        name: String,
        /// Its standing instruction; may be empty (S5-R075).
        standing_instruction: String,
        /// Its first content, to which what a search finds is [added](with_results); may be empty.
        content: String,
        /// What to search the web for before that.
        search: Option<String>,
    },
    /// Change the content of a document.
    Edit {
        /// The document.
        document: DocumentId,
        /// What to search the web for before that.
        search: Option<String>,
    },
    /// Answer, and change nothing.
    Converse {
        /// The answer (S5-R095); none if the model is to be asked for one (S5-R096).
        response: Option<String>,
        /// What to search the web for before that.
        search: Option<String>,
    },
}

impl Intent {
    /// Returns what a decision about this message comes to in a project with these documents.
    ///
    /// The first flag counts of: clarification, confirmation, creation, edit (S5-R098). With both of the last two, it is
    /// an edit if the decision names a document that exists (S5-R080). An edit of a document that does not exist becomes a
    /// question (S5-R063): so does one of another project, which is not among these (S5-R059).
    pub(crate) fn of(decision: &ActDecision, message: &str, documents: &[DocumentExcerpt]) -> Self {
        let found = decision.document_id.as_ref().and_then(|id| id.resolve(documents));
        if decision.needs_clarification {
            return Self::Clarify {
                question: or_default(decision.clarification_question.as_deref(), QUESTION),
            };
        }
        if decision.pending_confirmation {
            return Self::Confirm { prompt: or_default(decision.confirmation_prompt.as_deref(), PROMPT) };
        }
        let search = search(decision);
        match (decision.should_create, decision.should_edit, found) {
            (true, false, _) | (true, true, None) => Self::Create {
                name: naming::name_for(decision, message, documents),
                standing_instruction: decision.standing_instruction.clone().unwrap_or_default(),
                content: decision.document_content.clone().unwrap_or_default(),
                search,
            },
            (_, true, Some(document)) => Self::Edit { document: document.id, search },
            (false, true, None) => Self::Clarify { question: which_document(documents) },
            (false, false, _) => {
                Self::Converse { response: decision.conversational_response.clone(), search }
            }
        }
    }

    /// Returns what is to be searched for first, once (S5-R053, S5-R054). A question to the user searches for nothing
    /// (S5-R056).
    pub(crate) fn search(&self) -> Option<&str> {
        match self {
            Self::Clarify { .. } | Self::Confirm { .. } => None,
            Self::Create { search, .. } | Self::Edit { search, .. } | Self::Converse { search, .. } => {
                search.as_deref()
            }
        }
    }
}

/// What a decision wants searched for, on one line: a flag without a query searches for nothing (S5-R050, S5-R051).
fn search(decision: &ActDecision) -> Option<String> {
    let query = decision.search_query.as_deref().filter(|_| decision.needs_web_search)?;
    Some(query.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn or_default(text: Option<&str>, default: &str) -> String {
    text.map_or(default, str::trim).to_owned()
}

/// The question which document is meant, with the names of all there are (S5-R063).
pub(crate) fn which_document(documents: &[DocumentExcerpt]) -> String {
    if documents.is_empty() {
        return "I couldn't find that document: there are none in this project yet. Should I create one?"
            .to_owned();
    }
    let names: Vec<String> =
        documents.iter().map(|document| naming::on_one_line(&document.head.name)).collect();
    format!(
        "I couldn't find that document in this project. Which document should I change?\nYou have: {}",
        names.join(", ")
    )
}

/// Adds what a search found to the first content of a document, after a blank line (S5-R074).
pub(crate) fn with_results(content: &str, results: Option<&str>) -> String {
    match (content.trim_end(), results.map(str::trim).filter(|results| !results.is_empty())) {
        (_, None) => content.to_owned(),
        ("", Some(results)) => results.to_owned(),
        (content, Some(results)) => format!("{content}\n\n{results}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::tests::document, *};

    fn intent(answer: serde_json::Value, documents: &[DocumentExcerpt]) -> Intent {
        Intent::of(&ActDecision::read(answer), "Add my favorite recipes", documents)
    }

    fn clarify(question: &str) -> Intent {
        Intent::Clarify { question: question.to_owned() }
    }

    fn create(name: &str) -> Intent {
        let (standing_instruction, content) = (String::new(), String::new());
        Intent::Create { name: name.to_owned(), standing_instruction, content, search: None }
    }

    /// Shows: S5-R057, S5-R066, S5-R080, S5-R081, S5-R082, S5-R083, S5-R084, S5-R095, S5-R096, S5-R098.
    #[test]
    fn one_thing_is_done_whatever_flags_are_set() {
        let documents = [document(4, "Recipes"), document(9, "Budget")];
        let edit = || Intent::Edit { document: documents[1].head.id, search: None };
        let converse =
            |response: Option<&str>| Intent::Converse { response: response.map(str::to_owned), search: None };
        let all = json!({
            "needs_clarification": true, "pending_confirmation": true, "should_create": true, "should_edit": true,
            "document_id": 9, "document_name": "Trip", "clarification_question": " Which one? ",
            "confirmation_prompt": "Should I proceed?", "conversational_response": "Hello.",
            "needs_web_search": true, "search_query": "trips",
        });
        let without = |flags: &[&str]| {
            let mut answer = all.clone();
            for flag in flags {
                answer[flag] = json!(null);
            }
            answer
        };
        let no_search = ["search_query"];
        for (answer, wanted) in [
            (all.clone(), clarify("Which one?")),
            (without(&["clarification_question"]), clarify(QUESTION)),
            (without(&["needs_clarification"]), Intent::Confirm { prompt: "Should I proceed?".into() }),
            (
                without(&["needs_clarification", "confirmation_prompt"]),
                Intent::Confirm { prompt: PROMPT.into() },
            ),
            (without(&["needs_clarification", "pending_confirmation", no_search[0]]), edit()),
            (
                without(&["needs_clarification", "pending_confirmation", "document_id", no_search[0]]),
                create("Trip"),
            ),
            (
                without(&["needs_clarification", "pending_confirmation", "should_edit", no_search[0]]),
                create("Trip"),
            ),
            (json!({ "should_edit": true, "document_id": "9" }), edit()),
            (
                json!({ "should_edit": true, "should_create": true, "document_id": 1, "document_name": "T" }),
                create("T"),
            ),
            (json!({ "conversational_response": "Hello.", "document_id": 9 }), converse(Some("Hello."))),
            (json!({}), converse(None)),
        ] {
            assert_eq!(intent(answer.clone(), &documents), wanted, "{answer}");
        }
    }

    /// Shows: S5-R059, S5-R063.
    #[test]
    fn an_edit_of_no_document_of_the_project_asks_which_one_is_meant() {
        let documents = [document(1, "Recipes"), document(2, "Travel\nGuide"), document(3, "Budget")];
        let question = "I couldn't find that document in this project. Which document should I change?\n\
                        You have: Recipes, Travel Guide, Budget";
        for id in [json!(99), json!("Diary"), json!(-1), json!(null), json!("")] {
            let answer = json!({ "should_edit": true, "document_id": id, "needs_web_search": true, "search_query": "a" });
            let asked = intent(answer, &documents);
            assert_eq!(asked, clarify(question), "{id}");
            assert_eq!(asked.search(), None);
        }
        let Intent::Clarify { question } = intent(json!({ "should_edit": true, "document_id": 1 }), &[])
        else {
            panic!("there is nothing to edit");
        };
        assert!(question.contains("there are none in this project yet"), "{question}");
    }

    /// Shows: S5-R050, S5-R051, S5-R054, S5-R056, S5-R084.
    #[test]
    fn a_search_needs_the_flag_a_query_and_something_that_uses_it() {
        let documents = [document(1, "Recipes")];
        let wants = |what: &str, needed: bool, query: Option<&str>| {
            let answer = json!({
                what: true, "document_id": 1, "document_name": "New", "needs_web_search": needed, "search_query": query,
            });
            intent(answer, &documents).search().map(str::to_owned)
        };
        for what in ["should_create", "should_edit", "nothing"] {
            assert_eq!(wants(what, true, Some(" rust\nnews ")).as_deref(), Some("rust news"), "{what}");
            assert_eq!(wants(what, false, Some("rust news")), None, "{what}");
            assert_eq!(wants(what, true, Some("  ")), None, "{what}");
            assert_eq!(wants(what, true, None), None, "{what}");
        }
        for what in ["needs_clarification", "pending_confirmation"] {
            assert_eq!(wants(what, true, Some("rust news")), None, "{what}");
        }
    }

    /// Shows: S5-R073, S5-R074, S5-R075.
    #[test]
    fn a_new_document_begins_with_the_content_of_the_decision_and_the_results() {
        let of = |answer| match intent(answer, &[]) {
            Intent::Create { standing_instruction, content, .. } => (standing_instruction, content),
            other => panic!("{other:?}"),
        };
        let given = json!({ "should_create": true, "document_content": "# A\n", "standing_instruction": "In French." });
        assert_eq!(of(given), ("In French.".to_owned(), "# A\n".to_owned()));
        assert_eq!(of(json!({ "should_create": true })), (String::new(), String::new()));
        for (content, results, whole) in [
            ("# A\n", Some("1. B"), "# A\n\n1. B"),
            ("# A", Some("1. B\n"), "# A\n\n1. B"),
            ("", Some("1. B"), "1. B"),
            (" \n", Some("1. B"), "1. B"),
            ("# A\n", Some("  "), "# A\n"),
            ("# A\n", None, "# A\n"),
            ("", None, ""),
        ] {
            assert_eq!(with_results(content, results), whole, "{content:?} and {results:?}");
        }
    }
}
