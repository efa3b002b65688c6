//! What the model decides about a message: its fields as the program reads them, and the schema that asks for them.

use entourage_types::{DocumentHead, fold_name};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::excerpt::DocumentExcerpt;

/// A decision of the model (S5-R043 to S5-R046). No field must be there: one that is absent, null, blank or of a form
/// that cannot be read counts as false or none (S5-R047).
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ActDecision {
    #[serde(deserialize_with = "flag")]
    pub(crate) should_edit: bool,
    #[serde(deserialize_with = "flag")]
    pub(crate) should_create: bool,
    #[serde(deserialize_with = "flag")]
    pub(crate) needs_clarification: bool,
    #[serde(deserialize_with = "flag")]
    pub(crate) pending_confirmation: bool,
    #[serde(deserialize_with = "flag")]
    pub(crate) needs_web_search: bool,
    #[serde(deserialize_with = "reference")]
    pub(crate) document_id: Option<Reference>,
    #[serde(deserialize_with = "text")]
    pub(crate) document_name: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) document_content: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) standing_instruction: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) search_query: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) intent_statement: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) reasoning: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) conversational_response: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) change_summary: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) content_summary: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) clarification_question: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) confirmation_prompt: Option<String>,
    /// The whole answer as the model gave it, with fields that the schema does not name: what `agent_decision` shows (S5-R048).
    #[serde(skip)]
    pub(crate) whole: Value,
}

impl ActDecision {
    /// Reads an answer. There is none that cannot be read.
    pub(crate) fn read(answer: Value) -> Self {
        let read = Self::deserialize(&answer).unwrap_or_default();
        Self { whole: answer, ..read }
    }

    /// What is to be changed, for the model that writes the new content: as exactly as it was said.
    pub(crate) fn change(&self) -> Option<&str> {
        self.change_summary.as_deref().or(self.intent_statement.as_deref())
    }

    /// The JSON schema of the answer (S5-R036). It names every field, requires none, and forbids no other: what is
    /// absent or added is no reason to ask again. It admits the forms in which weak models write a flag and an id.
    pub(crate) fn schema() -> Value {
        let field = |(name, form, description): &(&str, Form, &str)| {
            ((*name).to_owned(), json!({ "description": description, "type": form.types() }))
        };
        let properties: Map<String, Value> = FIELDS.iter().map(field).collect();
        json!({ "type": "object", "properties": properties, "additionalProperties": true })
    }
}

/// The form of a field.
enum Form {
    Flag,
    Reference,
    Text,
}

impl Form {
    /// What the schema admits. The first type is the one that is wanted.
    fn types(&self) -> Value {
        match self {
            Self::Flag => json!(["boolean", "string", "null"]),
            Self::Reference => json!(["integer", "string", "null"]),
            Self::Text => json!(["string", "null"]),
        }
    }
}

/// The fields, in the order in which the model is to think of them: what is meant first, then what is done about it.
const FIELDS: [(&str, Form, &str); 17] = [
    ("reasoning", Form::Text, "In one sentence: what the user wants, and which document it is about."),
    ("needs_clarification", Form::Flag, "true if you cannot tell what is meant, or which document."),
    (
        "clarification_question",
        Form::Text,
        "With needs_clarification: the one question that settles it. Name the documents to choose from.",
    ),
    (
        "pending_confirmation",
        Form::Flag,
        "true if the change would delete or replace much, and the user has not yet said yes to it.",
    ),
    (
        "confirmation_prompt",
        Form::Text,
        "With pending_confirmation: what you would change, what would be lost, and \"Should I proceed?\"",
    ),
    ("should_edit", Form::Flag, "true if a document that exists is to be changed now."),
    ("should_create", Form::Flag, "true if a new document is to be created now."),
    (
        "document_id",
        Form::Reference,
        "The id of the document to change or to talk about, as given in <documents>. Otherwise null.",
    ),
    ("document_name", Form::Text, "With should_create: a short name that no other document has."),
    (
        "document_content",
        Form::Text,
        "With should_create: the whole first text of the document, in Markdown.",
    ),
    (
        "standing_instruction",
        Form::Text,
        "With should_create: how the document is to be kept, if the user said so. Otherwise null.",
    ),
    ("needs_web_search", Form::Flag, "true if facts are needed that only the web has."),
    ("search_query", Form::Text, "With needs_web_search: a few words for a search engine."),
    (
        "intent_statement",
        Form::Text,
        "With should_create or should_edit: one sentence to the user, \"I'll create ...\" or \"I'll add ...\"",
    ),
    (
        "change_summary",
        Form::Text,
        "With should_edit: exactly what is to be changed, so that it can be done without this conversation.",
    ),
    (
        "content_summary",
        Form::Text,
        "With should_create: 3 to 5 sentences on what is in the document. With should_edit: what was added or \
         changed.",
    ),
    (
        "conversational_response",
        Form::Text,
        "If nothing is edited or created: the answer to the user. null if it needs what the web search finds.",
    ),
];

/// What the model calls a document by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reference {
    /// Its number.
    Number(u64),
    /// Anything else.
    Words(String),
}

impl Reference {
    /// Finds the document that is meant. Words are a name, if they are the name of a document: within a project that
    /// is as good as its id.
    pub(crate) fn resolve<'a>(&self, documents: &'a [DocumentExcerpt]) -> Option<&'a DocumentHead> {
        documents.iter().map(|document| &document.head).find(|head| match self {
            Self::Number(number) => head.number == *number,
            Self::Words(words) => fold_name(&head.name) == fold_name(words),
        })
    }
}

/// Reads a flag, also one in quotation marks.
fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Bool(flag) => flag,
        Value::String(word) => ["true", "yes"].iter().any(|yes| word.trim().eq_ignore_ascii_case(yes)),
        _ => false,
    })
}

/// Reads a text. Weak models write the word `null` where they mean that there is none.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => Some(text).filter(|text| !is_none(text)),
        _ => None,
    })
}

/// Reads an id: a number, also one in quotation marks.
fn reference<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Reference>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Number(number) => Some(match number.as_u64().or_else(|| whole_number(number.as_f64()?)) {
            Some(number) => Reference::Number(number),
            None => Reference::Words(number.to_string()),
        }),
        Value::String(word) if is_none(&word) => None,
        Value::String(word) => {
            let word = word.trim();
            let number = word.strip_prefix('#').unwrap_or(word).parse();
            Some(number.map_or_else(|_| Reference::Words(word.to_owned()), Reference::Number))
        }
        _ => None,
    })
}

/// An id that was written with a decimal point: numbers in that range are exact.
fn whole_number(number: f64) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole and in range")]
    (number.fract() == 0.0 && (0.0..EXACT).contains(&number)).then_some(number as u64)
}

/// Whether a text says nothing.
fn is_none(text: &str) -> bool {
    matches!(text.trim(), "" | "null" | "Null" | "NULL" | "None")
}

#[cfg(test)]
mod tests {
    use entourage_tools::TextSchema;

    use super::{super::tests::document, *};

    /// Shows: S5-R043, S5-R044, S5-R045, S5-R046, S5-R036.
    #[test]
    fn every_field_of_the_schema_is_read() {
        let schema = ActDecision::schema();
        let properties = schema["properties"].as_object().unwrap();
        for (name, property) in properties {
            let value = match property["type"][0].as_str().unwrap() {
                "boolean" => json!(true),
                "integer" => json!(7),
                _ => json!("words"),
            };
            let read = ActDecision::read(json!({ name: value }));
            let nothing = ActDecision { whole: read.whole.clone(), ..ActDecision::default() };
            assert_ne!(read, nothing, "{name}");
            assert!(property["description"].as_str().unwrap().len() > 20, "{name}");
        }
        assert_eq!(properties.len(), 17);
        assert!(schema.get("required").is_none());
    }

    /// Shows: S5-R047.
    #[test]
    fn what_is_absent_null_or_unreadable_is_false_or_none() {
        let nulls = ActDecision::schema()["properties"].as_object().unwrap().clone();
        let with = |value: &Value| nulls.keys().map(|name| (name.clone(), value.clone())).collect();
        for answer in [
            json!({}),
            Value::Object(with(&Value::Null)),
            Value::Object(with(&json!([1]))),
            Value::Object(with(&json!(" "))),
            Value::Object(with(&json!("null"))),
            json!("no object"),
        ] {
            let read = ActDecision::read(answer.clone());
            assert_eq!(read, ActDecision { whole: answer, ..ActDecision::default() });
        }
    }

    /// Shows: S5-R048.
    #[test]
    fn unknown_fields_are_kept_and_not_refused() {
        let answer = json!({ "should_edit": false, "mood": { "of": ["the", "model"] }, "confidence": 0.5 });
        assert_eq!(TextSchema::new(&ActDecision::schema()).unwrap().mistakes(&answer.to_string()), None);
        assert_eq!(ActDecision::read(answer.clone()).whole, answer);
    }

    #[test]
    fn what_is_to_be_changed_is_told_as_exactly_as_it_was_said() {
        for (answer, change) in [
            (json!({ "change_summary": "Add milk.", "intent_statement": "I'll add it." }), Some("Add milk.")),
            (json!({ "change_summary": "", "intent_statement": "I'll add it." }), Some("I'll add it.")),
            (json!({}), None),
        ] {
            assert_eq!(ActDecision::read(answer).change(), change);
        }
    }

    #[test]
    fn a_flag_may_be_a_word() {
        let schema = TextSchema::new(&ActDecision::schema()).unwrap();
        for (flag, is_set) in [
            (json!(true), true),
            (json!("true"), true),
            (json!(" True "), true),
            (json!("yes"), true),
            (json!(false), false),
            (json!("false"), false),
            (json!("no"), false),
            (json!("perhaps"), false),
            (json!(null), false),
        ] {
            let answer = json!({ "should_edit": flag });
            assert_eq!(schema.mistakes(&answer.to_string()), None, "{flag}");
            assert_eq!(ActDecision::read(answer).should_edit, is_set, "{flag}");
        }
    }

    /// Shows: S5-R044.
    #[test]
    fn an_id_may_be_a_number_or_a_word() {
        let schema = TextSchema::new(&ActDecision::schema()).unwrap();
        let documents = [document(1, "Recipes"), document(12, "Travel Guide"), document(13, "12")];
        for (id, found) in [
            (json!(12), Some(12)),
            (json!(12.0), Some(12)),
            (json!("12"), Some(12)),
            (json!(" #12 "), Some(12)),
            (json!("travel  guide"), Some(12)),
            (json!(3), None),
            (json!(0), None),
            (json!("Travel"), None),
            (json!("18446744073709551616"), None),
        ] {
            let answer = json!({ "document_id": id });
            assert_eq!(schema.mistakes(&answer.to_string()), None, "{id}");
            let reference = ActDecision::read(answer).document_id.unwrap();
            assert_eq!(reference.resolve(&documents).map(|found| found.number), found, "{id}");
        }
        for id in [json!(-1), json!(1.5), json!(1e300)] {
            let reference = ActDecision::read(json!({ "document_id": id })).document_id.unwrap();
            assert_eq!(reference, Reference::Words(id.to_string()));
            assert_eq!(reference.resolve(&documents), None);
        }
    }
}
