//! The tool that runs Python, where this build has it.

use std::ffi::OsString;

use entourage_tools::{PythonSettings, Settings as ToolSettings, Toolbox, builtin};

/// Returns the built-in tools of these settings, with the one that runs Python if the program says how its processes are
/// started: the first words of the command line that becomes one.
#[must_use]
pub fn toolbox(tools: ToolSettings, python_worker: Option<&[OsString]>) -> Toolbox {
    let python = tools.python.clone();
    let toolbox = builtin(tools);
    match python_worker.and_then(|words| tool(words, &python)) {
        Some(tool) => toolbox.with(tool),
        None => toolbox,
    }
}

#[cfg(feature = "python")]
fn tool(words: &[OsString], settings: &PythonSettings) -> Option<entourage_python::PythonTool> {
    let (program, args) = words.split_first().filter(|_| settings.enabled)?;
    let command = entourage_python::WorkerCommand { program: program.into(), args: args.to_vec() };
    Some(entourage_python::PythonTool::of(command, settings))
}

#[cfg(not(feature = "python"))]
fn tool(_: &[OsString], _: &PythonSettings) -> Option<entourage_tools::Wait> {
    None
}
