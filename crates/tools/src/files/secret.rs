//! Files that usually hold keys or passwords, by their names.

use std::path::{Component, Path};

/// How the names of such files end.
const ENDINGS: [&str; 18] = [
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".p8",
    ".ppk",
    ".jks",
    ".keystore",
    ".kdb",
    ".kdbx",
    ".gpg",
    ".ovpn",
    ".env",
    ".pgpass",
    ".netrc",
    ".htpasswd",
    ".tfstate",
    ".tfvars",
];
/// How they begin.
const BEGINNINGS: [&str; 8] =
    ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials", "secrets.", "secret.", "env."];
/// Their whole names.
const NAMES: [&str; 8] =
    ["secrets", "shadow", "kubeconfig", "htpasswd", "wallet.dat", "master.key", "token", "tokens"];

/// Whether a path has a part that is hidden, or that usually holds what is nobody else's business.
pub(super) fn is_secret(path: &Path) -> bool {
    path.components().any(|part| match part {
        Component::Normal(name) => is_secret_name(&name.to_string_lossy().to_lowercase()),
        _ => false,
    })
}

fn is_secret_name(name: &str) -> bool {
    let is_key_pair = name.starts_with("id_") && !name.contains('.');
    name.starts_with('.')
        || is_key_pair
        || NAMES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_and_others_are_not_taken_for_them() {
        for secret in [
            ".env",
            ".env.local",
            "prod.env",
            ".git/config",
            "a/.ssh/known_hosts",
            "server.PEM",
            "id_rsa",
            "id_ed25519.pub",
            "id_work",
            "credentials",
            "Credentials.json",
            "secrets.yaml",
            "x/secrets/a.txt",
            "terraform.tfstate",
            "deploy.key",
            "vault.kdbx",
            ".netrc",
        ] {
            assert!(is_secret(Path::new(secret)), "{secret}");
        }
        for plain in [
            "",
            ".",
            "notes.md",
            "src/main.rs",
            "id_mapping.csv",
            "environment.md",
            "keynote.txt",
            "secretary.md",
            "tokenizer.rs",
            "ideas",
            "a.b/c",
        ] {
            assert!(!is_secret(Path::new(plain)), "{plain}");
        }
    }
}
