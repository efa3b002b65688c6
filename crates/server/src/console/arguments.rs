//! The arguments of a call as a form, where they are words, numbers and choices; as JSON otherwise.

use std::collections::{HashMap, HashSet};

use entourage_api::Proposal;
use serde_json::{Map, Value};

use super::{
    choices::{LEFT_OUT, are_distinct, is_plain_line, reading},
    exact,
    place::Place,
};
use crate::Problem;

/// With what the name of an argument's field begins.
pub(super) const PREFIX: &str = "argument.";
/// The most arguments that a form has.
const MOST: usize = 40;
/// The most elements that a form adds to a page of its question alone, and to one with many others.
const ALONE: usize = 1_000;
const BESIDE: usize = 40;
/// The elements of a field without its choices.
const OF_FIELD: usize = 4;

/// An argument in a form.
#[derive(Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    /// What the tool says about it.
    pub(super) description: String,
    pub(super) sort: Sort,
    /// Its value as the field shows it.
    pub(super) value: String,
    /// Whether it may be left out, and is if the field is empty.
    is_optional: bool,
    /// Its value in the call.
    given: Option<Value>,
}

/// What an argument is.
#[derive(Debug, PartialEq)]
pub(super) enum Sort {
    Text,
    Integer,
    Number,
    /// One of these, which the field shows as JSON.
    Choice(Vec<String>),
}

impl Sort {
    fn choices(&self) -> &[String] {
        match self {
            Self::Choice(values) => values,
            Self::Text | Self::Integer | Self::Number => &[],
        }
    }
}

impl Field {
    /// The values that can be chosen, with what people read; nothing stands for none.
    pub(super) fn choices(&self) -> Vec<(String, String)> {
        // A browser would choose the first.
        let none = self.given.is_none().then(|| (String::new(), LEFT_OUT.to_owned()));
        let values = self.sort.choices().iter();
        none.into_iter().chain(values.map(|value| (value.clone(), reading(value)))).collect()
    }

    /// What the field says; nothing if the argument is left out.
    fn read(&self, text: &str) -> Result<Option<Value>, Problem> {
        let wrong = |what: &str| Problem::bad_body(format!("the argument `{}` must be {what}", self.name));
        let text = text.replace("\r\n", "\n");
        // What nobody has changed is what it was.
        if text == self.value {
            return Ok(self.given.clone());
        }
        if text.trim().is_empty() && self.is_optional && !(self.given.is_some() && self.sort == Sort::Text) {
            return Ok(None);
        }
        if let Some(char) = exact::unseen(&text) {
            return Err(Problem::bad_body(format!(
                "the argument `{}` has a character that cannot be seen, U+{:04X}: leave it out, or write it as an escape \
                 in JSON",
                self.name,
                u32::from(char)
            )));
        }
        Ok(Some(match &self.sort {
            Sort::Text => Value::String(text),
            Sort::Integer | Sort::Number => {
                let number = exact::number(text.trim()).unwrap_or_else(|| Err(wrong("a number")))?;
                if self.sort == Sort::Integer && !number.is_i64() && !number.is_u64() {
                    return Err(wrong("a whole number"));
                }
                Value::Number(number)
            }
            Sort::Choice(values) => match values.iter().find(|value| **value == text) {
                Some(value) => {
                    serde_json::from_str(value).map_err(|_| wrong("one of those to choose from"))?
                }
                None => return Err(wrong("one of those to choose from")),
            },
        }))
    }
}

/// The fields of a call's arguments where its question stands, in the order of its schema; none where a form cannot show
/// all of it as it is, or would fill the page.
pub(super) fn fields(proposal: &Proposal, place: &Place) -> Option<Vec<Field>> {
    let fields = all_fields(proposal)?;
    let elements: usize = fields.iter().map(|field| OF_FIELD + field.sort.choices().len()).sum();
    (elements <= if place.is_single() { ALONE } else { BESIDE }).then_some(fields)
}

fn all_fields(proposal: &Proposal) -> Option<Vec<Field>> {
    let schema = proposal.parameters.as_object()?;
    let properties = schema.get("properties")?.as_object()?;
    let given = proposal.arguments.as_object()?;
    let is_known = given.keys().all(|name| properties.contains_key(name));
    // The name of a field is sent as it is read.
    let are_plain = properties.keys().all(|name| is_plain_line(name));
    let is_small = !properties.is_empty() && properties.len() <= MOST;
    if schema.get("type")? != "object" || !is_small || !is_known || !are_plain {
        return None;
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    properties
        .iter()
        .map(|(name, property)| {
            field(name, property.as_object()?, given.get(name), required.contains(&&**name))
        })
        .collect()
}

fn field(name: &str, property: &Map<String, Value>, given: Option<&Value>, required: bool) -> Option<Field> {
    let sort = match (property.get("enum"), property.get("type").and_then(Value::as_str)) {
        (Some(values), _) => {
            let values = values.as_array()?;
            let is_plain = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
            let choices: Vec<String> = values.iter().map(Value::to_string).collect();
            (values.iter().all(is_plain) && are_distinct(&choices)).then_some(Sort::Choice(choices))?
        }
        (None, Some("string")) => Sort::Text,
        (None, Some("integer")) => Sort::Integer,
        (None, Some("number")) => Sort::Number,
        (None, Some("boolean")) => Sort::Choice(vec!["true".to_owned(), "false".to_owned()]),
        _ => return None,
    };
    let value = match (&sort, given) {
        (_, None) => String::new(),
        // In a field nobody sees what shows nothing, and its end of a line is one of few.
        (Sort::Text, Some(Value::String(text))) if is_plain(text) => text.clone(),
        (Sort::Integer | Sort::Number, Some(Value::Number(number))) => number.to_string(),
        (Sort::Choice(values), Some(value)) if values.contains(&value.to_string()) => value.to_string(),
        _ => return None,
    };
    let description = property.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (is_optional, given) = (!required, given.cloned());
    Some(Field { name: name.to_owned(), description, sort, value, is_optional, given })
}

fn is_plain(text: &str) -> bool {
    !text.contains('\r') && exact::unseen(text).is_none()
}

/// The arguments as the fields of a form say them.
pub(super) fn read(proposal: &Proposal, given: &HashMap<String, String>) -> Result<Value, Problem> {
    let fields = fields(proposal, &Place::Alone)
        .ok_or_else(|| Problem::bad_body("the arguments cannot be edited in a form: edit them as JSON"))?;
    let known: HashSet<String> = fields.iter().map(|field| format!("{PREFIX}{}", field.name)).collect();
    if given.keys().any(|name| name.starts_with(PREFIX) && !known.contains(name)) {
        return Err(Problem::bad_body("the call takes other arguments than the form has: reload the page"));
    }
    let mut arguments = Map::new();
    for field in fields {
        let text = given.get(&format!("{PREFIX}{}", field.name)).ok_or_else(|| {
            Problem::bad_body(format!("the form has not sent the argument `{}`: reload the page", field.name))
        })?;
        if let Some(value) = field.read(text)? {
            arguments.insert(field.name, value);
        }
    }
    Ok(Value::Object(arguments))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn proposal(parameters: Value, arguments: Value) -> Proposal {
        let (digest, kind_version) = (String::new(), String::new());
        Proposal { tool: "book".into(), arguments, parameters, digest, kind_version, rule: None }
    }

    fn booking(arguments: Value) -> Proposal {
        let parameters = json!({
            "type": "object",
            "properties": {
                "hotel": {"type": "string", "description": "Which one."},
                "nights": {"type": "integer"},
                "price": {"type": "number"},
                "breakfast": {"type": "boolean"},
                "class": {"enum": ["first", "second", 3]},
            },
            "required": ["hotel", "nights"],
        });
        proposal(parameters, arguments)
    }

    fn form(call: &Proposal) -> Option<Vec<Field>> {
        fields(call, &Place::Alone)
    }

    fn sent(fields: &[(&str, &str)]) -> HashMap<String, String> {
        fields.iter().map(|(name, value)| (format!("{PREFIX}{name}"), (*value).to_owned())).collect()
    }

    #[test]
    fn what_a_form_says_becomes_arguments_of_the_same_types() {
        let call = booking(json!({"hotel": "Forum", "nights": 2, "class": "first"}));
        let shown = form(&call).unwrap();
        let values: HashMap<&str, &str> =
            shown.iter().map(|field| (field.name.as_str(), field.value.as_str())).collect();
        assert_eq!(values["hotel"], "Forum");
        assert_eq!((values["nights"], values["price"], values["class"]), ("2", "", "\"first\""));
        for (given, arguments) in [
            (
                &[
                    ("hotel", "Forum"),
                    ("nights", "2"),
                    ("price", ""),
                    ("breakfast", ""),
                    ("class", "\"first\""),
                ][..],
                json!({"hotel": "Forum", "nights": 2, "class": "first"}),
            ),
            (
                &[
                    ("hotel", "a\r\nb"),
                    ("nights", " 3 "),
                    ("price", "12.50"),
                    ("breakfast", "false"),
                    ("class", "3"),
                ],
                json!({"hotel": "a\nb", "nights": 3, "price": 12.5, "breakfast": false, "class": 3}),
            ),
            (
                &[("hotel", ""), ("nights", "1"), ("price", ""), ("breakfast", ""), ("class", "\"second\"")],
                json!({"hotel": "", "nights": 1, "class": "second"}),
            ),
        ] {
            assert_eq!(read(&call, &sent(given)).unwrap(), arguments);
        }
        for (name, text, word) in [
            ("nights", "two", "`nights` must be a number"),
            ("nights", "1.5", "`nights` must be a whole number"),
            ("nights", "2.0", "`nights` must be a whole number"),
            ("nights", "", "`nights` must be a number"),
            ("nights", "18446744073709551616", "would become"),
            ("class", "\"third\"", "`class` must be one of"),
            ("price", "much", "`price` must be a number"),
            ("price", "0.30000000000000000001", "would become 0.3"),
            ("price", "1e400", "`price` must be a number"),
            ("hotel", "For\u{200b}um", "cannot be seen, U+200B"),
            ("hotel", "Forum\r", "cannot be seen, U+000D"),
        ] {
            let mut form = unchanged(&call);
            form.insert(format!("{PREFIX}{name}"), text.to_owned());
            let refused = read(&call, &form).unwrap_err().document.detail;
            assert!(refused.contains(word), "{name} {text}: {refused}");
        }
    }

    /// What a browser sends of a form in which nothing was changed.
    fn unchanged(call: &Proposal) -> HashMap<String, String> {
        let shown = form(call).unwrap();
        shown
            .into_iter()
            .map(|field| (format!("{PREFIX}{}", field.name), field.value.replace('\n', "\r\n")))
            .collect()
    }

    #[test]
    fn a_form_that_nobody_has_changed_says_what_the_call_said() {
        for arguments in [
            json!({"hotel": "Forum", "nights": 2.0, "price": 1e23, "breakfast": true, "class": 3}),
            json!({"hotel": " \n", "nights": 2}),
            json!({"hotel": "", "nights": 9_007_199_254_740_993_u64, "price": -0.0}),
            // The tool may miss something, but nobody has added it.
            json!({"nights": 2}),
            json!({}),
        ] {
            let call = booking(arguments.clone());
            assert_eq!(read(&call, &unchanged(&call)).unwrap(), arguments);
        }
    }

    #[test]
    fn a_field_that_does_not_come_back_is_missed() {
        let call = booking(json!({"hotel": "Forum", "nights": 2}));
        for name in ["hotel", "nights", "price", "class"] {
            let mut form = unchanged(&call);
            form.remove(&format!("{PREFIX}{name}"));
            let refused = read(&call, &form).unwrap_err().document.detail;
            assert!(refused.contains(&format!("has not sent the argument `{name}`")), "{refused}");
        }
        let mut form = unchanged(&call);
        form.insert(format!("{PREFIX}stars"), "5".to_owned());
        assert!(read(&call, &form).unwrap_err().document.detail.contains("other arguments"));
    }

    #[test]
    fn choices_that_look_alike_and_names_that_do_not_come_back_have_no_form() {
        for (values, is_form) in [(json!(["yes", "no"]), true), (json!(["1", 1]), false), (json!([]), false)]
        {
            let parameters = json!({"type": "object", "properties": {"a": {"enum": values}}});
            assert_eq!(form(&proposal(parameters, json!({}))).is_some(), is_form);
        }
        for name in ["a\rb", "a\nb", "a\tb", "", " a", "a\u{200b}", "\u{202e}a", "a\u{0}"] {
            let parameters = json!({"type": "object", "properties": {name: {"type": "string"}}});
            assert_eq!(form(&proposal(parameters, json!({}))), None, "{name:?}");
        }
        let parameters = json!({"type": "object", "properties": {"__proto__": {"type": "string"}}});
        assert!(form(&proposal(parameters, json!({}))).is_some());
    }

    #[test]
    fn a_form_that_would_fill_the_page_is_none() {
        for (arguments, choices, alone, beside) in
            [(1, 30, true, true), (9, 1, true, false), (1, 200, true, false), (1, 2_000, false, false)]
        {
            let values: Vec<String> = (0..choices).map(|number| format!("place {number}")).collect();
            let properties: Map<String, Value> =
                (0..arguments).map(|number| (format!("a{number}"), json!({"enum": values}))).collect();
            let call = proposal(json!({"type": "object", "properties": properties}), json!({}));
            assert_eq!(form(&call).is_some(), alone, "{arguments} with {choices}");
            assert_eq!(fields(&call, &Place::Inbox(None)).is_some(), beside, "{arguments} with {choices}");
        }
    }

    #[test]
    fn what_a_form_cannot_show_as_it_is_has_none() {
        assert!(form(&booking(json!({"hotel": "Forum"}))).is_some());
        for arguments in [
            json!({"hotel": 1}),
            json!({"hotel": "Forum\u{202e}"}),
            json!({"hotel": "one\r\ntwo"}),
            json!({"nights": "2"}),
            json!({"class": "third"}),
            json!({"hotel": null}),
            json!({"stars": 5}),
            json!(["Forum"]),
        ] {
            assert_eq!(form(&booking(arguments.clone())), None, "{arguments}");
        }
        for parameters in [
            json!({}),
            json!({"type": "object", "properties": {}}),
            json!({"type": "object", "properties": {"a": {"type": "array"}}}),
            json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}),
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}),
            json!({"type": "object", "properties": {"a": {"enum": [{"b": 1}]}}}),
            json!({"type": "array", "properties": {"a": {"type": "string"}}}),
        ] {
            assert_eq!(form(&proposal(parameters.clone(), json!({}))), None, "{parameters}");
        }
    }
}
