//! All built-in tools in one toolbox.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    AskUser, CreateDocument, CreateNote, CreateTask, EditDocument, Emit, FetchSettings, FetchUrl, Files,
    FilesSettings, FinalAnswer, Fork, ListDocuments, ListFiles, ListGoals, McpSettings, Owners,
    PythonSettings, ReactivateAgent, ReadDocument, ReadFile, ReadGoal, ReadOutput, RetireLearning,
    RewriteDocument, SaveLearning, SearchAgentHistory, SearchDocuments, SearchNotes, SearchSettings,
    SendMessage, SpawnAgent, Toolbox, UpdateLearning, Wait, WebSearch,
};

/// Settings of the engine's tools.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The web search.
    pub search: SearchSettings,
    /// Fetching pages.
    pub fetch: FetchSettings,
    /// The one directory that `list_files` and `read_file` read; no such tools without it.
    pub files: Option<FilesSettings>,
    /// What Python code of agents may use.
    pub python: PythonSettings,
    /// The MCP servers, one table each.
    pub mcp: Vec<McpSettings>,
}

impl Settings {
    /// Returns the settings for an engine that several owners share: tools that reach the operator's files,
    /// or use the operator's credentials, serve the operator alone unless the settings name other owners.
    #[must_use]
    pub fn shared(mut self, operator: &Owners) -> Self {
        // One that is given secrets of an owner alone uses no credentials of the operator.
        let servers = self.mcp.iter_mut().filter(|server| !server.is_of_owners());
        let owners = servers.map(|server| &mut server.owners);
        for owners in owners.chain(self.files.as_mut().map(|files| &mut files.owners)) {
            owners.get_or_insert_with(|| operator.clone());
        }
        self
    }
}

/// Returns the built-in tools. The tools of MCP servers are not included: connecting takes time and can fail,
/// so [`connect_server`](crate::connect_server) does that.
#[must_use]
pub fn builtin(settings: Settings) -> Toolbox {
    let search = settings.search.or_variables(|name| std::env::var(name).ok());
    let toolbox = Toolbox::new()
        .with(SendMessage)
        .with(SpawnAgent)
        .with(ReactivateAgent)
        .with(CreateTask)
        .with(ListGoals)
        .with(ReadGoal)
        .with(AskUser)
        .with(Fork)
        .with(Emit)
        .with(FinalAnswer)
        .with(Wait)
        .with(CreateNote)
        .with(SearchNotes)
        .with(ListDocuments)
        .with(ReadDocument)
        .with(SearchDocuments)
        .with(CreateDocument)
        .with(EditDocument)
        .with(RewriteDocument)
        .with(SaveLearning)
        .with(UpdateLearning)
        .with(RetireLearning)
        .with(SearchAgentHistory)
        .with(ReadOutput)
        .with(WebSearch::new(&search))
        .with(FetchUrl::new(settings.fetch));
    match settings.files.map(Files::of) {
        Some(files) => toolbox.with(ListFiles::new(files.clone())).with(ReadFile::new(files)),
        None => toolbox,
    }
}
