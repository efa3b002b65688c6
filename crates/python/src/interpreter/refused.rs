//! What code asks of the system: none of it is there.

use monty_types::{ExcType, ExtFunctionResult, MontyException, OsFunctionCall};

/// What to raise. Code is run again from its top whenever it waited, so nothing may differ from run to run: there is no
/// clock either.
pub(super) fn answer(call: &OsFunctionCall) -> ExtFunctionResult {
    let name = call.name();
    let (kind, text) = match call {
        OsFunctionCall::DateToday | OsFunctionCall::DateTimeNow(_) => (
            ExcType::RuntimeError,
            format!(
                "{name}() is not available: this code has no clock. Take the time from your instructions or a tool"
            ),
        ),
        OsFunctionCall::Getenv(_) | OsFunctionCall::GetEnviron => (
            ExcType::PermissionError,
            format!("{name} is not available: this code has no environment variables"),
        ),
        _ => (
            ExcType::PermissionError,
            format!("{name}() is not available: this code has no files. Read and write with tool(...)"),
        ),
    };
    ExtFunctionResult::Error(MontyException::new(kind, Some(text)))
}
