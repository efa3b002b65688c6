//! Values of Python and of JSON in each other's terms.

use monty_types::{ExcType, MontyException, MontyObject};
use num_bigint::BigInt;
use serde_json::{Map, Number, Value};

/// How deep lists and dicts in arguments may be nested; JSON that is read back has this limit too.
const MAX_DEPTH: usize = 100;

/// The Python value for JSON.
pub(super) fn from_json(value: &Value) -> MontyObject {
    match value {
        Value::Null => MontyObject::None,
        Value::Bool(value) => MontyObject::Bool(*value),
        Value::Number(number) => from_number(number),
        Value::String(text) => MontyObject::String(text.clone()),
        Value::Array(items) => MontyObject::List(items.iter().map(from_json).collect()),
        Value::Object(object) => MontyObject::dict(
            object
                .iter()
                .map(|(key, value)| (MontyObject::String(key.clone()), from_json(value)))
                .collect::<Vec<_>>(),
        ),
    }
}

fn from_number(number: &Number) -> MontyObject {
    if let Some(number) = number.as_i64() {
        MontyObject::Int(number)
    } else if let Some(number) = number.as_u64() {
        MontyObject::BigInt(BigInt::from(number))
    } else {
        MontyObject::Float(number.as_f64().unwrap_or(f64::NAN))
    }
}

/// JSON for a Python value, as Python's `json` has it, or what to raise.
pub(super) fn to_json(value: MontyObject) -> Result<Value, MontyException> {
    to_json_within(value, MAX_DEPTH)
}

fn to_json_within(value: MontyObject, depth: usize) -> Result<Value, MontyException> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(value_error(format!("arguments are nested deeper than {MAX_DEPTH}")));
    };
    Ok(match value {
        MontyObject::None => Value::Null,
        MontyObject::Bool(value) => Value::Bool(value),
        MontyObject::Int(value) => Value::from(value),
        MontyObject::BigInt(value) => match u64::try_from(&value) {
            Ok(value) => Value::from(value),
            Err(_) => {
                return Err(value_error("an argument is a larger int than JSON carries: pass it as str"));
            }
        },
        MontyObject::Float(value) => match Number::from_f64(value) {
            Some(number) => Value::Number(number),
            None => return Err(value_error("an argument is nan or inf, which JSON does not have")),
        },
        MontyObject::String(text) => Value::String(text),
        MontyObject::List(items) | MontyObject::Tuple(items) => {
            Value::Array(items.into_iter().map(|item| to_json_within(item, depth)).collect::<Result<_, _>>()?)
        }
        MontyObject::Dict(pairs) => {
            let mut object = Map::new();
            for (key, value) in pairs {
                object.insert(json_key(key)?, to_json_within(value, depth)?);
            }
            Value::Object(object)
        }
        other => {
            let text = format!(
                "an argument is of type {}: pass str, int, float, bool, None, or lists and dicts of these",
                type_name(&other)
            );
            return Err(MontyException::new(ExcType::TypeError, Some(text)));
        }
    })
}

/// The key of a JSON object for a key of a dict.
fn json_key(key: MontyObject) -> Result<String, MontyException> {
    Ok(match key {
        MontyObject::String(text) => text,
        MontyObject::Int(number) => number.to_string(),
        MontyObject::Bool(value) => value.to_string(),
        MontyObject::None => "null".to_owned(),
        other => {
            let text = format!("a dict in the arguments has a key of type {}: use str", type_name(&other));
            return Err(MontyException::new(ExcType::TypeError, Some(text)));
        }
    })
}

/// The name of a value's type, for messages.
pub(super) fn type_name(value: &MontyObject) -> String {
    match value {
        MontyObject::None => "None",
        MontyObject::Bool(_) => "bool",
        MontyObject::Int(_) | MontyObject::BigInt(_) => "int",
        MontyObject::Float(_) => "float",
        MontyObject::String(_) => "str",
        MontyObject::Bytes(_) => "bytes",
        MontyObject::List(_) => "list",
        MontyObject::Tuple(_) => "tuple",
        MontyObject::Dict(_) => "dict",
        MontyObject::Set(_) => "set",
        MontyObject::FrozenSet(_) => "frozenset",
        MontyObject::Function { .. } | MontyObject::BuiltinFunction(_) => "function",
        MontyObject::NamedTuple { type_name, .. } => return type_name.clone(),
        MontyObject::ClassInstance(instance) => return instance.class_type.name.clone(),
        MontyObject::Repr(text) | MontyObject::Cycle(_, text) => {
            return super::output::head(text, 80).to_owned();
        }
        _ => "object",
    }
    .to_owned()
}

/// A `ValueError`.
pub(super) fn value_error(text: impl Into<String>) -> MontyException {
    MontyException::new(ExcType::ValueError, Some(text.into()))
}
