//! MCP servers, their switches, and secrets, through the HTTP API.

use entourage_api::{List, McpServer, PageQuery, ResealedSecrets, Secret, SetSecret, SetSwitch};
use entourage_types::{AgentId, SecretName, Switch};
use reqwest::Method;

use super::{Backend, Result};

impl Backend {
    /// The MCP servers, with their switches for all agents or for one.
    pub(crate) async fn mcp_servers(&self, agent: Option<AgentId>) -> Result<Vec<McpServer>> {
        Ok(self.get::<List<McpServer>>(&servers(agent)).await?.data)
    }

    /// Switches a server or a tool for all agents or for one.
    pub(crate) async fn switch_mcp(
        &self,
        agent: Option<AgentId>,
        name: &str,
        switch: Switch,
    ) -> Result<McpServer> {
        let path = format!("{}/{name}/switch", servers(agent));
        self.answer_to(self.request(Method::PUT, &path).json(&SetSwitch { switch })).await
    }

    /// Removes the switch of a server or a tool.
    pub(crate) async fn reset_mcp(&self, agent: Option<AgentId>, name: &str) -> Result<()> {
        let path = format!("{}/{name}/switch", servers(agent));
        self.place.waits_for(self.ask(Method::DELETE, &path)).await.map(drop)
    }

    /// All secrets, newest first, without their values.
    pub(crate) async fn secrets(&self) -> Result<Vec<Secret>> {
        self.whole("secrets", &PageQuery::default(), None).await
    }

    /// Sets a secret.
    pub(crate) async fn set_secret(&self, name: &SecretName, value: &SetSecret) -> Result<Secret> {
        self.answer_to(self.request(Method::PUT, &format!("secrets/{name}")).json(value)).await
    }

    /// Deletes a secret.
    pub(crate) async fn delete_secret(&self, name: &SecretName) -> Result<()> {
        self.place.waits_for(self.ask(Method::DELETE, &format!("secrets/{name}"))).await.map(drop)
    }

    /// Seals the secrets of all owners anew.
    pub(crate) async fn reseal_secrets(&self) -> Result<ResealedSecrets> {
        self.post("secret_keys/reseal").await
    }
}

fn servers(agent: Option<AgentId>) -> String {
    agent.map_or_else(|| "mcp_servers".to_owned(), |agent| format!("agents/{agent}/mcp_servers"))
}
