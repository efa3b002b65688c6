//! `entourage completions`: writes shell completions.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, backend::Result, failure::Exit, out};

const AFTER_HELP: &str = "\
Examples:
  entourage completions bash > ~/.local/share/bash-completion/completions/entourage
  entourage completions zsh > ~/.zfunc/_entourage
  entourage completions fish > ~/.config/fish/completions/entourage.fish";

/// Write completions for a shell
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<Exit> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "entourage", &mut text);
        out::piece(String::from_utf8_lossy(&text))?;
        Ok(Exit::Done)
    }
}
