//! What the code's calls of the engine's functions mean.

use monty_types::{ExcType, MontyException, MontyObject};
use serde_json::{Map, Value};

use super::values::{to_json, type_name, value_error};
use crate::record::Call;

/// The type of what `fork` returns: a named tuple, which is printed as `Agent(number=0)`, compares, and is a key.
const AGENT: &str = "Agent";

/// Bytes of one call at most, as JSON.
pub(crate) const MAX_CALL_BYTES: usize = 512 << 10;

/// What a call of a function asks for.
#[derive(Debug)]
pub(super) enum Asked {
    /// A call of the engine.
    Call(Call),
    /// To wait for one agent.
    Wait(u32),
    /// To wait for several.
    WaitAll(Vec<u32>),
}

/// What `fork` returns for the call of this number.
pub(super) fn agent(number: u32) -> MontyObject {
    MontyObject::NamedTuple {
        type_name: AGENT.to_owned(),
        field_names: vec!["number".to_owned()],
        values: vec![MontyObject::Int(i64::from(number))],
    }
}

/// Reads the arguments of a function, or says what to raise. `is_fork` tells whether the call of a number is a fork.
pub(super) fn read(
    function: &str,
    args: Vec<MontyObject>,
    kwargs: Vec<(MontyObject, MontyObject)>,
    is_fork: impl Fn(u32) -> bool,
) -> Result<Asked, MontyException> {
    let arguments = Arguments {
        function,
        args,
        kwargs: kwargs.into_iter().map(|(name, value)| (plain(&name), value)).collect(),
    };
    let call = match function {
        "fork" => {
            let [prompt, kind] = arguments.take(["prompt", "kind"], 1)?;
            Call::Fork {
                prompt: text(function, "prompt", prompt)?,
                kind: match kind {
                    None | Some(MontyObject::None) => None,
                    kind => Some(text(function, "kind", kind)?),
                },
            }
        }
        "ask_user" => {
            let [question] = arguments.take(["text"], 1)?;
            Call::AskUser { text: text(function, "text", question)? }
        }
        "emit" => {
            let [said] = arguments.take(["text"], 1)?;
            Call::Emit { text: text(function, "text", said)? }
        }
        "tool" => arguments.tool()?,
        _ => {
            let [handle] = arguments.take(["agent"], 1)?;
            return wait(handle, is_fork);
        }
    };
    let bytes = serde_json::to_vec(&call).map_or(usize::MAX, |json| json.len());
    if bytes > MAX_CALL_BYTES {
        let text =
            format!("{function}() was given {bytes} bytes, more than {MAX_CALL_BYTES}: pass less text");
        return Err(value_error(text));
    }
    Ok(Asked::Call(call))
}

fn wait(handle: Option<MontyObject>, is_fork: impl Fn(u32) -> bool) -> Result<Asked, MontyException> {
    let known = |handle: MontyObject| match number(&handle) {
        Some(number) if is_fork(number) => Ok(number),
        Some(number) => Err(value_error(format!("wait(): this code forked no agent {number}"))),
        None => Err(type_error(format!(
            "wait() takes what fork() returned, or a list of that, not {}",
            type_name(&handle)
        ))),
    };
    match handle {
        Some(
            MontyObject::List(items)
            | MontyObject::Tuple(items)
            | MontyObject::Set(items)
            | MontyObject::FrozenSet(items),
        ) => items.into_iter().map(known).collect::<Result<_, _>>().map(Asked::WaitAll),
        handle => known(handle.unwrap_or(MontyObject::None)).map(Asked::Wait),
    }
}

/// The number of the call that a handle stands for.
fn number(handle: &MontyObject) -> Option<u32> {
    match handle {
        MontyObject::NamedTuple { type_name, values, .. } if type_name == AGENT => match values.as_slice() {
            [MontyObject::Int(number)] => u32::try_from(*number).ok(),
            _ => None,
        },
        _ => None,
    }
}

struct Arguments<'a> {
    function: &'a str,
    args: Vec<MontyObject>,
    kwargs: Vec<(String, MontyObject)>,
}

impl Arguments<'_> {
    /// The values of the parameters of these names, of which the first `required` must be there.
    fn take<const N: usize>(
        self,
        names: [&str; N],
        required: usize,
    ) -> Result<[Option<MontyObject>; N], MontyException> {
        let function = self.function;
        if self.args.len() > N {
            let text =
                format!("{function}() takes {N} arguments ({}), not {}", names.join(", "), self.args.len());
            return Err(type_error(text));
        }
        let mut values = [const { None }; N];
        for (value, argument) in values.iter_mut().zip(self.args) {
            *value = Some(argument);
        }
        for (name, argument) in self.kwargs {
            let Some(place) = names.iter().position(|known| *known == name) else {
                let text = format!("{function}() has no argument '{name}': it takes {}", names.join(", "));
                return Err(type_error(text));
            };
            if values[place].replace(argument).is_some() {
                return Err(type_error(format!("{function}() got two values for '{name}'")));
            }
        }
        match (0..required).find(|place| values[*place].is_none()) {
            Some(missing) => Err(type_error(format!("{function}() lacks its argument '{}'", names[missing]))),
            None => Ok(values),
        }
    }

    /// A call of a tool: its name, and its arguments by name.
    fn tool(mut self) -> Result<Call, MontyException> {
        let usage =
            "tool() takes the name of a tool, and the tool's arguments by name: tool(\"name\", key=value)";
        let name = match self.args.len() {
            0 => {
                self.kwargs.iter().position(|(key, _)| key == "name").map(|place| self.kwargs.remove(place).1)
            }
            1 => self.args.pop(),
            _ => None,
        };
        let Some(MontyObject::String(name)) = name else {
            return Err(type_error(usage.to_owned()));
        };
        let mut arguments = Map::new();
        for (key, value) in self.kwargs {
            arguments.insert(key, to_json(value)?);
        }
        match name.as_str() {
            // These have functions of their own. Only `ask_user` takes more as a tool: options.
            "ask_user" if arguments.keys().eq(["question"]) => match arguments.remove("question") {
                Some(Value::String(text)) => Ok(Call::AskUser { text }),
                _ => Err(type_error("ask_user takes a str as its question".to_owned())),
            },
            "fork" | "wait" | "emit" => {
                Err(value_error(format!("{name} is a function of this code: call {name}(…) itself")))
            }
            _ => Ok(Call::Tool { name, arguments }),
        }
    }
}

fn text(function: &str, name: &str, value: Option<MontyObject>) -> Result<String, MontyException> {
    match value {
        Some(MontyObject::String(text)) => Ok(text),
        other => Err(type_error(format!(
            "{function}() takes a str as '{name}', not {}",
            type_name(&other.unwrap_or(MontyObject::None))
        ))),
    }
}

fn plain(name: &MontyObject) -> String {
    match name {
        MontyObject::String(text) => text.clone(),
        other => other.py_repr(),
    }
}

fn type_error(text: String) -> MontyException {
    MontyException::new(ExcType::TypeError, Some(text))
}
