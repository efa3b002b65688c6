//! The form of a decision, and its JSON among what weak models write around it.

use entourage_tools::TextSchema;
use entourage_types::check_nesting;
use serde_json::{Map, Value};

/// The form that an answer must have.
pub(super) enum Form {
    /// Any text.
    Text,
    /// An object.
    Object(ObjectForm),
}

pub(super) struct ObjectForm {
    schema: TextSchema,
    /// The fields that it may have, if it may have no others.
    fields: Option<Vec<String>>,
}

impl Form {
    pub(super) fn new(schema: &Value) -> entourage_tools::Result<Self> {
        if schema.is_null() { Ok(Self::Text) } else { ObjectForm::new(schema).map(Self::Object) }
    }

    /// # Errors
    /// What is wrong with the answer.
    pub(super) fn read(&self, text: &str) -> std::result::Result<Value, String> {
        match self {
            Self::Text => Ok(text.into()),
            Self::Object(form) => form.read(text).map(Value::Object),
        }
    }
}

impl ObjectForm {
    fn new(schema: &Value) -> entourage_tools::Result<Self> {
        let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        let named = || schema.get("properties").and_then(Value::as_object);
        let fields = named().filter(|_| is_closed).map(|named| named.keys().cloned().collect());
        Ok(Self { schema: TextSchema::new(schema)?, fields })
    }

    /// Returns the first JSON object of a text that has this form, whatever surrounds it: fences, words, other objects.
    ///
    /// # Errors
    /// What is wrong with the first object, or that there is none.
    fn read(&self, text: &str) -> std::result::Result<Map<String, Value>, String> {
        let mut first = None;
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            rest = &rest[start..];
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
            match values.next() {
                Some(Ok(object)) => {
                    rest = &rest[values.byte_offset()..];
                    match self.check(object) {
                        Ok(object) => return Ok(object),
                        Err(why) => drop(first.get_or_insert(why)),
                    }
                }
                Some(Err(error)) => {
                    first.get_or_insert_with(|| format!("its JSON is not whole: {error}"));
                    rest = &rest[1..];
                }
                None => break,
            }
        }
        Err(first.unwrap_or_else(|| "it has no JSON object".to_owned()))
    }

    /// Returns the object, without fields that the schema forbids: weak models add reasons of their own.
    fn check(&self, mut object: Map<String, Value>) -> std::result::Result<Map<String, Value>, String> {
        if let Some(fields) = &self.fields {
            object.retain(|name, _| fields.contains(name));
        }
        let object = Value::Object(object);
        check_nesting(&object).map_err(|error| format!("it is {error}"))?;
        match (self.schema.mistakes_of(&object), object) {
            (None, Value::Object(object)) => Ok(object),
            (mistakes, _) => Err(mistakes.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A form that leaves other fields open, or forbids them.
    fn form(others: bool) -> ObjectForm {
        ObjectForm::new(&json!({
            "type": "object", "properties": { "yes": { "type": "boolean" } }, "required": ["yes"],
            "additionalProperties": others,
        }))
        .unwrap()
    }

    #[test]
    fn a_decision_is_found_among_fences_words_and_other_objects() {
        for text in [
            r#"{"yes":true}"#,
            "```json\n{\"yes\":true}\n```",
            "Here {as asked} is the JSON: {\"yes\": true} I hope that {helps}.",
            r#"{"no": 1} {"yes": true}"#,
        ] {
            assert_eq!(
                form(true).read(text).unwrap(),
                *json!({ "yes": true }).as_object().unwrap(),
                "{text}"
            );
        }
        let [kept, dropped] =
            [true, false].map(|others| form(others).read(r#"{"yes":true,"why":{"a":[1]}}"#).unwrap());
        assert_eq!(kept["why"], json!({ "a": [1] }), "unknown fields are kept");
        assert_eq!(Value::Object(dropped), json!({ "yes": true }), "unless the schema forbids them");
    }

    #[test]
    fn an_answer_without_a_decision_says_what_is_wrong() {
        for (text, why) in [
            ("I cannot say.", "no JSON object"),
            (r#"{"yes": tr"#, "not whole"),
            (r#"{"yes": "maybe"}"#, "/yes"),
            ("[true]", "no JSON object"),
        ] {
            let problem = form(false).read(text).unwrap_err();
            assert!(problem.contains(why), "{text}: {problem}");
        }
    }
}
