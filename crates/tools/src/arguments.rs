//! Arguments: their schema from a Rust type, and their validation before each call.

use entourage_types::{NestedTooDeep, ToolSpec, check_nesting, check_values};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, Result, inline_refs::inlined};

/// Arguments are validated only if the schema's weight times their own is at most this.
const MOST_WORK: usize = 5_000_000;
/// Mistakes are reported one by one only if that product is at most this: each of them costs memory.
const MOST_EXPLAINED: usize = 200_000;
/// So many bytes of text weigh as much as one value.
const TEXT: usize = 256;
/// How often the matching of a pattern may backtrack.
const BACKTRACKS: usize = 100_000;

/// Returns the JSON schema of an argument type, with all definitions inlined: small models and some providers
/// do not follow references.
///
/// The schema rejects unknown arguments. It does not contain serde aliases: a tool that accepts one declares
/// it by [`Tool::renamed`](crate::Tool::renamed).
#[must_use]
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        object.insert("additionalProperties".into(), Value::Bool(false));
        object.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    schema
}

/// Returns a tool's specification for the model, with the schema of its argument type.
#[must_use]
pub fn spec_of<T: JsonSchema>(name: &str, description: impl Into<String>) -> ToolSpec {
    ToolSpec::new(name, description, schema_of::<T>())
}

/// A schema, possibly by a third party, compiled so that every validation ends.
#[derive(Debug)]
struct Compiled {
    validator: jsonschema::Validator,
    /// The cost of validating one value.
    weight: usize,
}

/// Why a value is rejected.
enum Mismatch {
    /// It was not validated: that would take too long.
    TooLarge,
    /// It is not valid, and finding out where would take too long.
    Somewhere,
    /// It is not valid, for these reasons.
    There(String),
}

impl Compiled {
    fn new(schema: &Value) -> Result<Self, String> {
        let inlined = inlined(schema).map_err(|why| format!("cannot be checked by: {why}"))?;
        let patterns = jsonschema::PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS);
        let validator = jsonschema::options()
            .with_pattern_options(patterns)
            .build(&inlined.schema)
            .map_err(|error| format!("is not valid: {}", placed(&error)))?;
        Ok(Self { validator, weight: inlined.weight })
    }

    fn check(&self, value: &Value) -> Result<(), Mismatch> {
        let work = self.weight.saturating_mul(weight(value));
        if work > MOST_WORK {
            return Err(Mismatch::TooLarge);
        }
        if self.validator.is_valid(value) {
            return Ok(());
        }
        if work > MOST_EXPLAINED {
            return Err(Mismatch::Somewhere);
        }
        let mistakes: Vec<String> =
            self.validator.iter_errors(value).take(8).map(|error| placed(&error)).collect();
        if mistakes.is_empty() { Ok(()) } else { Err(Mismatch::There(mistakes.join("; "))) }
    }
}

/// Formats a mistake with its location.
fn placed(error: &jsonschema::ValidationError<'_>) -> String {
    match error.instance_path().as_str() {
        "" => error.to_string(),
        place => format!("{place}: {error}"),
    }
}

/// A tool's schema, compiled once and applied before each call.
#[derive(Debug)]
pub struct ArgumentValidator {
    tool: String,
    compiled: Compiled,
}

impl ArgumentValidator {
    /// Compiles a tool's schema. A third party may have written it, so a schema with which even a few
    /// arguments would take too long to validate is refused.
    ///
    /// # Errors
    /// [`Error::Failed`] when the schema itself is not valid, or too large to validate anything.
    pub fn new(spec: &ToolSpec) -> Result<Self> {
        let compiled = Compiled::new(&spec.parameters)
            .map_err(|why| Error::Failed(format!("the schema of `{}` {why}", spec.name)))?;
        Ok(Self { tool: spec.name.clone(), compiled })
    }

    /// Checks arguments against the schema.
    ///
    /// # Errors
    /// [`Error::Arguments`] with the mistakes and their locations, or why they were not validated.
    pub fn check(&self, arguments: &Value) -> Result<()> {
        let invalid = |why: String| Err(Error::Arguments { tool: self.tool.clone(), why });
        if let Value::String(text) = arguments {
            return invalid(why_no_object(text));
        }
        match self.compiled.check(arguments) {
            Ok(()) => Ok(()),
            Err(Mismatch::TooLarge) => {
                invalid("they are too large to be checked. Do it in several calls".to_owned())
            }
            Err(Mismatch::Somewhere) => invalid(
                "they do not fit the schema, and are too large to say where. Do it in several calls"
                    .to_owned(),
            ),
            Err(Mismatch::There(mistakes)) => invalid(mistakes),
        }
    }
}

/// Returns why arguments that were kept as a text are no object that can be used.
fn why_no_object(text: &str) -> String {
    if let Err(error) = check_values(text) {
        return format!("they have {error}. Do it in several calls");
    }
    let what = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(object)) => match check_nesting(&Value::Object(object)) {
            Ok(()) => "a string that holds an object",
            Err(error) => return format!("they are {error}. Send a flatter object"),
        },
        Ok(Value::Array(_)) => "a list",
        Ok(Value::String(_)) => "a string",
        Ok(Value::Number(_)) => "a number",
        Ok(Value::Bool(_)) => "a boolean",
        Ok(Value::Null) => "null",
        // The only error of the parser without a category of its own.
        Err(error) if error.to_string().starts_with("recursion limit") => {
            return format!("they are {NestedTooDeep}. Send a flatter object");
        }
        Err(error) => return format!("they are not JSON ({error}). Send one JSON object"),
    };
    format!("they are {what}, not an object. Send one JSON object")
}

/// Returns the number of values in a value; a long text counts as several.
fn weight(value: &Value) -> usize {
    1 + match value {
        Value::String(text) => text.len() / TEXT,
        Value::Array(entries) => entries.iter().map(weight).sum(),
        Value::Object(fields) => fields.iter().map(|(name, field)| name.len() / TEXT + weight(field)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// The schema that a text must satisfy as JSON, compiled once and applied to each text, with the same limits
/// as for a tool's schema.
#[derive(Debug)]
pub struct TextSchema {
    compiled: Compiled,
}

impl TextSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`Error::Failed`] when it is not a schema, with the location, or too large to validate anything.
    pub fn new(schema: &Value) -> Result<Self> {
        let compiled = Compiled::new(schema).map_err(|why| Error::Failed(format!("the schema {why}")))?;
        Ok(Self { compiled })
    }

    /// Returns the mistakes of a text; none if it is JSON that satisfies the schema.
    #[must_use]
    pub fn mistakes(&self, text: &str) -> Option<String> {
        if let Err(error) = check_values(text) {
            return Some(format!("it has {error}; answer with less"));
        }
        let value = match serde_json::from_str::<Value>(text) {
            Ok(value) => value,
            Err(error) => {
                let advice = "answer with the JSON alone, with nothing around it";
                return Some(format!("it is not JSON ({error}); {advice}"));
            }
        };
        self.mistakes_of(&value)
    }

    /// Returns the mistakes of a value; none if it satisfies the schema.
    #[must_use]
    pub fn mistakes_of(&self, value: &Value) -> Option<String> {
        match self.compiled.check(value) {
            Ok(()) => None,
            Err(Mismatch::TooLarge) => Some("it is too large to be checked; answer with less".to_owned()),
            Err(Mismatch::Somewhere) => {
                Some("it does not fit the schema, and is too large to say where; answer with less".to_owned())
            }
            Err(Mismatch::There(mistakes)) => Some(mistakes),
        }
    }
}

/// Parses arguments into their Rust type.
///
/// # Errors
/// [`Error::Arguments`] when they do not have that type.
pub fn parse<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T> {
    serde_json::from_value(arguments)
        .map_err(|error| Error::Arguments { tool: tool.to_owned(), why: error.to_string() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checker(parameters: Value) -> ArgumentValidator {
        let spec = ToolSpec::new("t", "", parameters);
        ArgumentValidator::new(&spec).unwrap()
    }

    #[test]
    fn the_size_of_arguments_limits_how_they_are_checked() {
        let either = json!({ "anyOf": [{ "type": "number" }, { "type": "null" }] });
        let checker = checker(json!({ "properties": { "list": { "items": either } } }));
        let says = |list: Vec<Value>| match checker.check(&json!({ "list": list })) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        assert_eq!(says(vec![1.into(); 20_000]), "");
        let one_wrong = |others: usize| {
            let mut list = vec![1.into(); others];
            list.push("a".into());
            says(list)
        };
        assert!(one_wrong(10).contains("/list/10: "), "{}", one_wrong(10));
        assert!(one_wrong(30_000).contains("too large to say where"), "{}", one_wrong(30_000));
        assert!(says(vec![1.into(); 600_000]).contains("too large to be checked"));
        assert_eq!(weight(&"a".repeat(10 * TEXT).into()), 11);
    }

    #[test]
    fn arguments_that_are_no_object_are_refused_with_the_reason() {
        let checker = checker(json!({}));
        let says = |text: &str| checker.check(&text.into()).unwrap_err().to_string();
        let nested = |levels: usize| format!("{{\"a\": {}{}}}", "[".repeat(levels), "]".repeat(levels));
        for (text, why) in [
            ("[1, 2]", "they are a list, not an object. Send one JSON object"),
            ("null", "they are null, not an object"),
            ("\"a\"", "they are a string, not an object"),
            ("5", "they are a number, not an object"),
            ("true", "they are a boolean, not an object"),
            ("{\"a\"", "they are not JSON (EOF"),
            (&nested(100), "they are nested more than 64 levels deep. Send a flatter object"),
            (&nested(1000), "they are nested more than 64 levels deep. Send a flatter object"),
            (
                &format!("{{\"a\": [{}0]}}", "[],".repeat(200_000)),
                "they have more than 100000 values. Do it in",
            ),
        ] {
            assert!(says(text).contains(why), "{}", says(text));
        }
    }

    #[test]
    fn an_answer_is_checked_within_the_same_limits_as_arguments() {
        let twice = |n: usize| json!({ "anyOf": [{ "$ref": format!("#/$defs/{n}") }, { "$ref": format!("#/$defs/{n}") }] });
        let mut doubled: serde_json::Map<String, Value> =
            (0..14).map(|n| (n.to_string(), twice(n + 1))).collect();
        doubled.insert("14".into(), json!({ "type": "number" }));
        let error = TextSchema::new(&json!({ "$ref": "#/$defs/0", "$defs": doubled })).unwrap_err();
        assert!(error.to_string().contains("larger than"), "{error}");
        let error = TextSchema::new(&json!({ "type": 1 })).unwrap_err();
        assert!(error.to_string().contains("/type"), "{error}");

        let either = json!({ "items": { "anyOf": [{ "type": "number" }, { "type": "null" }] } });
        let schema = TextSchema::new(&either).unwrap();
        let says = |list: Vec<Value>| schema.mistakes_of(&Value::from(list));
        assert_eq!(says(vec![1.into(), Value::Null]), None);
        assert!(says(vec!["a".into()]).unwrap().starts_with("/0: "));
        assert!(says(vec![1.into(); 750_000]).unwrap().contains("too large to be checked"));
        assert!(schema.mistakes(&format!("[{}0]", "0,".repeat(200_000))).unwrap().contains("100000 values"));
        let slow = TextSchema::new(&json!({ "pattern": "^(a+)+\\1$" })).unwrap();
        assert!(slow.mistakes(&format!("\"{}b\"", "a".repeat(40))).is_some());
    }
}
