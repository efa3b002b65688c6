//! Removes a server's secrets from the JSON schema of a tool's arguments.

use std::mem;

use serde_json::Value;

use super::secrets::Secrets;

/// The keywords of a JSON schema whose words are no text: without them a call could not be checked or made.
const STRUCTURE: [&str; 11] = [
    "type",
    "required",
    "dependentRequired",
    "format",
    "pattern",
    "$ref",
    "$dynamicRef",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$schema",
];
/// Those with a schema, or with several.
const SCHEMA: [&str; 16] = [
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "contentSchema",
    "not",
    "if",
    "then",
    "else",
    "allOf",
    "anyOf",
    "oneOf",
];
/// Those with schemas by name, which are the names of arguments and of other schemas. In place of a schema there may be a
/// list of names.
const NAMED: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// A name in a schema, or what says the form of an argument, repeats a secret: without it the schema would be another one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RepeatsSecret;

impl Secrets {
    /// Removes the secrets from a JSON schema, which stays what it is. A number is left as it is.
    pub(super) fn strike_in_schema(&self, schema: &mut Value) -> Result<(), RepeatsSecret> {
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Array(entries) => {
                return entries.iter_mut().try_for_each(|entry| self.strike_in_schema(entry));
            }
            text => {
                self.strike_texts(text);
                return Ok(());
            }
        };
        // A keyword that is none may be anything.
        let named = |(keyword, field): (String, Value)| match self.is_repeated_by_name(&keyword) {
            true => (self.strike(&keyword), field),
            false => (keyword, field),
        };
        *fields = mem::take(fields).into_iter().map(named).collect();
        for (keyword, field) in fields.iter_mut() {
            match (keyword.as_str(), field) {
                (keyword, field) if STRUCTURE.contains(&keyword) => self.check_words(field)?,
                (keyword, Value::Object(schemas)) if NAMED.contains(&keyword) => {
                    for (name, schema) in schemas {
                        self.check_name(name)?;
                        match schema {
                            names @ Value::Array(_) => self.check_words(names)?,
                            schema => self.strike_in_schema(schema)?,
                        }
                    }
                }
                (keyword, field) if SCHEMA.contains(&keyword) => self.strike_in_schema(field)?,
                (_, field) => self.strike_texts(field),
            }
        }
        Ok(())
    }

    fn strike_texts(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.strike(text),
            Value::Array(entries) => entries.iter_mut().for_each(|entry| self.strike_texts(entry)),
            Value::Object(fields) => self.strike_in_fields(fields, Self::strike_texts),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn check_words(&self, value: &Value) -> Result<(), RepeatsSecret> {
        match value {
            Value::String(text) => self.check_name(text),
            Value::Array(entries) => entries.iter().try_for_each(|entry| self.check_words(entry)),
            Value::Object(fields) => fields.iter().try_for_each(|(name, field)| {
                self.check_name(name)?;
                self.check_words(field)
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    fn check_name(&self, name: &str) -> Result<(), RepeatsSecret> {
        if self.is_repeated_by_name(name) { Err(RepeatsSecret) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::secrets::tests::of_command;

    #[test]
    fn what_says_the_form_of_arguments_is_no_secret_also_if_it_reads_like_one() {
        let env = [("A", "password"), ("B", "properties"), ("C", "description"), ("D", "required")];
        let secrets = of_command(&[], &[&env[..], &[("E", "canary-1234"), ("F", "12345678")]].concat());
        let mut schema = json!({
            "type": "object", "required": ["password", "description"], "title": "canary-1234",
            "properties": {
                "password": { "type": "string", "format": "password", "description": "not canary-1234" },
                "description": { "type": "string", "default": "canary-1234", "enum": ["canary-1234", "b"] },
                "where": { "anyOf": [{ "$ref": "#/$defs/password" }, { "examples": [{ "canary-1234": 1 }] }] },
                "many": { "type": "integer", "maximum": 12_345_678, "enum": [12_345_678] },
            },
            "$defs": { "password": { "type": ["string", "null"], "x-note": { "canary-1234": 12_345_678 } } },
            "dependencies": { "password": ["description"], "where": { "title": "canary-1234" } },
            "canary-1234": true,
        });
        let struck = json!({
            "type": "object", "required": ["password", "description"], "title": "[secret]",
            "properties": {
                "password": { "type": "string", "format": "password", "description": "not [secret]" },
                "description": { "type": "string", "default": "[secret]", "enum": ["[secret]", "b"] },
                "where": { "anyOf": [{ "$ref": "#/$defs/password" }, { "examples": [{ "[secret]": 1 }] }] },
                "many": { "type": "integer", "maximum": 12_345_678, "enum": [12_345_678] },
            },
            "$defs": { "password": { "type": ["string", "null"], "x-note": { "[secret]": 12_345_678 } } },
            "dependencies": { "password": ["description"], "where": { "title": "[secret]" } },
            "[secret]": true,
        });
        assert_eq!(secrets.strike_in_schema(&mut schema), Ok(()));
        assert_eq!(schema, struck);
    }

    #[test]
    fn a_schema_cannot_be_what_it_is_without_a_secret_in_its_names_and_patterns() {
        let secrets = of_command(&[], &[("A", "canary-1234")]);
        for schema in [
            json!({ "properties": { "canary-1234": {} } }),
            json!({ "items": { "required": ["canary-1234"] } }),
            json!({ "properties": { "a": { "type": "string", "pattern": "^canary-1234$" } } }),
            json!({ "type": { "canary-1234": 1 } }),
            json!({ "allOf": [{ "format": "canary-1234" }] }),
            json!({ "dependentRequired": { "a": ["canary-1234"] } }),
            json!({ "dependencies": { "a": ["canary-1234"] } }),
        ] {
            assert_eq!(secrets.strike_in_schema(&mut schema.clone()), Err(RepeatsSecret), "{schema}");
        }
    }
}
