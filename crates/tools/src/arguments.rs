//! Arguments: their schema from a Rust type, and the check before each call.

use entourage_types::ToolSpec;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, Result};

/// The JSON schema of an argument type, with all definitions inlined: small models and some
/// providers do not follow references.
///
/// Unknown arguments are refused. A serde alias is unknown to the schema: a tool that accepts one
/// says so by [`Tool::renamed`](crate::Tool::renamed).
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

/// A tool as the model sees it, with the schema of its argument type.
#[must_use]
pub fn spec_of<T: JsonSchema>(name: &str, description: impl Into<String>) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: description.into(), parameters: schema_of::<T>() }
}

/// A tool's schema, compiled once and asked before each call.
#[derive(Debug)]
pub struct Checker {
    tool: String,
    validator: jsonschema::Validator,
}

impl Checker {
    /// Compiles a tool's schema.
    ///
    /// # Errors
    /// [`Error::Failed`] when the schema itself is not valid.
    pub fn new(spec: &ToolSpec) -> Result<Self> {
        let validator = jsonschema::validator_for(&spec.parameters)
            .map_err(|error| Error::Failed(format!("the schema of `{}` is not valid: {error}", spec.name)))?;
        Ok(Self { tool: spec.name.clone(), validator })
    }

    /// Checks arguments against the schema.
    ///
    /// # Errors
    /// [`Error::Arguments`] with every mistake and its place.
    pub fn check(&self, arguments: &Value) -> Result<()> {
        let invalid = |why: String| Err(Error::Arguments { tool: self.tool.clone(), why });
        if let Value::String(text) = arguments {
            let cause = match serde_json::from_str::<Value>(text) {
                Ok(_) => "they are a string that holds JSON, not an object".to_owned(),
                Err(error) => format!("they are not JSON ({error})"),
            };
            return invalid(format!("{cause}. Send one JSON object"));
        }
        let mistakes: Vec<String> = self
            .validator
            .iter_errors(arguments)
            .take(8)
            .map(|error| match error.instance_path().as_str() {
                "" => error.to_string(),
                place => format!("{place}: {error}"),
            })
            .collect();
        if mistakes.is_empty() { Ok(()) } else { invalid(mistakes.join("; ")) }
    }
}

/// Arguments as their Rust type.
///
/// # Errors
/// [`Error::Arguments`] when they are not of that type.
pub fn parse<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T> {
    serde_json::from_value(arguments)
        .map_err(|error| Error::Arguments { tool: tool.to_owned(), why: error.to_string() })
}
