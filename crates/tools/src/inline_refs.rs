//! Inlines the references of schemas, so that a schema's size bounds the cost of validating by it.
//!
//! A server sends its tools' schemas, and a few lines of references to references can expand to millions of
//! validations. Without references a schema is a tree, and validation applies each part of it at most once to
//! each value.

use std::ptr;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// The maximum weight of an inlined schema: one for each value in it, more for expensive keywords.
const MOST: usize = 10_000;
/// The maximum nesting depth: the schema compiler is recursive.
const DEEPEST: usize = 128;
/// How often a definition is inlined within itself; deeper values are not validated. The second number is
/// tried if the first makes the schema too large.
const ROUNDS: [usize; 2] = [4, 1];
/// The weight of a pattern: matching it may take long.
const PATTERN: usize = 20;
/// Keywords that evaluate their sibling subschemas once more, recursively.
const ASKS_AGAIN: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];
/// References whose target depends on the path of evaluation.
const DYNAMIC: [&str; 2] = ["$dynamicRef", "$recursiveRef"];

/// A schema without references.
#[derive(Debug)]
pub(crate) struct Inlined {
    pub(crate) schema: Value,
    /// The cost of validating one value.
    pub(crate) weight: usize,
}

/// Inlines the references of a schema.
///
/// # Errors
/// Why the schema cannot be inlined: it gets too large or too deep, or a reference leads out of it.
pub(crate) fn inlined(root: &Value) -> Result<Inlined, String> {
    let written = ROUNDS.map(|rounds| move || Writer { root, rounds, weight: 0, open: Vec::new() }.whole());
    let [first, second] = written;
    first().or_else(|_| second()).map_err(|trouble| match trouble {
        InlineError::TooLarge => format!("with its references written out it is larger than {MOST} parts"),
        InlineError::TooDeep => format!("with its references written out it is deeper than {DEEPEST} levels"),
        InlineError::Reference(reference) => {
            format!("it refers to `{reference}`, and only references to its own parts (`#/…`) are followed")
        }
    })
}

enum InlineError {
    TooLarge,
    TooDeep,
    Reference(String),
}

struct Writer<'a> {
    root: &'a Value,
    rounds: usize,
    weight: usize,
    /// The references that are being inlined, from the outermost to the innermost.
    open: Vec<&'a str>,
}

impl<'a> Writer<'a> {
    fn whole(mut self) -> Result<Inlined, InlineError> {
        let schema = self.write(self.root, 0)?;
        Ok(Inlined { schema, weight: self.weight })
    }

    fn write(&mut self, value: &'a Value, depth: usize) -> Result<Value, InlineError> {
        self.weigh(1)?;
        if depth > DEEPEST {
            return Err(InlineError::TooDeep);
        }
        match value {
            Value::Object(fields) => self.write_object(value, fields, depth),
            Value::Array(entries) => entries.iter().map(|entry| self.write(entry, depth + 1)).collect(),
            other => Ok(other.clone()),
        }
    }

    fn write_object(
        &mut self,
        value: &'a Value,
        fields: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<Value, InlineError> {
        // A property may be named like a keyword: then its value is not a string.
        if let Some(reference) = DYNAMIC.iter().find_map(|keyword| fields.get(*keyword)?.as_str()) {
            return Err(InlineError::Reference(reference.to_owned()));
        }
        let before = self.weight;
        // Definitions are inlined where they are referenced.
        let is_kept = |name: &str| !(ptr::eq(value, self.root) && ["$defs", "definitions"].contains(&name));
        let is_reference = |name: &str, value: &Value| name == "$ref" && value.is_string();
        let mut written = Map::new();
        for (name, field) in fields.iter().filter(|(name, field)| is_kept(name) && !is_reference(name, field))
        {
            written.insert(name.clone(), self.write(field, depth + 1)?);
        }
        if fields.get("pattern").is_some_and(Value::is_string) {
            self.weigh(PATTERN)?;
        }
        let patterns = fields.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
        self.weigh(patterns.saturating_mul(PATTERN))?;
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            let target = self.follow(reference, depth + 2)?;
            if written.is_empty() {
                return Ok(target);
            }
            match written.entry("allOf").or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(all) => all.push(target),
                _ => return Err(InlineError::Reference(reference.to_owned())),
            }
        }
        if ASKS_AGAIN.iter().any(|keyword| fields.contains_key(*keyword)) {
            self.weigh((self.weight - before).saturating_mul(2))?;
        }
        Ok(Value::Object(written))
    }

    fn follow(&mut self, reference: &'a str, depth: usize) -> Result<Value, InlineError> {
        if self.open.iter().filter(|open| **open == reference).count() >= self.rounds {
            return Ok(Value::Object(Map::new()));
        }
        let place = reference.strip_prefix('#').map(|place| percent_decode_str(place).decode_utf8_lossy());
        let root = self.root;
        let target = place.and_then(|place| root.pointer(&place));
        let target = target.ok_or_else(|| InlineError::Reference(reference.to_owned()))?;
        self.open.push(reference);
        let written = self.write(target, depth)?;
        self.open.pop();
        Ok(written)
    }

    fn weigh(&mut self, more: usize) -> Result<(), InlineError> {
        self.weight = self.weight.saturating_add(more);
        if self.weight > MOST { Err(InlineError::TooLarge) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reference_is_replaced_by_its_target() {
        let schema = json!({
            "type": "object",
            "properties": { "a": { "$ref": "#/$defs/a%20name" }, "b": { "$ref": "#/$defs/b~1c", "title": "B" } },
            "$defs": { "a name": { "type": "number" }, "b/c": { "$ref": "#/$defs/a name" }, "unused": {} },
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "a": { "type": "number" },
                "b": { "title": "B", "allOf": [{ "type": "number" }] },
            },
        });
        assert_eq!(inlined(&schema).unwrap().schema, expected);
    }

    #[test]
    fn a_property_may_have_the_name_of_a_keyword() {
        let schema =
            json!({ "properties": { "$ref": { "type": "string" }, "$dynamicRef": {}, "$defs": {} } });
        assert_eq!(inlined(&schema).unwrap().schema, schema);
    }

    #[test]
    fn a_recursive_schema_is_expanded_to_a_limited_depth() {
        let list = json!({ "properties": { "next": { "$ref": "#" } } });
        let mut expected = json!({});
        for _ in 0..=ROUNDS[0] {
            expected = json!({ "properties": { "next": expected } });
        }
        assert_eq!(inlined(&list).unwrap().schema, expected);
        // If that gets too large, one level deep.
        let wide: Map<String, Value> = (0..40).map(|n| (n.to_string(), json!({ "$ref": "#" }))).collect();
        let written = inlined(&json!({ "properties": wide })).unwrap().schema;
        assert_eq!(written["properties"]["7"]["properties"]["8"], json!({}));
    }

    #[test]
    fn a_schema_that_is_too_large_or_refers_elsewhere_is_refused() {
        let twice = |n: usize| json!({ "anyOf": [{ "$ref": format!("#/$defs/{n}") }, { "$ref": format!("#/$defs/{n}") }] });
        let doubled: Map<String, Value> = (0..25).map(|n| (n.to_string(), twice((n + 1).min(24)))).collect();
        let chain: Map<String, Value> = (0..300)
            .map(|n| (n.to_string(), json!({ "$ref": format!("#/$defs/{}", n + 1), "title": "" })))
            .collect();
        let again =
            (0..20).fold(json!({}), |inner, _| json!({ "anyOf": [inner], "unevaluatedProperties": false }));
        for (schema, says) in [
            (json!({ "$ref": "#/$defs/0", "$defs": doubled }), "larger"),
            (json!({ "$ref": "#/$defs/0", "$defs": chain }), "deeper"),
            (again, "larger"),
            (json!({ "properties": { "a": { "$ref": "http://x.example/a" } } }), "`http://x.example/a`"),
            (json!({ "$ref": "#anchor" }), "`#anchor`"),
            (json!({ "$dynamicRef": "#" }), "`#`"),
        ] {
            let why = inlined(&schema).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
    }
}
