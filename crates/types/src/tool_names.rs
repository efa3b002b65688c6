//! The names of the built-in tools: what a kind lists, what a model calls, and what the crates that treat one of them
//! in a way of its own know it by.

/// The tool that asks the user a question.
pub const ASK_USER: &str = "ask_user";
/// The tool that creates a document.
pub const CREATE_DOCUMENT: &str = "create_document";
/// The tool that writes a note.
pub const CREATE_NOTE: &str = "create_note";
/// The tool that creates a task, which another agent works on.
pub const CREATE_TASK: &str = "create_task";
/// The tool that changes sections of a document.
pub const EDIT_DOCUMENT: &str = "edit_document";
/// The function of code that reports to those who watch.
pub const EMIT: &str = "emit";
/// The tool that opens a page of the web.
pub const FETCH_URL: &str = "fetch_url";
/// The tool that gives the answer of a run.
pub const FINAL_ANSWER: &str = "final_answer";
/// The function of code that starts an agent.
pub const FORK: &str = "fork";
/// The tool that lists the documents of a project.
pub const LIST_DOCUMENTS: &str = "list_documents";
/// The tool that lists files.
pub const LIST_FILES: &str = "list_files";
/// The tool that lists the goals of the user.
pub const LIST_GOALS: &str = "list_goals";
/// The tool that runs Python.
pub const PYTHON: &str = "python";
/// The tool that gives more work to an agent that ended.
pub const REACTIVATE_AGENT: &str = "reactivate_agent";
/// The tool that reads a document.
pub const READ_DOCUMENT: &str = "read_document";
/// The tool that reads a file.
pub const READ_FILE: &str = "read_file";
/// The tool that reads a goal of the user.
pub const READ_GOAL: &str = "read_goal";
/// The tool that reads what was left out of a text because of its length.
pub const READ_OUTPUT: &str = "read_output";
/// The tool that retires a learning.
pub const RETIRE_LEARNING: &str = "retire_learning";
/// The tool that replaces the text of a document.
pub const REWRITE_DOCUMENT: &str = "rewrite_document";
/// The tool that keeps a learning.
pub const SAVE_LEARNING: &str = "save_learning";
/// The tool that searches closed sessions.
pub const SEARCH_AGENT_HISTORY: &str = "search_agent_history";
/// The tool that searches documents.
pub const SEARCH_DOCUMENTS: &str = "search_documents";
/// The tool that searches notes.
pub const SEARCH_NOTES: &str = "search_notes";
/// The tool that writes to a peer or to the user.
pub const SEND_MESSAGE: &str = "send_message";
/// The tool that starts an agent that works in the background.
pub const SPAWN_AGENT: &str = "spawn_agent";
/// The tool that changes a learning.
pub const UPDATE_LEARNING: &str = "update_learning";
/// The tool that waits for a time.
pub const WAIT: &str = "wait";
/// The tool that searches the web.
pub const WEB_SEARCH: &str = "web_search";
