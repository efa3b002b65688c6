//! The settings of the tools.

#[cfg(feature = "server")]
use entourage_server::Auth;
use entourage_tools::Owners;

use crate::Settings;
#[cfg(not(feature = "server"))]
use crate::settings::Auth;

/// The settings of the tools, and which files belong to the program itself.
#[must_use]
pub fn tool_settings(settings: &Settings) -> entourage_tools::Settings {
    let mut tools = settings.tools.clone();
    if let Some(files) = &mut tools.files {
        files.never = vec![settings.data.clone()];
        files.never.extend(settings.file.clone());
    }
    for server in &mut tools.mcp {
        server.supervisor.clone_from(&settings.supervisor);
    }
    match &settings.server.auth {
        Auth::None => tools,
        Auth::Jwt(jwt) => tools.shared(&Owners::operator(jwt.operator.as_deref())),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use entourage_tools::builtin;
    use entourage_types::Owner;

    use super::*;

    /// The file tools of these settings that an owner's agents may use, in the order of their names.
    fn file_tools_for(text: &str, owner: &str) -> Vec<String> {
        let settings: Settings = toml::from_str(text).expect("valid");
        let tools = builtin(tool_settings(&settings));
        let served = tools.iter().filter(|tool| tool.serves(&Owner::new(owner)));
        let names = served.map(|tool| tool.name().to_owned());
        names.filter(|name| name.ends_with("_file") || name.ends_with("_files")).collect()
    }

    #[test]
    fn with_tokens_only_the_operator_gets_file_tools_unless_owners_are_named() {
        let jwt = "[server.auth.jwt]\nalgorithm = \"HS256\"\nkey = \"0123456789abcdef0123456789abcdef\"\n";
        let both = ["list_files", "read_file"];
        assert_eq!(file_tools_for("tools.files = \"/srv\"", "ann"), both, "owners do not authenticate");
        let alone = format!("tools.files = \"/srv\"\n{jwt}");
        assert_eq!(
            (file_tools_for(&alone, "ann"), file_tools_for(&alone, "local")),
            (vec![], both.map(String::from).to_vec())
        );
        let named = format!("{alone}operator = \"ann\"\n");
        assert_eq!(
            (file_tools_for(&named, "ann"), file_tools_for(&named, "bob")),
            (both.map(String::from).to_vec(), vec![])
        );
        let shared = format!("tools.files = {{ path = \"/srv\", owners = [\"ann\"] }}\n{jwt}");
        assert_eq!(
            (file_tools_for(&shared, "ann"), file_tools_for(&shared, "bob")),
            (both.map(String::from).to_vec(), vec![])
        );
        let all = format!("tools.files = {{ path = \"/srv\", owners = [\"*\"] }}\n{jwt}");
        assert_eq!(file_tools_for(&all, "bob"), both);
    }

    #[test]
    fn with_tokens_only_the_operator_gets_mcp_tools_unless_owners_are_named() {
        let servers = "[[tools.mcp]]\nname = \"a\"\ncommand = \"a\"\n[[tools.mcp]]\nname = \"b\"\ncommand = \"b\"\nowners = [\"ann\"]\n";
        let settings: Settings = toml::from_str(servers).expect("valid");
        let owners = |settings: entourage_tools::Settings| -> Vec<bool> {
            let ann = Owner::new("ann");
            settings.mcp.iter().map(|server| server.owners.as_ref().is_none_or(|o| o.include(&ann))).collect()
        };
        assert_eq!(owners(tool_settings(&settings)), [true, true]);
        assert_eq!(owners(settings.tools.shared(&Owners::operator(None))), [false, true]);
    }

    #[test]
    fn file_tools_exclude_the_data_directory_and_the_settings_file() {
        let mut settings: Settings = toml::from_str("tools.files = \"/srv\"").expect("valid");
        (settings.data, settings.file) = ("/var/entourage".into(), Some("/etc/entourage.toml".into()));
        let files = tool_settings(&settings).files.expect("set");
        assert_eq!(files.never, [Path::new("/var/entourage"), Path::new("/etc/entourage.toml")]);
    }
}
