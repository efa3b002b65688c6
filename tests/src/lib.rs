//! Behaviour by name, across the house. The tests stand in `behaviour/`; here is what they share.

use entourage_engine::Kinds;
use entourage_tools::{Settings, Toolbox, builtin};
use entourage_types::{Item, ItemBody, Kind};

/// The first tools, with nothing set up that needs setting up.
#[must_use]
pub fn first_tools() -> Toolbox {
    builtin(Settings::default())
}

/// A house with one kind that may use every tool.
#[must_use]
pub fn one_kind(change: impl FnOnce(&mut Kind)) -> Kinds {
    let mut kind = Kind { instructions: "Do as asked.".into(), ..Kind::bare("orchestrator") };
    change(&mut kind);
    Kinds::none().with(kind)
}

/// A transcript in one line per item, without ids and times, to compare what happened.
#[must_use]
pub fn plain(items: &[Item]) -> Vec<String> {
    items
        .iter()
        .map(|item| match &item.body {
            ItemBody::Message(message) => format!("message: {}", message.text),
            ItemBody::Turn(turn) => {
                let calls: Vec<String> =
                    turn.calls.iter().map(|call| format!("{}{}", call.tool, call.arguments)).collect();
                format!("turn: {}[{}]", turn.text, calls.join(" "))
            }
            ItemBody::Output(output) => {
                format!("output{}: {}", if output.error { "!" } else { "" }, output.text)
            }
            ItemBody::Decision(decision) => format!("decision: {}", decision.value),
            ItemBody::Notice(notice) => format!("notice {}: {}", notice.code, notice.text),
        })
        .collect()
}

/// Whether every call of a transcript has exactly one output, after it, in call order, before the
/// next turn, and whether the numbers have no gap.
///
/// # Errors
/// A sentence on the first thing that is not so.
pub fn well_formed(items: &[Item]) -> Result<(), String> {
    let mut open = std::collections::VecDeque::new();
    for (index, item) in items.iter().enumerate() {
        if item.seq != index as u64 {
            return Err(format!("item {index} has number {}", item.seq));
        }
        match &item.body {
            ItemBody::Turn(turn) => {
                if let Some(call) = open.front() {
                    return Err(format!("a turn at {index} while call {call} is open"));
                }
                open.extend(turn.calls.iter().map(|call| call.id));
            }
            ItemBody::Output(output) if open.pop_front() != Some(output.call) => {
                return Err(format!("output at {index} is not of the next open call"));
            }
            ItemBody::Message(_) if !open.is_empty() => {
                return Err(format!("a message at {index} while calls are open"));
            }
            _ => {}
        }
    }
    Ok(())
}
